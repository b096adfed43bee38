/**
 * What an enqueue fixes for its job: attempts, backoff and the time of an attempt, whatever the worker's definition
 * says.
 */
import { constant, createRuntime, defineJob, exponential, type EnqueueOptions, type RetryOptions } from 'jobchart'
import { expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

/** A job that always fails, and the seconds at which it began. */
function setUp(retry: RetryOptions = { maxAttempts: 2, backoff: constant('1s') }, made = world()) {
  const starts: number[] = []
  const begin = made.clock.now()
  const job = defineJob<number, void>({
    type: 'job',
    retry,
    attemptTimeout: '20s',
    run: async (seconds, { signal, deadline }) => {
      starts.push((made.clock.now() - begin) / 1_000)
      if (seconds > 0) await made.clock.sleep(seconds * 1_000, signal)
      throw new Error(`deadline after ${((deadline ?? 0) - begin) / 1_000} s`)
    },
  })
  return { ...made, job, starts }
}

test('attempts and backoff of one enqueue hold for its job alone', async () => {
  const { clock, runtime, job, starts } = setUp()
  const worker = await runtime({ jobs: [job], lease: '1d' })
  const own = await worker.enqueue(job, 0, { maxAttempts: 3, backoff: constant('10s') })
  await clock.advance('1m')
  expect(starts.splice(0)).toEqual([0, 10, 20])
  expect(await own.record()).toMatchObject({ state: 'dead', attempt: 3, maxAttempts: 3 })
  await worker.enqueue(job, 0)
  await clock.advance('1m')
  expect(starts).toEqual([60, 61])
})

test('the time of an attempt may be fixed, the rest is left to the worker', async () => {
  const { clock, runtime, job, starts } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 60, { attemptTimeout: '5s' })
  await clock.advance('30s')
  expect(starts).toEqual([0, 6])
  const { error, attempt } = await handle.record()
  expect([attempt, error?.message]).toEqual([2, expect.stringContaining('took longer than 5000 ms')])
})

test('it is kept in a file, and by a process that has another definition', async () => {
  const made = world({ store: fileStore() })
  await made.store.open({ clock: made.clock })
  const { clock, runtime, idle, job } = setUp({ maxAttempts: 1 }, made)
  const client = idle({ jobs: [job] })
  const options = { maxAttempts: 2, backoff: exponential({ base: '4s', jitter: false }), attemptTimeout: '3s' } as const
  const handle = await client.enqueue(job, 60, options)
  const other = setUp({ maxAttempts: 9, backoff: constant('1h') }, made)
  await runtime({ jobs: [other.job] })
  await clock.advance('1m')
  // A file takes a moment to answer.
  expect(other.starts).toEqual([expect.closeTo(0, 1), expect.closeTo(7, 1)])
  expect((await handle.record()).state).toBe('dead')
})

test('an own backoff function sees the attempt, the error and the job', async () => {
  const seen: unknown[] = []
  const { clock, runtime, job } = setUp({
    maxAttempts: 2,
    backoff: (attempt, error, { input, meta }) => {
      seen.push([attempt, (error as Error).message, input, meta])
      return '1s'
    },
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 0, { meta: { tenant: 'x' } })
  await clock.advance('10s')
  expect(seen).toEqual([[1, 'deadline after 20 s', 0, { tenant: 'x' }]])
})

const wrong: [name: string, options: object, message: string][] = [
  ['a function as backoff', { backoff: () => 5 }, 'backoff: expected a policy, got a function backoff'],
  ['no policy', { backoff: { kind: 'sometimes', baseMs: 1, maxMs: 1, jitter: false } }, 'backoff: expected constant()'],
  ['no attempt', { maxAttempts: 0 }, 'maxAttempts: expected a whole number'],
  ['no duration', { attemptTimeout: 'soon' }, 'attemptTimeout'],
]

test.each(wrong)('%s is refused', async (_name, options, message) => {
  const { job } = setUp()
  const refused = createRuntime({ jobs: [job] }).enqueue(job, 0, options as EnqueueOptions)
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(message) })
})
