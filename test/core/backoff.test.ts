/** How long to wait before the next attempt. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/core/clock.ts'
import { backoffMs, backoffRule, constant, exponential, linear, type AttemptBackoff } from '../../src/core/backoff.ts'

const half = () => 0.5
const delays = (backoff: AttemptBackoff, attempts: number) =>
  Array.from({ length: attempts }, (_, i) => backoffMs(backoff, i + 1, new Error('x'), half))

test('a constant delay stays, a linear one grows by itself, an exponential one doubles, each to its longest', () => {
  expect(delays(constant('5s'), 3)).toEqual([5_000, 5_000, 5_000])
  expect(delays(linear({ base: '1s', max: '3s' }), 5)).toEqual([1_000, 2_000, 3_000, 3_000, 3_000])
  expect(delays(exponential({ base: '1s', max: '10s', jitter: false }), 6)).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ])
  expect(delays(constant(), 1)).toEqual([1_000])
  expect(delays(linear({ max: '500ms' }), 2)).toEqual([500, 500])
})

test('exponential delays have full jitter unless told otherwise, the others if asked', () => {
  expect(delays(exponential(), 3)).toEqual([500, 1_000, 2_000])
  expect(delays(constant({ base: '4s', jitter: true }), 2)).toEqual([2_000, 2_000])
  expect(delays(exponential({ base: '2h' }), 2)).toEqual([3_600_000, 3_600_000])
})

test('an own function is asked with the attempt and the error', () => {
  const error = new Error('x')
  const asked: unknown[] = []
  const own: AttemptBackoff = (...given) => {
    asked.push(given)
    return '2s'
  }
  expect(backoffMs(own, 3, error, half)).toBe(2_000)
  expect(asked).toEqual([[3, error]])
  const wrong = (() => 'soon') as unknown as AttemptBackoff
  expect(() => backoffMs(wrong, 1, error, half)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a delay is a whole number between nothing and the longest, whatever the attempt and the dice', () => {
  const options = fc.record({ base: fc.nat(100_000), max: fc.nat(10_000_000), jitter: fc.boolean() })
  const make = fc.constantFrom(constant, linear, exponential)
  const property = fc.property(
    make,
    options,
    fc.integer({ min: 1, max: 100_000 }),
    fc.integer(),
    (kind, given, attempt, seed) => {
      const policy = kind(given)
      const ms = backoffMs(policy, attempt, null, seededRandom(seed))
      expect(Number.isSafeInteger(ms)).toBe(true)
      expect(ms).toBeGreaterThanOrEqual(0)
      expect(ms).toBeLessThanOrEqual(given.max)
    },
  )
  fc.assert(property, { numRuns: 1_000 })
})

test('jitter spreads over the whole delay', () => {
  const random = seededRandom(1)
  const spread = Array.from({ length: 1_000 }, () => backoffMs(exponential({ base: '10s' }), 1, null, random))
  const inTenths = Array.from({ length: 10 }, (_, i) => spread.filter((ms) => Math.floor(ms / 1_000) === i).length)
  for (const share of inTenths) expect(share).toBeGreaterThan(50)
})

test('what is no backoff is refused at the door', () => {
  const backoffOption = backoffRule<() => number>()
  const known: readonly AttemptBackoff[] = [constant('1s'), () => 5]
  for (const backoff of known) expect(backoffOption(backoff, 'retry.backoff')).toBe(backoff)
  for (const wrong of [null, undefined, 5, '5s', {}, []]) {
    expect(() => backoffOption(wrong, 'retry.backoff')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
  expect(() => linear('soon' as '1s')).toThrow(/^linear base: /)
})
