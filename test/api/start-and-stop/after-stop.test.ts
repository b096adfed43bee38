/** A runtime that has stopped does nothing more and says so: no call hangs, none works on a closed store in secret. */
import {
  createClient,
  createRuntime,
  defineJob,
  memoryStore,
  type ClosableClient,
  type JobHandle,
  type Runtime,
  type Store,
} from 'jobchart'
import { expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

async function stopped(store?: Store) {
  const made = world(store && { store })
  // The store stays open beyond the runtime.
  await made.store.open({ clock: made.clock })
  const runtime = await made.runtime({ jobs: [job] })
  const done = await runtime.enqueue(job, 'done')
  await made.clock.settle()
  const waiting = await runtime.enqueue(job, 'waiting', { delay: '1h' })
  await runtime.stop()
  return { ...made, worker: runtime, done, waiting }
}

type Call = (runtime: Runtime, waiting: JobHandle<string>) => Promise<unknown>
const refused: Record<string, Call> = {
  enqueue: (runtime) => runtime.enqueue(job, 'x'),
  tryEnqueue: (runtime) => runtime.tryEnqueue(job, 'x'),
  enqueueMany: (runtime) => runtime.enqueueMany(job, ['x', 'y']),
  run: (runtime) => runtime.run(job, 'x'),
  'result of a job that has not ended': (_runtime, waiting) => waiting.result(),
}
test.each(Object.entries(refused))('%s is refused with STOPPED', async (_name, call) => {
  const { clock, worker, waiting } = await stopped()
  const before = await worker.store.counts()
  await expect(call(worker, waiting)).rejects.toMatchObject({ code: 'STOPPED', hint: expect.any(String) })
  await clock.advance('2h')
  expect(await worker.store.counts()).toEqual(before)
})

test('it does not start again', async () => {
  const { worker } = await stopped()
  await expect(worker.start()).rejects.toMatchObject({ code: 'STOPPED', hint: expect.any(String) })
  expect(worker.state).toBe('stopped')
})

test('pause and resume are not accepted', async () => {
  const { worker } = await stopped()
  await expect(worker.pause()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await expect(worker.resume()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
})

test('the result of a job that had ended is still told, to all who ask', async () => {
  const { done } = await stopped()
  expect(await Promise.all([done.result(), done.result(), done.result({ timeout: '1m' })])).toEqual([
    'done',
    'done',
    'done',
  ])
})

test('streams that are asked for end at once, or after what they have to tell', async () => {
  const { clock, worker, done, waiting } = await stopped()
  const ends: string[] = []
  const end = (name: string) => ({ complete: () => void ends.push(name), error: () => void ends.push(name) })
  worker.events$.subscribe(end('events$'))
  worker.state$.subscribe(end('state$'))
  done.state$.subscribe(end('done state$'))
  done.events$.subscribe(end('done events$'))
  waiting.state$.subscribe(end('waiting state$'))
  waiting.events$.subscribe(end('waiting events$'))
  worker.transitions$().subscribe(end('transitions$'))
  worker.pressure$.subscribe(end('pressure$'))
  await clock.advance('1m')
  const ofJobs = ['done events$', 'done state$', 'waiting events$', 'waiting state$']
  expect(new Set(ends)).toEqual(new Set(['events$', 'state$', 'transitions$', 'pressure$', ...ofJobs]))
})

test('a drain after the stop does not wait', async () => {
  const { worker } = await stopped()
  expect(await worker.drain()).toBe(false)
  expect(await worker.drain({ timeout: '1h' })).toBe(false)
})

test('no timer is set by what is asked for after the stop', async () => {
  const { clock, worker, waiting } = await stopped()
  worker.transitions$().subscribe({ error: () => {} })
  worker.pressure$.subscribe({ error: () => {} })
  void waiting.result({ timeout: '1h' }).catch(() => {})
  void worker.drain({ timeout: '1h' }).catch(() => {})
  await clock.settle()
  expect(clock.pending).toBe(0)
})

test('slots may still be set, and nothing comes of it', async () => {
  const { clock, worker, store } = await stopped()
  worker.concurrency = 50
  await clock.advance('2h')
  expect(await store.counts()).toMatchObject({ scheduled: 1, running: 0 })
})

test('stopping again gives the same report', async () => {
  const { worker } = await stopped()
  const reports = await Promise.all([
    worker.stop(),
    worker.stop({ mode: 'abort' }),
    worker[Symbol.asyncDispose]().then(() => worker.stop()),
  ])
  expect(reports[0]).toEqual({ completed: true, running: 0, dropped: 1 })
  expect(reports[1]).toEqual(reports[0])
  expect(worker.state).toBe('stopped')
})

test('a runtime that is stopped before its start never starts', async () => {
  const { store, idle } = world()
  const runtime = idle({ jobs: [job] })
  await runtime.enqueue(job, 'x')
  await runtime.stop()
  await expect(runtime.start()).rejects.toMatchObject({ code: 'STOPPED' })
  expect(runtime.state).toBe('stopped')
  expect((await store.counts()).queued).toBe(1)
})

test('a stop before anything was done is quick and quiet', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job] })
  expect(await runtime.stop()).toEqual({ completed: true, running: 0, dropped: 0 })
  expect(clock.pending).toBe(0)
})

