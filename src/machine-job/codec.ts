/** A machine's state as strict JSON, and back. Errors, which charts like to keep in their context, are kept as records. */
import { recordError, reviveError, type ErrorRecord } from '../job/failure.ts'
import { toPayload, type Json } from '../job/payload.ts'
import { payloadLimits } from '../limits.ts'

const errorKey = 'jobchart$error'

/** @throws JobchartError NOT_DURABLE, naming the path, for what JSON cannot carry */
export const encode = (value: unknown): Json =>
  toPayload(
    withErrors(value, (record) => ({ [errorKey]: record })),
    'NOT_DURABLE',
    payloadLimits,
  )

/** The same for people to look at: errors are their records. @throws as `encode` */
export const shown = (value: unknown): Json =>
  toPayload(
    withErrors(value, (record) => record),
    'NOT_DURABLE',
    payloadLimits,
  )

/** A copy of its own each time: machines change what they are given. */
export function decode(json: Json): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(decode)
  const { [errorKey]: record } = json
  if (isErrorRecord(record)) return reviveError(record)
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, decode(member)]))
}

/** An event may bring whatever it likes into a context. */
function isErrorRecord(record: unknown): record is ErrorRecord {
  if (typeof record !== 'object' || record === null) return false
  const { name, message, cause } = record as Partial<ErrorRecord>
  return typeof name === 'string' && typeof message === 'string' && (cause === undefined || isErrorRecord(cause))
}

function withErrors(value: unknown, as: (record: ErrorRecord) => unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > payloadLimits.depthMax) return value
  if (value instanceof Error) return as(recordError(value))
  if (Array.isArray(value)) return mapped(value, (member) => withErrors(member, as, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  let copy: Record<string, unknown> | null = null
  for (const [key, member] of Object.entries(value)) {
    const recorded = withErrors(member, as, depth + 1)
    if (recorded !== member) (copy ??= { ...value })[key] = recorded
  }
  return copy ?? value
}

/** The list itself if nothing in it changes. */
function mapped(list: readonly unknown[], map: (member: unknown) => unknown): readonly unknown[] {
  const copy = list.map(map)
  return copy.some((member, i) => member !== list[i]) ? copy : list
}
