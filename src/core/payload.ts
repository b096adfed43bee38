/**
 * Payloads: strict JSON. A payload is checked and copied in one pass, so that later changes by the caller do not reach
 * the job, every store keeps the same value, and values that JSON would change silently are refused.
 */
import { describe, JobchartError, type ErrorCode } from './errors.ts'
import { byteLength } from './platform.ts'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/**
 * The same type with `never` where its values are not JSON: dates, maps, functions, symbols, big integers. `Value
 * extends JsonOf<Value>` asks whether all of it is JSON. Members that are `undefined` are left out, and what is
 * `unknown` is checked at run time.
 */
export type JsonOf<Value> = unknown extends Value
  ? Value
  : Value extends Json | undefined | void
    ? Value
    : Value extends bigint | symbol | ((...args: never) => unknown) | { toJSON(): unknown }
      ? never
      : Value extends object
        ? { [Name in keyof Value]: Name extends string | number ? JsonOf<Value[Name]> : never }
        : never

export interface PayloadLimits {
  /** Size at most, in bytes of JSON as UTF-8. */
  readonly bytesMax: number
  /** Objects within objects at most. */
  readonly depthMax: number
}

/** What a payload holds in place of values that are not JSON. */
export interface Encoding {
  /** What stands for an object that is not plain data, itself JSON; undefined for one that is refused. */
  readonly object: (value: object) => unknown
  /** A key of a plain object, escaped. */
  readonly key: (key: string) => string
}

interface Walk {
  readonly code: ErrorCode
  readonly limits: PayloadLimits
  readonly what: string
  readonly of: string | null
  readonly encoding: Encoding | null
  bytesLeft: number
}

/** Where a walk is; null where it is not kept, which is cheaper. */
type Path = string | null

/**
 * A copy of `value`, every part of it strict JSON. Properties that are undefined are left out, −0 becomes 0.
 * @param code what to refuse with: INVALID_INPUT, INVALID_OUTPUT or NOT_DURABLE
 * @param what names the value in a refusal
 * @param of what it belongs to; apart from `what`, so that no text is made for the values that pass
 * @throws JobchartError naming the path: BigInt, function, symbol, NaN, ±Infinity, undefined at the top or in an array,
 *   a lone surrogate, an object with a class (Date, Map, …), a cycle, or more than the limits
 */
export function toPayload(
  value: unknown,
  code: ErrorCode,
  limits: PayloadLimits,
  what: string = names[code] ?? 'input',
  of: string | null = null,
): Json {
  return checked(value, { code, limits, what, of, encoding: null, bytesLeft: limits.bytesMax })
}

/** As `toPayload`, of a value that may hold what `encoding` stands for. */
export const toEncodedPayload = (value: unknown, code: ErrorCode, limits: PayloadLimits, encoding: Encoding): Json =>
  checked(value, { code, limits, what: names[code] ?? 'input', of: null, encoding, bytesLeft: limits.bytesMax })

function checked(value: unknown, walk: Walk): Json {
  const { limits } = walk
  const payload = copied(value, walk)
  // The walk counts what it takes at least; only what may come near the limit is measured.
  const leastBytes = limits.bytesMax - walk.bytesLeft
  if (leastBytes * growthMax > limits.bytesMax && byteLength(JSON.stringify(payload)) > limits.bytesMax) {
    throw tooLarge(walk, '')
  }
  return payload
}

/** A number counted as one byte may take 24, a character counted as one may be escaped to 6. */
const growthMax = 24

/** Nearly every value passes: only one that does not is walked again, to name the place. */
function copied(value: unknown, walk: Walk): Json {
  try {
    return copy(value, null, 0, walk)
  } catch (error) {
    const again = { ...walk, bytesLeft: walk.limits.bytesMax }
    try {
      copy(value, '', 0, again)
    } catch (placed) {
      throw refusalOf(placed, value, again)
    }
    // Its getters gave something else this time.
    throw refusalOf(error, value, walk)
  }
}

function refusalOf(error: unknown, value: unknown, walk: Walk): JobchartError {
  if (error instanceof TooDeep) return tooDeep(value, error.path, walk)
  if (error instanceof JobchartError) return error
  return refused(
    walk,
    '',
    'a property threw when it was read',
    'Pass plain data without getters or proxies that throw.',
    error,
  )
}

const memberPath = (path: Path, key: string): Path => (path === null ? null : path === '' ? key : `${path}.${key}`)
const itemPath = (path: Path, i: number): Path => (path === null ? null : `${path}[${i}]`)

function copy(value: unknown, path: Path, depth: number, walk: Walk): Json {
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
        throw new TooDeep(path)
      }
      return Array.isArray(value) ? list(value, path, depth, walk) : plain(value, path, depth, walk)
    default:
      throw refused(walk, path, `${describe(value)} is not JSON`)
  }
}

