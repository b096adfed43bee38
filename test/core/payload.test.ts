/** Payloads: an exact round trip, or a refusal that says where and why. */
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import { copyPayload, toPayload, type Json } from '../../src/core/payload.ts'

const limits = { bytesMax: 1_000_000, depthMax: 50 }
const check = (value: unknown, within = limits): Json => toPayload(value, 'INVALID_INPUT', within)

/** Names that have hurt others. */
const name = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', ''),
)
const text = fc.string({ unit: 'grapheme' })
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}))

/** Every object and array within a value, itself included. */
function parts(value: unknown): object[] {
  return typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(parts)] : []
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype]
const untouched = prototypes.map((prototype) => Reflect.ownKeys(prototype).length)
const expectNoPollution = () =>
  expect(prototypes.map((prototype) => Reflect.ownKeys(prototype).length)).toEqual(untouched)

test('strict JSON comes through exactly, as a copy that shares nothing', () => {
  const property = fc.property(json, (value) => {
    const payload = check(value)
    for (const [copy, original] of [
      [payload, value],
      [copyPayload(payload), payload],
    ]) {
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
      const shared = new Set(parts(original))
      expect(parts(copy).some((part) => shared.has(part))).toBe(false)
      for (const part of parts(copy)) {
        expect(Object.getPrototypeOf(part)).toBe(Array.isArray(part) ? Array.prototype : Object.prototype)
      }
    }
    expectNoPollution()
  })
  fc.assert(property, { numRuns: 5_000 })
})

test('anything else comes through as JSON would have it, or is refused with a reason', () => {
  let refused = 0
  const anything = fc.anything({
    key: name,
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })
  const property = fc.property(anything, (value) => {
    try {
      expect(JSON.stringify(check(value))).toBe(JSON.stringify(value))
    } catch (error) {
      if (!(error instanceof JobchartError)) throw error
      refused++
      expect(error.code).toBe('INVALID_INPUT')
      expect(error.message).toMatch(/^input( at .+)?: /s)
    }
    expectNoPollution()
  })
  fc.assert(property, { numRuns: 20_000 })
  expect(refused).toBeGreaterThan(1_000)
})

class Order {
  readonly total = 5
}

test('what JSON would bend in silence is refused, by its path', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const wrong: readonly (readonly [value: unknown, message: string])[] = [
    [undefined, 'input: undefined'],
    [10n, 'input: 10n'],
    [{ total: NaN }, 'input at total: NaN'],
    [[1, Infinity], 'input at [1]: Infinity'],
    [{ list: [{ at: new Date(0) }] }, 'input at list[0].at: the Date 1970-01-01T00:00:00.000Z is not plain data'],
    [(function* () {})(), 'input: an object is not plain data'],
    [{ f: () => 1 }, 'input at f: a function'],
    [{ s: Symbol('x') }, 'input at s: Symbol(x)'],
    [[undefined], 'input at [0]: undefined'],
    [new Map(), 'input: a Map'],
    [new Order(), 'input: a Order'],
    [{ t: '\ud800' }, 'input at t: a string with a lone surrogate'],
    [{ '\udc00': 1 }, 'lone surrogate'],
    [cycle, 'input at self: a cycle, it refers back to the whole value'],
  ]
  for (const [value, message] of wrong) expect(() => check(value), message).toThrow(message)
  expect(() => toPayload(1n, 'INVALID_OUTPUT', limits)).toThrow(/^output: /)
})

test('members that are undefined are left out, minus zero is zero', () => {
  expect(check({ a: undefined, b: 1 })).toEqual({ b: 1 })
  expect('a' in (check({ a: undefined }) as object)).toBe(false)
  expect(Object.is(check(-0), 0)).toBe(true)
})

test('__proto__ is data, not a prototype', () => {
  const hostile: unknown = JSON.parse(
    '{ "__proto__": { "polluted": true }, "constructor": { "prototype": { "polluted": 1 } } }',
  )
  for (const payload of [check(hostile), copyPayload(check(hostile))]) {
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype)
    expect(JSON.stringify(payload)).toBe(JSON.stringify(hostile))
  }
  expect('polluted' in {}).toBe(false)
})

test('what every object inherits is no part of a payload', () => {
  const heir: unknown = runInNewContext('Object.prototype.polluted = 1; ({ own: 1 })')
  expect('polluted' in (heir as object)).toBe(true)
  expect(JSON.stringify(check(heir))).toBe('{"own":1}')
})

test('plain objects of another realm and without a prototype are plain', () => {
  const foreign: unknown = runInNewContext('({ list: [{ a: 1 }] })')
  expect(check(foreign)).toEqual({ list: [{ a: 1 }] })
  expect(check(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
})

test('size and depth are bounded', () => {
  const within = { bytesMax: 1_000, depthMax: 3 }
  expect(check('x'.repeat(990), within)).toHaveLength(990)
  expect(() => check('x'.repeat(1_001), within)).toThrow('larger than 1000 bytes')
  expect(() => check(Array(1_001).fill(null), within)).toThrow('larger than 1000 bytes')
  expect(() => check({ list: Array.from({ length: 100 }, () => ({ name: 'twelve bytes' })) }, within)).toThrow(
    'larger than 1000 bytes',
  )
  expect(check([[[]]], within)).toEqual([[[]]])
  expect(() => check([[[[]]]], within)).toThrow('nested deeper than 3')
})

test('a value that is fine when it is read again is refused all the same', () => {
  let reads = 0
  const value = {
    get n() {
      return reads++ === 0 ? NaN : 1
    },
  }
  expect(() => check(value)).toThrow('input: NaN is not JSON')
  reads = 0
  const thrower = {
    get n() {
      if (reads++ === 0) throw new Error('not yet')
      return 1
    },
  }
  expect(() => check(thrower)).toThrow('a property threw when it was read')
})
