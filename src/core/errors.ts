/** The errors of jobchart: a code to branch on, a hint that says what to do, and the cause. */

export type ErrorCode =
  | 'ABORTED'
  | 'CANCELLED'
  | 'CAPACITY'
  | 'CHART_TOO_LARGE'
  | 'DEAD'
  | 'DUPLICATE_STEP'
  | 'ENQUEUE_REFUSED'
  | 'ID_TAKEN'
  | 'INVALID_INPUT'
  | 'INVALID_MIDDLEWARE'
  | 'INVALID_OPTION'
  | 'INVALID_OUTPUT'
  | 'LEASE_LOST'
  | 'NOT_ACCEPTED'
  | 'NOT_COMMITTED'
  | 'NOT_DURABLE'
  | 'NOT_FOUND'
  | 'SLOW_READER'
  | 'STOPPED'
  | 'STORE_CORRUPT'
  | 'STORE_REFUSED'
  | 'STORE_ROLLED_BACK'
  | 'STORE_UNAVAILABLE'
  | 'THREAD_FAILED'
  | 'TIMEOUT'
  | 'TOO_MANY_STEPS'
  | 'TX_NOT_OPEN'
  | 'TX_OTHER_DATABASE'
  | 'TX_ROLLED_BACK'
  | 'UNKNOWN_TYPE'
  | 'UNSUPPORTED'

interface ErrorDetails {
  /** What to do about it, in a sentence. */
  readonly hint?: string
  /** The error that led to this one. */
  readonly cause?: unknown
}

/**
 * The base of every error jobchart throws.
 *
 * @example
 * try { await runtime.enqueue(job, input) } catch (error) {
 *   if (error instanceof JobchartError && error.code === 'STOPPED') return reply.code(503)
 *   throw error
 * }
 */
export class JobchartError extends Error {
  override readonly name: string = 'JobchartError'
  readonly code: ErrorCode
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.hint = details.hint
  }
}

/** The job spent its attempts or failed fatally; `cause` is its last error as it was recorded. */
export class JobDeadError extends JobchartError {
  override readonly name = 'JobDeadError'
  readonly jobId: string

  constructor(jobId: string, message: string, details?: ErrorDetails) {
    super('DEAD', message, { hint: 'Look at record().errors; runtime.retry(id) runs it again.', ...details })
    this.jobId = jobId
  }
}

/** The job was cancelled; `reason` is what the canceller said. */
export class JobCancelledError extends JobchartError {
  override readonly name = 'JobCancelledError'
  readonly jobId: string
  readonly reason: string | undefined

  constructor(jobId: string, reason?: string) {
    super('CANCELLED', `job ${jobId} was cancelled${reason === undefined ? '' : `: ${reason}`}`, {
      hint: 'runtime.retry(id) runs it again.',
    })
    this.jobId = jobId
    this.reason = reason
  }
}

/** Something took longer than it was allowed to. */
export class TimeoutError extends JobchartError {
  override readonly name = 'TimeoutError'

  constructor(message: string, details?: ErrorDetails) {
    super('TIMEOUT', message, { hint: 'Allow more time with `timeout`, or look at what takes so long.', ...details })
  }
}

/**
 * The caller's own signal aborted a wait; `cause` is the signal's reason. Named as the platform names it. A wait that
 * another call has ended says so in its hint.
 */
export class AbortError extends JobchartError {
  override readonly name = 'AbortError'

  constructor(
    message: string,
    cause: unknown,
    hint = 'The signal that was passed has aborted; `cause` is its reason.',
  ) {
    super('ABORTED', message, { hint, cause })
  }
}

/**
 * An option that makes no sense.
 * @param option its name, with the call or job it belongs to where that is not clear
 * @param expected what it takes, to be read after "expected"
 * @param hint what to do instead; the default says where to look
 */
export const invalidOption = (option: string, expected: string, got: unknown, hint = usualHint(got)): JobchartError =>
  new JobchartError('INVALID_OPTION', `${option}: expected ${expected}, got ${describe(got)}`, { hint })

const usualHint = (got: unknown): string =>
  got === undefined || got === null
    ? 'Pass a value. What has a default may be left out.'
    : 'Correct the value where it is passed; the doc comment of the option tells its limits and its default.'

/** A short picture of any value for a message; safe whatever the value's getters do. */
export function describe(value: unknown): string {
  try {
    return picture(value)
  } catch {
    return 'a value that cannot be shown'
  }
}

function picture(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (value === null || typeof value !== 'object') {
    return typeof value === 'function' ? `a function ${value.name}`.trim() : String(value)
  }
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : `the Date ${value.toISOString()}`
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `a ${name}` : 'an object'
}

/** What an error says; of a value that is none, its text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
