/**
 * Failures that have the same cause, as far as their errors tell: errors of one class, code, status and message, whose
 * varying parts differ.
 */
import type { ErrorRecord } from './failure.ts'
import { digestOf } from './platform.ts'

/** An error without the parts that vary from job to job. */
export interface Failure {
  /** The same for errors with the same name, code and pattern. */
  readonly fingerprint: string
  readonly name: string
  /** Its code and its HTTP status: `ERR_BAD_REQUEST 404`. */
  readonly code: string | null
  /** The message with `…` for what varies: see `messagePattern`. */
  readonly message: string
}

/** Characters of a message that are compared. */
const messageMax = 300

const fingerprintChars = 16

/**
 * A number that says what has failed, not for whom: three digits that a message begins with, or that follow a word for
 * such numbers (`status code 404`, `HTTP 503`, `HTTP/1.1 500`, `answered 404`, `error: 550`).
 */
const codes =
  /(?<=^\s*)[1-5]\d\d(?=[\s:,;)]|$)|(?<=\b(?:status(?: ?code)?|code|https?(?:\/[\d.]+)?|smtp|error|response|answered|returned|responded(?: with)?|got)[\s:=#(]{1,3})[1-5]\d\d(?![\w.])/gi

/** Stands for a digit of a code while the other numbers are replaced; a private character, which is in no text. */
const codeDigits = 0xe000

const toPrivate = (digits: string): string =>
  String.fromCharCode(...Array.from(digits, (digit) => codeDigits + Number(digit)))
const fromPrivate = (text: string): string =>
  text.replaceAll(/[\ue000-\ue009]/g, (digit) => String(digit.charCodeAt(0) - codeDigits))

/**
 * A message with `…` in the place of its parts that vary: quoted text, addresses of mail and of the web, ids (UUIDs;
 * ids of jobs and of nanoid; what follows a prefix and has a digit: `cus_9Qa`; short hashes; words with digits in two
 * places, and words of 16 characters or more that have one), hexadecimal and decimal numbers, but not numbers that are
 * codes: `status code 404`. At most 300 characters are read.
 */
export const messagePattern = (message: string): string =>
  fromPrivate(withoutVarying(message.slice(0, messageMax).replaceAll(codes, toPrivate)))

const withoutVarying = (message: string): string =>
  message
    .replaceAll(/"[^"\n]*"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)/g, '…')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s)\]}>,;]+/gi, '…')
    .replaceAll(/[^\s@<>()]+@[^\s@<>()]+/g, '…')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/(?<![\w-])(?=[\w-]*(?:\d|[A-Z][a-z][A-Z]))[\w-]{21}(?![\w-])/g, '…')
    .replaceAll(/\b0x[0-9a-f]+\b/gi, '…')
    .replaceAll(/\b(?=\w*\d)\w{16,}\b/g, '…')
    .replaceAll(/\b([A-Za-z]{2,12}[_-])(?=[A-Za-z]*\d)[A-Za-z0-9]+\b/g, '$1…')
    .replaceAll(/\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,15}\b/g, '…')
    .replaceAll(/\b(?=[A-Za-z]*\d+[A-Za-z]+\d)[A-Za-z0-9]{6,15}\b/g, '…')
    .replaceAll(/\d+(?:\.\d+)*/g, '…')

/** An error without the parts that vary from job to job. */
export function failureOf(error: Pick<ErrorRecord, 'name' | 'code' | 'status' | 'message'>): Failure {
  const { name, message, status } = error
  // Clients of HTTP give one code to all refusals, and the status beside it.
  const code = [error.code, status].filter((each) => each !== undefined).join(' ') || null
  const pattern = messagePattern(message)
  const text = JSON.stringify([name, code, pattern])
  const fingerprint = digestOf(text).slice(0, fingerprintChars)
  return { fingerprint, name, code, message: pattern }
}