test('a client that was closed refuses jobs, too', async () => {
  const { store, clock } = world()
  const client: ClosableClient = createClient({ store, clock, jobs: [job] })
  await client.enqueue(job, 'x', { id: 'a' })
  await client.close()
  await expect(client.enqueue(job, 'y')).rejects.toMatchObject({ code: 'STOPPED' })
  await expect(client.tryEnqueue(job, 'y')).rejects.toMatchObject({ code: 'STOPPED' })
  await expect(client.run(job, 'y')).rejects.toMatchObject({ code: 'STOPPED' })
  expect((await store.counts()).queued).toBe(1)
})

test('await using stops a runtime at the end of its block', async () => {
  const { clock, store, logger } = world()
  let ran = ''
  {
    await using runtime = createRuntime({ jobs: [job], store, clock, logger })
    await runtime.start()
    ran = await runtime.run(job, 'within')
  }
  expect([ran, clock.pending]).toEqual(['within', 0])
})

const reads: Record<string, Call> = {
  job: (runtime, { id }) => runtime.job(id),
  list: (runtime) => runtime.list(),
  counts: (runtime) => runtime.counts(),
  queues: (runtime) => runtime.queues(),
  'stats of a queue': (runtime) => runtime.queue('job').stats(),
  activity: (runtime) => runtime.activity(),
  failures: (runtime) => runtime.failures(),
  schedules: (runtime) => runtime.schedules(),
  record: (_runtime, waiting) => waiting.record(),
  'bulk operations': (runtime) => runtime.bulk.list(),
  cancel: (runtime, { id }) => runtime.cancel(id),
  retry: (runtime, { id }) => runtime.retry(id),
  discard: (runtime, { id }) => runtime.discard(id),
}
test.each(Object.entries(reads))('%s is refused with STOPPED on each store', async (_name, call) => {
  for (const store of [undefined, fileStore()]) {
    const { worker, waiting } = await stopped(store)
    await expect(call(worker, waiting)).rejects.toMatchObject({ code: 'STOPPED', hint: expect.any(String) })
  }
})

test('reads of a client that was closed are refused with STOPPED', async () => {
  const { store, clock } = world()
  const client: ClosableClient = createClient({ store, clock, jobs: [job] })
  await client.counts()
  await client.close()
  await expect(client.counts()).rejects.toMatchObject({ code: 'STOPPED', message: 'the client was closed' })
  await expect(client.list()).rejects.toMatchObject({ code: 'STOPPED' })
  await expect(client.workers()).rejects.toMatchObject({ code: 'STOPPED' })
})

test('it tells its state and that it has no slots', async () => {
  for (const store of [undefined, fileStore()]) {
    const { worker } = await stopped(store)
    expect(await worker.stats()).toMatchObject({ state: 'stopped', concurrency: 0, taken: 0, running: 0, queues: [] })
    const itself = { id: worker.id, slots: 0, paused: true, lost: false, running: [] }
    expect(await worker.workers()).toMatchObject([itself])
  }
})

test('calls of a client that is closed while its store opens are refused as STOPPED, whatever the store says', async () => {
  const cutOff: Store['open'] = async ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new TypeError('connection terminated'))))
  const client = createClient({ store: { ...memoryStore(), open: cutOff } })
  const calls = [client.enqueueByName('job', 1), client.counts(), client.queue('job').pause()]
  const answers = Promise.allSettled(calls)
  await client.close()
  for (const answer of await answers) expect(answer).toMatchObject({ reason: { code: 'STOPPED' } })
})
