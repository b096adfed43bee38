/** Durations as people write them. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { duration } from 'jobchart'
import { durationMs, type Duration } from '../../src/core/duration.ts'

test('numbers are milliseconds, text has a unit', () => {
  const written: Readonly<Record<string, number>> = {
    '250ms': 250,
    '30s': 30_000,
    '5m': 300_000,
    '2h': 7_200_000,
    '1d': 86_400_000,
    '0s': 0,
    '1.5s': 1_500,
  }
  for (const [text, ms] of Object.entries(written)) expect(durationMs(text as Duration, 'delay'), text).toBe(ms)
  expect([durationMs(0, 'delay'), durationMs(1_500, 'delay'), durationMs(0.6, 'delay')]).toEqual([0, 1_500, 1])
})

test('what is no duration is refused, and the option named', () => {
  const text = ['', '5', 'ms', '5 m', '-5m', '5M', '1e3ms', 'Infinityms', '.5s', '5m5s', '36501d']
  for (const value of [...text, -1, NaN, Infinity, 36_501 * 86_400_000, null, undefined, {}, 5n]) {
    const refused = expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(/^timeout: /) })
    expect(() => durationMs(value as Duration, 'timeout')).toThrow(refused)
  }
})

test('text of the environment is a duration or is refused with the name of its setting; none is none', () => {
  expect(duration('1.5s', 'LEASE')).toBe(1_500)
  expect(duration(undefined, 'LEASE')).toBe(undefined)
  for (const text of ['', '30', '30 s', 'soon']) {
    const refused = expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(/^LEASE: /) })
    expect(() => duration(text, 'LEASE')).toThrow(refused)
  }
})

test('any duration is a whole number of milliseconds from 0 to a hundred years', () => {
  const unit = fc.constantFrom('ms', 's', 'm', 'h', 'd')
  const property = fc.property(fc.nat(36_500), unit, (amount, each) => {
    const ms = durationMs(`${amount}${each}` as Duration, 'delay')
    expect(Number.isSafeInteger(ms) && ms >= 0 && ms <= 36_500 * 86_400_000).toBe(true)
  })
  fc.assert(property)
})
