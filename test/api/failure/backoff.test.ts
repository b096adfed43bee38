import { constant, defineJob, exponential, linear, type Backoff } from 'jobchart'
import { seededRandom } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** The waits between the starts of a job that always fails, in ms. */
async function waits(backoff: Backoff | undefined, maxAttempts: number, seed = 1): Promise<number[]> {
  const { clock, runtime } = world({ seed })
  const starts: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts, ...(backoff && { backoff }) },
    run: () => {
      starts.push(clock.now())
      throw new Error('no')
    },
  })
  await (await runtime({ jobs: [job], lease: '1d' })).enqueue(job)
  await clock.advance('10d')
  expect(starts).toHaveLength(maxAttempts)
  return starts.slice(1).map((at, i) => at - (starts[i] as number))
}

const s = 1_000
const policies: [name: string, backoff: Backoff, expected: number[]][] = [
  ["constant('5s')", constant('5s'), [5 * s, 5 * s, 5 * s, 5 * s]],
  ['constant()', constant(), [1 * s, 1 * s, 1 * s, 1 * s]],
  ['linear()', linear(), [1 * s, 2 * s, 3 * s, 4 * s]],
  ["linear({ base: '2s', max: '5s' })", linear({ base: '2s', max: '5s' }), [2 * s, 4 * s, 5 * s, 5 * s]],
  ['exponential without jitter', exponential({ jitter: false }), [1 * s, 2 * s, 4 * s, 8 * s]],
  ['exponential with a max', exponential({ base: 500, max: '3s', jitter: false }), [500, 1 * s, 2 * s, 3 * s]],
  ['a max below the base', constant({ base: '5s', max: '1s' }), [1 * s, 1 * s, 1 * s, 1 * s]],
  ['a function of the attempt', (attempt) => attempt * 111, [111, 222, 333, 444]],
  ['a function that gives text', () => '1m', [60 * s, 60 * s, 60 * s, 60 * s]],
]

test.each(policies)('%s waits exactly as it says', async (_name, backoff, expected) => {
  expect(await waits(backoff, 5)).toEqual(expected)
})

test('by default the wait is a random part of 1 s, 2 s, 4 s, … of the seeded chance', async () => {
  for (const seed of [1, 2, 3]) {
    const random = seededRandom(seed)
    const expected = [1, 2, 4, 8, 16].map((delay) => Math.round(delay * s * random()))
    expect(await waits(undefined, 6, seed)).toEqual(expected)
    expect(await waits(exponential(), 6, seed)).toEqual(expected)
  }
})

test('the wait grows to an hour by default, and no further, however many attempts', async () => {
  const { clock, runtime } = world()
  const dues: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 100, backoff: exponential({ jitter: false }) },
    run: () => {
      dues.push(clock.now())
      throw new Error('no')
    },
  })
  const handle = await (await runtime({ jobs: [job], lease: '10d' })).enqueue(job)
  await clock.advance('5d')
  expect((await handle.record()).state).toBe('dead')
  const hours = dues.slice(13).map((at, i) => at - (dues[i + 12] as number))
  expect(new Set(hours)).toEqual(new Set([3_600_000]))
})

test('jitter can be asked for with any policy', async () => {
  const [first = 0, second = 0] = await waits(constant({ base: '10s', jitter: true }), 3)
  expect(first).not.toBe(second)
  expect(Math.max(first, second)).toBeLessThan(10_000)
})

test('an own function gets the attempt and the very error', async () => {
  const { clock, runtime } = world()
  const errors: Error[] = []
  const seen: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: (attempt, error) => (seen.push([attempt, error]), 10) },
    run: () => {
      const error = new Error('no')
      errors.push(error)
      throw error
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(seen).toEqual([
    [1, errors[0]],
    [2, errors[1]],
  ])
  expect((seen[0] as unknown[])[1]).toBe(errors[0])
})

const broken: [name: string, backoff: () => unknown][] = [
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  [
    'throws nothing',
    () => {
      throw undefined
    },
  ],
  ['gives nothing', () => undefined],
  ['gives a negative number', () => -1],
  ['gives NaN', () => Number.NaN],
  ['gives infinity', () => Infinity],
  ['gives a promise', () => Promise.resolve(5)],
]

test.each(broken)('a backoff function that %s is logged, and the default is used', async (_name, backoff) => {
  const { clock, runtime, expectLogged } = world()
  const starts: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: backoff as () => number },
    run: () => {
      starts.push(clock.now())
      throw new Error('no')
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect((starts[1] as number) - (starts[0] as number)).toBe(Math.round(1_000 * seededRandom(1)()))
  expect(expectLogged('error')).toEqual([expect.stringContaining('backoff function threw')])
})
