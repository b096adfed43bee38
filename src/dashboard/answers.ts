/** Responses: JSON, errors with a code and a hint, and the headers of all responses. */
import { JobchartError, type ErrorCode } from '../core/errors.ts'
import type { Role } from './options.ts'
import { RefusedError } from './refused-error.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

export const headersOf = (type: string, others: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...securityHeaders,
  'cache-control': 'no-store',
  'content-type': type,
  ...others,
})

export const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: headersOf('application/json; charset=utf-8') })

/** The error response of the JSON API. */
interface Problem {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string }
}

export function problem(
  status: number,
  code: string,
  message: string,
  { hint, headers }: { readonly hint?: string | undefined; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  const body: Problem = { error: { code, message, ...(hint !== undefined && { hint }) } }
  return new Response(JSON.stringify(body), {
    status,
    headers: headersOf('application/json; charset=utf-8', headers),
  })
}

const statuses: Partial<Record<ErrorCode, number>> = {
  NOT_FOUND: 404,
  UNKNOWN_TYPE: 404,
  INVALID_INPUT: 400,
  INVALID_OPTION: 400,
  NOT_ACCEPTED: 409,
  ID_TAKEN: 409,
  CAPACITY: 429,
  UNSUPPORTED: 422,
  CHART_TOO_LARGE: 422,
  STORE_UNAVAILABLE: 503,
  STOPPED: 503,
  TIMEOUT: 503,
}

/** What only an operator of the store needs: paths of files, names of hosts. */
const storeErrors: ReadonlySet<ErrorCode> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_CORRUPT',
  'STORE_ROLLED_BACK',
  'STORE_REFUSED',
])

/** The message of an error of the store, for a user of this role. */
export const storeMessage = (error: Error, role: Role): string =>
  role === 'admin' ? error.message : 'The store does not answer as it should.'

/** An error as a response. The message of an error that is not a JobchartError is not sent: it may contain anything. */
export function failure(error: unknown, role: Role): Response {
  if (error instanceof RefusedError) return problem(error.status, error.code, error.message)
  if (error instanceof JobchartError) {
    const status = statuses[error.code] ?? 500
    if (storeErrors.has(error.code) && role !== 'admin')
      return problem(status, error.code, storeMessage(error, role), { hint: 'Ask an admin of this dashboard.' })
    return problem(status, error.code, error.message, { hint: error.hint })
  }
  return problem(500, 'INTERNAL', 'The dashboard could not answer.', {
    hint: 'The process has printed the error to its standard error.',
  })
}

export const notFound = (what: string, hint?: string): Response =>
  problem(404, 'NOT_FOUND', `${what} was not found`, { hint })
