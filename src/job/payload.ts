/**
 * What may be stored: strict JSON. A payload is checked and copied in one walk, so that the caller's later changes do not
 * reach the job, every store keeps the same thing, and what JSON would bend in silence is refused at the door.
 */
import { describe, JobchartError, type ErrorCode } from '../errors.ts'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export interface PayloadLimits {
  /** Size at most, in bytes of JSON as UTF-8. */
  readonly bytesMax: number
  /** Objects within objects at most. */
  readonly depthMax: number
}

interface Walk {
  readonly code: ErrorCode
  readonly limits: PayloadLimits
  bytesLeft: number
}

/**
 * A copy of `value`, every part of it strict JSON. Properties that are undefined are left out, −0 becomes 0.
 * @param code what to refuse with: INVALID_INPUT, INVALID_OUTPUT or NOT_DURABLE
 * @throws JobchartError naming the path: BigInt, function, symbol, NaN, ±Infinity, undefined at the top or in an array,
 *   a lone surrogate, an object with a class (Date, Map, …), a cycle, or more than the limits
 */
export function toPayload(value: unknown, code: ErrorCode, limits: PayloadLimits): Json {
  const walk: Walk = { code, limits, bytesLeft: limits.bytesMax }
  const payload = copied(value, walk)
  // The walk counts what it takes at least; only what may come near the limit is measured.
  const leastBytes = limits.bytesMax - walk.bytesLeft
  if (leastBytes * growthMax > limits.bytesMax && Buffer.byteLength(JSON.stringify(payload)) > limits.bytesMax) {
    throw refused(walk, '', `larger than ${limits.bytesMax} bytes`)
  }
  return payload
}

/** A number counted as one byte may take 24, a character counted as one may be escaped to 6. */
const growthMax = 24

function copied(value: unknown, walk: Walk): Json {
  try {
    return copy(value, '', 0, walk)
  } catch (error) {
    if (error instanceof JobchartError) throw error
    throw refused(walk, '', 'reading it threw', error)
  }
}

function copy(value: unknown, path: string, depth: number, walk: Walk): Json {
  switch (typeof value) {
    case 'string':
      return text(value, path, walk)
    case 'number':
      if (!Number.isFinite(value)) throw refused(walk, path, `${value} is not JSON`)
      spend(walk, 1, path)
      return value === 0 ? 0 : value
    case 'boolean':
      spend(walk, 4, path)
      return value
    case 'object':
      if (value === null) {
        spend(walk, 4, path)
        return null
      }
      if (depth >= walk.limits.depthMax) {
        throw refused(walk, path, `nested deeper than ${walk.limits.depthMax}, or a cycle`)
      }
      return Array.isArray(value) ? list(value, path, depth, walk) : plain(value, path, depth, walk)
    default:
      throw refused(walk, path, `${describe(value)} is not JSON`)
  }
}

function list(value: readonly unknown[], path: string, depth: number, walk: Walk): Json[] {
  spend(walk, 1 + value.length, path)
  const result: Json[] = []
  for (let i = 0; i < value.length; i++) result.push(copy(value[i], `${path}[${i}]`, depth + 1, walk))
  return result
}

function plain(value: object, path: string, depth: number, walk: Walk): Json {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Plain objects of another realm (vm, test runners) have an Object.prototype of their own: its prototype is null.
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw refused(walk, path, `${describe(value)} is not plain data`)
  }
  spend(walk, 2, path)
  const result: { [key: string]: Json } = {}
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    const member: unknown = value[key as keyof typeof value]
    if (member === undefined) continue
    text(key, path, walk)
    const copied = copy(member, path === '' ? key : `${path}.${key}`, depth + 1, walk)
    if (key === '__proto__') {
      // Plain assignment would set the prototype; as an own property it stays data.
      Object.defineProperty(result, key, { value: copied, enumerable: true, configurable: true, writable: true })
    } else {
      result[key] = copied
    }
  }
  return result
}

function text(value: string, path: string, walk: Walk): string {
  spend(walk, value.length + 2, path)
  if (!value.isWellFormed()) throw refused(walk, path, 'a string with a lone surrogate')
  return value
}

function spend(walk: Walk, bytes: number, path: string): void {
  walk.bytesLeft -= bytes
  if (walk.bytesLeft < 0) throw refused(walk, path, `larger than ${walk.limits.bytesMax} bytes`)
}

function refused(walk: Walk, path: string, problem: string, cause?: unknown): JobchartError {
  const what = names[walk.code] ?? 'input'
  return new JobchartError(walk.code, `${what}${path === '' ? '' : ` at ${path}`}: ${problem}`, {
    ...(cause !== undefined && { cause }),
    hint: 'Pass strict JSON: text, finite numbers, booleans, null, plain arrays and objects. Dates as ISO text, large data by reference.',
  })
}

const names: Partial<Record<ErrorCode, string>> = { INVALID_OUTPUT: 'output', NOT_DURABLE: 'state of the machine' }

/** A copy of what is already known to be a payload; cheaper than the checks. */
export function copyPayload<T extends Json | undefined>(value: T): T
export function copyPayload(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((member) => copyPayload(member))
  const result: { [key: string]: Json } = {}
  for (const key in value) {
    const member = copyPayload(value[key] as Json)
    if (key === '__proto__') {
      Object.defineProperty(result, key, { value: member, enumerable: true, configurable: true, writable: true })
    } else {
      result[key] = member
    }
  }
  return result
}
