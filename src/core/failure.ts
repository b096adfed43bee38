/**
 * Errors as data: whatever was thrown, reduced to plain, capped fields that any store can keep and any page can show.
 */

export interface ErrorRecord {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: string
  /** What to do about it: errors of jobchart have one, and some of others, such as those of PostgreSQL. */
  readonly hint?: string
  /** HTTP status of the response that the error is about: its `status` or `statusCode`, or that of its `response`. */
  readonly status?: string
  readonly cause?: ErrorRecord
}

/** The error of an attempt whose lease ran out. */
export const leaseExpired: ErrorRecord = {
  name: 'LeaseExpired',
  message: 'the lease ran out: its worker died, hung, or lost the store',
  code: 'LEASE_LOST',
}

const caps = { name: 100, message: 2_000, stack: 4_000, code: 100, hint: 1_000, causes: 5 }

/** A record of anything thrown; it never throws itself, whatever the value's getters do. */
export function recordError(thrown: unknown, depth = 0): ErrorRecord {
  const name = nameOf(thrown)
  const message = field(thrown, 'message') ?? inspect(thrown)
  const stack = field(thrown, 'stack')
  const code = field(thrown, 'code')
  const hint = field(thrown, 'hint')
  const status = statusOf(thrown)
  const cause = depth < caps.causes ? read(thrown, 'cause') : undefined
  return {
    name: clip(name, caps.name),
    message: clip(message, caps.message),
    ...(stack !== undefined && { stack: clip(stack, caps.stack) }),
    ...(code !== undefined && { code: clip(code, caps.code) }),
    ...(hint !== undefined && { hint: clip(hint, caps.hint) }),
    ...(status !== undefined && { status }),
    ...(cause !== undefined && cause !== null && { cause: recordError(cause, depth + 1) }),
  }
}

/** What stands for a thrown value of which not even the class can be asked. */
export const unreadable = (): TypeError =>
  new TypeError('the handler threw a value that cannot be read, such as a revoked proxy')

/** The error again, for a caller who awaits it: an Error with the recorded fields and causes. */
export function reviveError(record: ErrorRecord): Error {
  const error = new Error(record.message, record.cause && { cause: reviveError(record.cause) })
  error.name = record.name
  if (record.stack !== undefined) error.stack = record.stack
  const { code, hint, status } = record
  return Object.assign(error, {
    ...(code !== undefined && { code }),
    ...(hint !== undefined && { hint }),
    ...(status !== undefined && { status }),
  })
}

/** The name of an error; of a class that does not set one, `class CardDeclined extends Error {}`, that of the class. */
function nameOf(thrown: unknown): string {
  const name = field(thrown, 'name') ?? (isError(thrown) ? 'Error' : 'NonError')
  return name === 'Error' && isError(thrown) ? (field(read(thrown, 'constructor'), 'name') ?? name) : name
}

function statusOf(thrown: unknown): string | undefined {
  for (const [holder, name] of [
    [thrown, 'status'],
    [thrown, 'statusCode'],
    [read(thrown, 'response'), 'status'],
  ] as const) {
    const status = field(holder, name)
    if (status !== undefined && /^[1-5]\d\d$/.test(status)) return status
  }
  return undefined
}

/** Asking a revoked proxy for its prototype throws. */
function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

function read(thrown: unknown, name: string): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return undefined
  try {
    return (thrown as Record<string, unknown>)[name]
  } catch {
    return undefined
  }
}

function field(thrown: unknown, name: string): string | undefined {
  const value = read(thrown, name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function inspect(thrown: unknown): string {
  try {
    const json = typeof thrown === 'object' ? JSON.stringify(thrown) : undefined
    return json ?? String(thrown)
  } catch {
    return 'a value that cannot be shown'
  }
}

/** At most `max` characters, never half a surrogate pair. */
function clip(text: string, max: number): string {
  const clipped = text.length > max ? `${text.slice(0, max - 1)}…` : text
  return clipped.isWellFormed() ? clipped : clipped.toWellFormed()
}
