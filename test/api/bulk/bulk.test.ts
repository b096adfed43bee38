import {
  createClient,
  defineJob,
  JobchartError,
  memoryStore,
  type BulkOperation,
  type Client,
  type ClosableClient,
  type Store,
} from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { putDeadJobs } from '../../support/dead-jobs.ts'
import { world, type World } from '../../support/leaks.ts'

const mail = defineJob<{ n: number }, null>({ type: 'mail', retry: { maxAttempts: 1 }, run: async () => null })
const retryAll = { kind: 'retry', filter: { type: 'mail', state: 'dead' } } as const

function clientOf({ store, clock, logger }: World, own: Store = store): ClosableClient {
  const client = createClient({ store: own, jobs: [mail], clock, logger })
  onTestFinished(() => client.close())
  return client
}

/** The store until `die` is called: then its calls are never answered, as those of a process that is killed. */
function mortal(store: Store): { readonly store: Store; readonly die: () => void } {
  let isDead = false
  const unlessDead = <T>(call: () => T): T | Promise<never> => (isDead ? new Promise(() => {}) : call())
  const bulk: Store['bulk'] = {
    ...store.bulk,
    start: (request) => unlessDead(() => store.bulk.start(request)),
    advance: (request) => unlessDead(() => store.bulk.advance(request)),
  }
  return {
    store: { ...store, bulk },
    die: () => {
      isDead = true
    },
  }
}

const operation = async (client: Client): Promise<BulkOperation | undefined> => (await client.bulk.list())[0]

test('a start answers after the first hundred jobs, and the process goes on in the background', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 250)
  const started = await client.bulk.start({ ...retryAll, expected: 250 })
  expect(started).toMatchObject({ state: 'running', counts: { retried: 100 }, expected: 250, filter: retryAll.filter })
  await made.clock.settle()
  expect(await operation(client)).toMatchObject({ id: started.id, state: 'done', counts: { retried: 250 } })
  expect(await client.counts()).toMatchObject({ queued: 250, dead: 0 })
})

test('a run resolves when the operation has ended, and tells of each batch', async () => {
  const made = world()
  const client = clientOf(made)
  const ids = await putDeadJobs(made.store, 250)
  const batches: (readonly string[])[] = []
  const progress: (number | undefined)[] = []
  const ended = await client.bulk.run(retryAll, {
    onBatch: ({ jobs }) => batches.push(jobs.retried ?? []),
    onProgress: ({ counts }) => progress.push(counts.retried),
  })
  expect(ended).toMatchObject({ state: 'done', counts: { retried: 250 }, endedAt: made.clock.now() })
  expect(batches.map((batch) => batch.length)).toEqual([100, 100, 50])
  expect(batches.flat()).toEqual(ids)
  expect(progress).toEqual([100, 200, 250])
})

test('each event of an operation is emitted in the process that has done the batch', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 120)
  const events: string[] = []
  const subscription = client.events$.subscribe(({ event }) => events.push(event))
  await client.bulk.run(retryAll)
  subscription.unsubscribe()
  expect(events).toEqual(Array(120).fill('RETRY'))
})

test('a runtime goes on with an operation whose process has died, and each job is retried once', async () => {
  const made = world()
  const { store, die } = mortal(made.store)
  const client = clientOf(made, store)
  await putDeadJobs(made.store, 450)
  await client.bulk.start(retryAll)
  die()
  await made.clock.settle()
  const reader = clientOf(made)
  expect(await operation(reader)).toMatchObject({ state: 'running', counts: { retried: 200 } })
  // It runs the jobs, too: what dies again is not retried again.
  const failing = defineJob({
    type: 'mail',
    retry: { maxAttempts: 1 },
    run: async () => Promise.reject(new Error('again')),
  })
  await made.runtime({ jobs: [failing], lease: '4s', concurrency: 500 })
  await made.clock.advance('5s')
  expect((await operation(reader))?.state, 'while the lease runs').toBe('running')
  await made.clock.advance('15s')
  expect(await operation(reader)).toMatchObject({ state: 'done', counts: { retried: 450 } })
  const jobs = await reader.list({ state: 'dead', fields: ['generation'], limit: 1_000 })
  expect(jobs.map(({ generation }) => generation)).toEqual(Array(450).fill(2))
})

