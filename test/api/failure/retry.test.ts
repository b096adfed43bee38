import { defineJob, fatal, type JobDefinition } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const backoff = (): '1s' => '1s'

function failing(
  times: number,
  retry: Parameters<typeof defineJob>[0]['retry'],
  thrown: () => unknown = () => new Error('no'),
) {
  let runs = 0
  const job: JobDefinition<undefined, number> = defineJob<undefined, number>({
    type: 'job',
    ...(retry && { retry }),
    run: async () => {
      runs++
      // oxlint-disable-next-line typescript/only-throw-error -- handlers throw anything
      if (runs <= times) throw thrown()
      return runs
    },
  })
  return { job, runs: () => runs }
}

test('a failure spends an attempt, waits out its backoff in retrying, and is tried again', async () => {
  const { clock, runtime } = world()
  const { job } = failing(1, { backoff })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  const at = clock.now()
  expect(await handle.record()).toMatchObject({
    state: 'retrying',
    attempt: 1,
    dueAt: at + 1_000,
    error: { message: 'no' },
  })
  await clock.advance('1s')
  const record = await handle.record()
  expect(record).toMatchObject({ state: 'done', attempt: 2, output: 2, error: null })
  expect(record.errors).toHaveLength(1)
  expect(record.history.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'FAIL', 'DUE', 'CLAIM', 'COMPLETE'])
})

test('three attempts are the default, then the job is dead', async () => {
  const { clock, runtime } = world()
  const { job, runs } = failing(Infinity, undefined)
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1h')
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 3, maxAttempts: 3 })
  expect(runs()).toBe(3)
})

test.each([1, 2, 7])('a job of %i attempts starts exactly so often', async (maxAttempts) => {
  const { clock, runtime } = world()
  const { job, runs } = failing(Infinity, { maxAttempts, backoff })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1h')
  expect([(await handle.record()).state, runs()]).toEqual(['dead', maxAttempts])
})

test('fatal makes the job dead at once, with the error that was given to it', async () => {
  const { clock, runtime } = world()
  const cause = Object.assign(new RangeError('no such customer'), { code: 'GONE' })
  const { job, runs } = failing(Infinity, { maxAttempts: 10 }, () => fatal(cause))
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1h')
  const expected = { name: 'RangeError', message: 'no such customer', code: 'GONE' }
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 1, error: expected })
  await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD', cause: expected })
  expect(runs()).toBe(1)
})

test.each([['text'], [undefined], [null], [{ status: 404 }]])('fatal takes anything: %j', async (given) => {
  const { clock, runtime } = world()
  const { job } = failing(Infinity, undefined, () => fatal(given))
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 1, error: { message: expect.any(String) } })
})

test('retryIf decides by the error itself whether another attempt is worth it', async () => {
  const { clock, runtime } = world()
  class NotFound extends Error {}
  const seen: unknown[] = []
  const job = defineJob<string, void>({
    type: 'job',
    retry: { backoff, retryIf: (error) => (seen.push(error), !(error instanceof NotFound)) },
    run: (what) => Promise.reject(what === 'gone' ? new NotFound() : new Error('busy')),
  })
  const [gone, busy] = await (await runtime({ jobs: [job] })).enqueueMany(job, ['gone', 'busy'])
  await clock.settle()
  expect([(await gone?.record())?.state, (await busy?.record())?.state]).toEqual(['dead', 'retrying'])
  expect(seen).toEqual([expect.any(NotFound), expect.any(Error)])
})

test('retryIf is not asked when no attempt is left', async () => {
  const { clock, runtime } = world()
  let asked = 0
  const { job } = failing(Infinity, { maxAttempts: 2, backoff, retryIf: () => (asked++, true) })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(asked).toBe(1)
})

test('a retryIf that gives a promise is logged, and the job is tried again', async () => {
  const { clock, expectLogged, runtime } = world()
  const answers = [() => Promise.resolve(false), () => Promise.reject(new Error('nobody hears of it'))]
  // As a caller without types may write it.
  const retryIf = (() => answers.shift()?.()) as unknown as () => boolean
  const { job, runs } = failing(2, { backoff, retryIf })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('2s')
  expect([await handle.result(), runs()]).toEqual([3, 3])
  const told = 'retryIf returned a promise instead of true or false; the job is retried'
  expect(expectLogged('error')).toEqual([told, told])
})

test('a retryIf that throws is logged, and the job is tried again', async () => {
  const { clock, runtime, expectLogged } = world()
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const answers = [
    () => {
      throw new Error('broken')
    },
    () => proxy, // cannot be read
  ]
  const retryIf = (() => answers.shift()?.()) as unknown as () => boolean
  const { job } = failing(2, { backoff, retryIf })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('2s')
  expect(await handle.result()).toBe(3)
  const told: unknown = expect.stringContaining('retryIf threw')
  expect(expectLogged('error')).toEqual([told, told])
})

test('a job that waits for its retry takes no slot', async () => {
  const { clock, runtime } = world()
  const { job } = failing(1, { backoff: () => '1h' })
  const other = defineJob<undefined, string>({ type: 'other', run: async () => 'ran' })
  const worker = await runtime({ jobs: [job, other], concurrency: 1 })
  await worker.enqueue(job)
  await clock.settle()
  expect(await worker.run(other)).toBe('ran')
})

test('the definition of the worker that claims a job decides how many attempts it may spend', async () => {
  const { clock, store, runtime } = world()
  const before = failing(Infinity, { maxAttempts: 5, backoff })
  const after = failing(Infinity, { maxAttempts: 1, backoff })
  const old = await runtime({ jobs: [before.job], concurrency: 0 })
  const { id } = await old.enqueue(before.job)
  await runtime({ jobs: [after.job] })
  await clock.advance('1m')
  expect((await store.get([id]))[0]).toMatchObject({ state: 'dead', attempt: 1, maxAttempts: 1 })
})

test('a deployment that allows more attempts reaches a job between two of them', async () => {
  const { clock, store, runtime } = world()
  const before = failing(Infinity, { maxAttempts: 2, backoff: () => '1h' })
  const after = failing(Infinity, { maxAttempts: 4, backoff: () => '1s' })
  const old = await runtime({ jobs: [before.job] })
  const { id } = await old.enqueue(before.job)
  await clock.advance('1m')
  await old.stop()
  await runtime({ jobs: [after.job] })
  await clock.advance('1h')
  expect((await store.get([id]))[0]).toMatchObject({ state: 'dead', attempt: 4, maxAttempts: 4 })
})
