/** Failures that have the same cause, as far as their errors tell: errors of one name, code and message, whose varying parts differ. */
import { createHash } from 'node:crypto'
import type { ErrorRecord } from './failure.ts'

/** An error without the parts that vary from job to job. */
export interface Failure {
  /** The same for errors with the same name, code and pattern. */
  readonly fingerprint: string
  readonly name: string
  readonly code: string | null
  /** The message with `…` for what varies: see `messagePattern`. */
  readonly message: string
}

/** Characters of a message that are compared. */
const messageMax = 300

const fingerprintChars = 16

/**
 * A message with `…` in the place of its parts that vary: quoted text, addresses of mail and of the web, ids (UUIDs, and words of 16
 * characters or more that contain a digit), hexadecimal and decimal numbers. At most 300 characters are read.
 */
export const messagePattern = (message: string): string =>
  message
    .slice(0, messageMax)
    .replaceAll(/"[^"\n]*"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)/g, '…')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s)\]}>,;]+/gi, '…')
    .replaceAll(/[^\s@<>()]+@[^\s@<>()]+/g, '…')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b0x[0-9a-f]+\b/gi, '…')
    .replaceAll(/\b(?=\w*\d)\w{16,}\b/g, '…')
    .replaceAll(/\d+(?:\.\d+)*/g, '…')

/** An error without the parts that vary from job to job. */
export function failureOf(error: Pick<ErrorRecord, 'name' | 'code' | 'message'>): Failure {
  const { name, message } = error
  const code = error.code ?? null
  const pattern = messagePattern(message)
  const text = JSON.stringify([name, code, pattern])
  const fingerprint = createHash('sha256').update(text).digest('base64url').slice(0, fingerprintChars)
  return { fingerprint, name, code, message: pattern }
}