test('an operation that was started detached is left to a runtime', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 250)
  const { id } = await client.bulk.start(retryAll, { detach: true })
  await made.clock.settle()
  expect(await operation(client)).toMatchObject({ id, state: 'running', counts: { retried: 100 } })
  await made.runtime({ jobs: [mail] })
  await made.clock.advance('1s')
  expect(await operation(client)).toMatchObject({ id, state: 'done', counts: { retried: 250 } })
})

test('a runtime of the same process does detached operations at once, one after the other', async () => {
  const made = world()
  const ids = await putDeadJobs(made.store, 450)
  const runtime = await made.runtime({ jobs: [mail] })
  await runtime.queue('mail').pause()
  const retried: string[] = []
  const subscription = runtime.events$.subscribe(({ event, id }) => event === 'RETRY' && retried.push(id))
  await runtime.bulk.start(retryAll, { detach: true })
  await runtime.bulk.start({ kind: 'discard', filter: retryAll.filter }, { detach: true })
  for (let tenth = 1; tenth < 10; tenth++) await made.clock.advance(100)
  subscription.unsubscribe()
  const operations = await runtime.bulk.list()
  expect(operations.map(({ state }) => state)).toEqual(['done', 'done'])
  const { dead, queued } = await runtime.counts()
  expect([dead, queued]).toEqual([0, retried.length])
  expect(retried, 'in the order of the batches').toEqual(ids.filter((id) => retried.includes(id)))
})

test('a resume goes on where nobody does, and waits for the one who does', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 250)
  const free = await client.bulk.start(retryAll, { detach: true })
  expect(await client.bulk.resume(free.id)).toMatchObject({ state: 'done', counts: { retried: 250 } })
  expect(await client.bulk.resume(free.id), 'one that has ended').toMatchObject({ state: 'done' })

  const { store, die } = mortal(made.store)
  const first = clientOf(made, store)
  await made.clock.advance(1)
  const held = await first.bulk.start({ kind: 'cancel', filter: { type: 'mail' }, reason: 'enough' })
  die()
  const resumed = client.bulk.resume(held.id)
  await made.clock.advance('5s')
  expect(await operation(client)).toMatchObject({ state: 'running', counts: { cancelled: 200 } })
  await made.clock.advance('6s')
  expect(await resumed).toMatchObject({ state: 'done', counts: { cancelled: 250 } })
  expect(await client.counts()).toMatchObject({ cancelled: 250 })
})

test('an operation that was stopped does not go on', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 350)
  const { id } = await client.bulk.start(retryAll)
  expect(await client.bulk.stop(id)).toMatchObject({ id, state: 'stopped' })
  await made.clock.settle()
  expect((await operation(client))?.state).toBe('stopped')
  expect((await client.counts()).dead).toBeGreaterThanOrEqual(150)
  await expect(client.bulk.stop('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(client.bulk.resume('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a cancel by an operation aborts the runs of a runtime', async () => {
  const made = world()
  const reasons: unknown[] = []
  const waiting = defineJob<{ n: number }, null>({
    type: 'mail',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as JobchartError).code)
          reject(signal.reason as Error)
        })
      }),
  })
  const worker = await made.runtime({ jobs: [waiting], concurrency: 2 })
  await worker.enqueueMany(waiting, [{ n: 1 }, { n: 2 }, { n: 3 }])
  await made.clock.settle()
  const done = await worker.bulk.run({ kind: 'cancel', filter: { type: 'mail' } })
  expect(done).toMatchObject({ state: 'done', counts: { cancelled: 1, cancelling: 2 } })
  await made.clock.advance(100)
  expect(reasons).toEqual(['CANCELLED', 'CANCELLED'])
  expect(await worker.counts()).toMatchObject({ cancelled: 3 })
})

