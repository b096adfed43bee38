/** Rates and series of activity, as they are made of the buckets of a store. */
import { expect, test } from 'vitest'
import { everyBucket, figuresOf, ratesFrom, ratesOf } from '../../src/core/activity.ts'

const minute = 60_000
const bucket = (at: number, figures: Partial<ReturnType<typeof figuresOf>>) => ({ at, ...figuresOf([]), ...figures })

test('a rate is per second; of the minute in which its window begins, the part within the window counts', () => {
  const now = 10 * minute + 15_000
  const buckets = [
    bucket(8 * minute, { done: 600 }),
    bucket(9 * minute, { done: 120 }),
    bucket(10 * minute, { done: 30 }),
  ]
  // 30 of the current minute, and three quarters of the 120 before.
  expect(ratesOf(buckets, now, 1).done).toBeCloseTo(120 / 60)
  expect(ratesOf(buckets, now, 5).done).toBeCloseTo(750 / 300)
  expect(ratesFrom(now)).toBe(5 * minute + 15_000)
})

test('steady work has its rate at every moment', () => {
  const perMinute = {
    enqueued: 120,
    started: 60,
    queuedMs: 60 * 250,
    done: 30,
    failed: 30,
    runMs: 60 * 40,
    dead: 6,
    cancelled: 12,
  }
  for (const seconds of [1, 29, 59]) {
    const part = Object.fromEntries(Object.entries(perMinute).map(([name, figure]) => [name, (figure * seconds) / 60]))
    const buckets = [0, 1, 2, 3, 4, 5].map((n) => bucket(n * minute, n === 5 ? part : perMinute))
    const { meanQueuedMs, meanRunMs, ...rates } = ratesOf(buckets, 5 * minute + seconds * 1_000, 1)
    const expected = { enqueued: 2, started: 1, done: 0.5, failed: 0.5, dead: 0.1, cancelled: 0.2 }
    for (const [name, rate] of Object.entries(expected))
      expect(rates[name as keyof typeof rates], name).toBeCloseTo(rate)
    expect([meanQueuedMs, meanRunMs].map((mean) => Math.round(mean ?? -1))).toEqual([250, 40])
  }
})

test('nothing has no rate and no mean', () => {
  const rates = {
    enqueued: 0,
    started: 0,
    done: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    meanQueuedMs: null,
    meanRunMs: null,
  }
  expect(ratesOf([], 0, 1)).toEqual(rates)
})

test('a series has a bucket for every period, also for those without activity', () => {
  const buckets = [bucket(3 * minute, { done: 1 }), bucket(99 * minute, { done: 9 })]
  const series = everyBucket(buckets, { period: 'minute', count: 3, now: 4 * minute + 1 })
  expect(series.map(({ at, done }) => [at, done])).toEqual([
    [2 * minute, 0],
    [3 * minute, 1],
    [4 * minute, 0],
  ])
})