function list(value: readonly unknown[], path: Path, depth: number, walk: Walk): Json[] {
  spend(walk, 1 + value.length, path)
  // oxlint-disable-next-line unicorn/no-new-array -- most have one member; one that grows has room for 17 at once
  const result = new Array<Json>(value.length)
  for (let i = 0; i < value.length; i++) result[i] = copy(value[i], itemPath(path, i), depth + 1, walk)
  return result
}

function plain(value: object, path: Path, depth: number, walk: Walk): Json {
  if (!isPlain(value)) return encoded(value, path, depth, walk)
  const { encoding } = walk
  spend(walk, 2, path)
  const result: { [key: string]: Json } = {}
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    const member: unknown = value[key as keyof typeof value]
    if (member === undefined) continue
    const name = encoding === null ? key : encoding.key(key)
    text(name, path, walk)
    setMember(result, name, copy(member, memberPath(path, key), depth + 1, walk))
  }
  return result
}

/** Sets an own property of a plain object. Assigning to `__proto__` would set the prototype. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  } else object[name] = value
}

/** Plain objects of another realm (vm, test runners) have an Object.prototype of their own: its prototype is null. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function encoded(value: object, path: Path, depth: number, walk: Walk): Json {
  const standIn = walk.encoding?.object(value)
  if (standIn === undefined) throw refused(walk, path, `${describe(value)} is not plain data`)
  // Its own keys are not escaped, and nothing in it is encoded.
  const within = { ...walk, encoding: null }
  const copied = copy(standIn, path, depth, within)
  walk.bytesLeft = within.bytesLeft
  return copied
}

function text(value: string, path: Path, walk: Walk): string {
  spend(walk, value.length + 2, path)
  if (!value.isWellFormed()) throw refused(walk, path, 'a string with a lone surrogate')
  return value
}

function spend(walk: Walk, bytes: number, path: Path): void {
  walk.bytesLeft -= bytes
  if (walk.bytesLeft < 0) throw tooLarge(walk, path)
}

/** Thrown within a walk at the first value that is nested too deep. */
class TooDeep extends Error {
  readonly path: Path

  constructor(path: Path) {
    super('nested too deep')
    this.path = path
  }
}

/** What is nested too deep may be a cycle: that is looked for only now. */
function tooDeep(value: unknown, path: Path, walk: Walk): JobchartError {
  const cycle = findCycle(value, '', [], walk.limits.depthMax)
  if (cycle === null) {
    return refused(
      walk,
      path,
      `nested deeper than ${walk.limits.depthMax} levels`,
      'Flatten the value, or pass a reference to it.',
    )
  }
  const { at, to } = cycle
  const target = to === '' ? 'the whole value' : to
  return refused(walk, at, `a cycle, it refers back to ${target}`, 'Pass an id instead of the object that contains it.')
}

/** The first place in the order of the walk that refers to an object around it. */
function findCycle(
  value: unknown,
  path: string,
  around: readonly { readonly value: object; readonly path: string }[],
  depthMax: number,
): { readonly at: string; readonly to: string } | null {
  if (typeof value !== 'object' || value === null) return null
  const target = around.find((each) => each.value === value)
  if (target !== undefined) return { at: path, to: target.path }
  if (around.length > depthMax || !(Array.isArray(value) || isPlain(value))) return null
  for (const [key, member] of Object.entries(value)) {
    const within = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    const found = findCycle(member, within, [...around, { value, path }], depthMax)
    if (found !== null) return found
  }
  return null
}

const tooLarge = (walk: Walk, path: Path): JobchartError =>
  refused(
    walk,
    path,
    `larger than ${walk.limits.bytesMax} bytes of JSON`,
    'Keep large data elsewhere, and pass a reference to it: a path, a URL or a key.',
  )

const strictJson =
  'Pass strict JSON: text, finite numbers, booleans, null, plain arrays and objects. A Date as date.toISOString().'
const pathCharsMax = 200

function refused(walk: Walk, path: Path, problem: string, hint = strictJson, cause?: unknown): JobchartError {
  const owner = walk.of === null ? walk.what : `${walk.what} ${walk.of}`
  const place =
    path === null || path === '' ? '' : ` at ${path.slice(0, pathCharsMax)}${path.length > pathCharsMax ? '…' : ''}`
  return new JobchartError(walk.code, `${owner}${place}: ${problem}`, {
    ...(cause !== undefined && { cause }),
    hint,
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
    setMember(result, key, copyPayload(value[key] as Json))
  }
  return result
}

/** About how large a payload is as JSON: a character counts as one byte, a number or another value as eight. */
export function roughSize(payload: Json | undefined): number {
  if (typeof payload === 'string') return payload.length + 2
  if (typeof payload !== 'object' || payload === null) return 8
  let size = 2
  if (Array.isArray(payload)) for (const item of payload) size += roughSize(item) + 1
  else for (const name in payload) size += name.length + 4 + roughSize(payload[name])
  return size
}