test('an error of the store that would come again ends the operation as failed; a store that is unavailable does not', async () => {
  const made = world()
  await putDeadJobs(made.store, 250)
  let error: Error = new JobchartError('STORE_UNAVAILABLE', 'gone')
  const broken: Store = {
    ...made.store,
    bulk: { ...made.store.bulk, advance: () => Promise.reject(error) },
  }
  const client = clientOf(made, broken)
  await expect(client.bulk.run(retryAll)).rejects.toBe(error)
  expect(await operation(client)).toMatchObject({ state: 'running', error: null })
  error = new Error('a row that nobody can read')
  const { id } = await client.bulk.start({ ...retryAll, filter: { type: 'mail' } })
  await made.clock.settle()
  expect((await client.bulk.list()).find((each) => each.id === id)).toMatchObject({
    state: 'failed',
    error: { message: 'a row that nobody can read' },
  })
  expect(made.expectLogged('warn')).toEqual(['a bulk operation was interrupted'])
})

test('a signal ends the wait and not the operation; a client that closes ends both waits', async () => {
  const made = world()
  const { store, die } = mortal(made.store)
  await putDeadJobs(made.store, 250)
  const { id } = await clientOf(made, store).bulk.start(retryAll)
  die()
  const controller = new AbortController()
  const client = clientOf(made)
  const aborted = client.bulk.resume(id, { signal: controller.signal }).catch((error: unknown) => error)
  const closed = client.bulk.resume(id).catch((error: unknown) => error)
  await made.clock.advance('1s')
  controller.abort()
  expect(await aborted).toMatchObject({ code: 'ABORTED' })
  await client.close()
  expect(await closed).toMatchObject({ code: 'STOPPED' })
  expect((await made.store.bulk.list())[0]?.state).toBe('running')
})

test('a signal that has aborted before starts no operation', async () => {
  const made = world()
  await putDeadJobs(made.store, 250)
  const client = clientOf(made)
  const signal = AbortSignal.abort(new Error('too late'))
  await expect(client.bulk.run(retryAll, { signal })).rejects.toMatchObject({
    code: 'ABORTED',
    cause: { message: 'too late' },
  })
  expect(await client.bulk.list()).toEqual([])
  expect((await client.counts()).dead).toBe(250)
})

test('what is no bulk operation is refused', async () => {
  const made = world()
  const client = clientOf(made)
  const refused = async (request: unknown): Promise<unknown> =>
    client.bulk.start(request as Parameters<Client['bulk']['start']>[0]).catch((error: Error) => error.message)
  expect(await refused({ kind: 'drop', filter: { type: 'mail' } })).toMatch(/kind/)
  expect(await refused({ kind: 'retry', filter: {} })).toMatch(/filter/)
  expect(await refused({ kind: 'retry', filter: ['a'] })).toMatch(/filter/)
  expect(await refused({ kind: 'discard', filter: { type: 'mail' }, reason: 'x' })).toMatch(/reason/)
  expect(await refused({ kind: 'retry', filter: { type: 'mail' }, expected: -1 })).toMatch(/expected/)
  const types = Array.from({ length: 200 }, (_, i) => `${i}`.padStart(150, 'x'))
  expect(await refused({ kind: 'retry', filter: { type: types } })).toMatch(/16384 bytes/)
  expect(await client.bulk.list()).toEqual([])
})

test('more operations than the store runs are refused', async () => {
  const store = memoryStore()
  const made = world({ store })
  const client = clientOf(made)
  await putDeadJobs(store, 300)
  const { bulk } = store
  const full: Store = {
    ...store,
    bulk: { ...bulk, start: () => ({ outcome: 'full', operation: null, jobs: {}, transitions: [] }) },
  }
  await expect(clientOf(made, full).bulk.start(retryAll)).rejects.toMatchObject({ code: 'CAPACITY' })
  expect(await client.counts()).toMatchObject({ dead: 300 })
})
