import { createClient, defineJob, memoryStore, type Client } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { world, type World } from '../../support/leaks.ts'

const job = defineJob<string, string>({
  type: 'job',
  retry: { maxAttempts: 1 },
  run: async (name) => {
    if (name === 'fail') throw new Error('no')
    return `did ${name}`
  },
})

/** A client of its own on the store and the clock of the world. */
function clientOf({ store, clock, logger }: World): Client {
  const client = createClient({ store, jobs: [job], clock, logger })
  onTestFinished(() => client.close())
  return client
}

test('a client waits for a job that a runtime elsewhere runs', async () => {
  const made = world()
  const client = clientOf(made)
  const handle = await client.enqueue(job, 'x')
  const result = handle.result()
  const ran = client.run(job, 'y')
  const failed = client.run(job, 'fail').catch((error: unknown) => error)
  await made.clock.advance('1m')
  expect((await handle.record()).state).toBe('queued')
  await made.runtime({ jobs: [job] })
  await made.clock.advance(10)
  expect([await result, await ran]).toEqual(['did x', 'did y'])
  expect(await failed).toMatchObject({ code: 'DEAD', cause: { message: 'no' } })
})

test('also when the store sends no hints between processes', async () => {
  const inner = memoryStore()
  const deaf = { ...inner, capabilities: { durable: false, shared: true }, watch: () => () => {} }
  const made = world({ store: inner })
  const client = createClient({ store: deaf, jobs: [job], clock: made.clock })
  const result = (await client.enqueue(job, 'x')).result()
  await made.runtime({ jobs: [job] })
  await made.clock.advance('2s')
  expect(await result).toBe('did x')
  await client.close()
})

test('a client lists, counts, cancels, retries, discards, pauses and sees the workers', async () => {
  const made = world()
  const client = clientOf(made)
  const [fail, other] = await client.enqueueMany(job, ['fail', 'x'])
  expect(await client.counts()).toMatchObject({ queued: 2 })
  expect((await client.list({ type: 'job' })).map(({ input }) => input)).toEqual(['fail', 'x'])
  expect(await client.cancel(other?.id ?? '')).toMatchObject({ cancelled: [other?.id] })
  const worker = await made.runtime({ jobs: [job] })
  await made.clock.settle()
  expect(await client.workers()).toMatchObject([{ id: worker.id }])
  expect(await client.retry({ state: 'dead' })).toMatchObject({ retried: [fail?.id] })
  await made.clock.settle()
  expect(await client.discard({ state: 'dead' })).toMatchObject({ discarded: [fail?.id] })
  await client.queue('job').pause()
  const handle = await client.enqueue(job, 'waits')
  await made.clock.advance('1m')
  expect((await handle.record()).state).toBe('queued')
  await client.queue('job').resume()
  await made.clock.settle()
  expect(await handle.result()).toBe('did waits')
  expect(await client.queue('job').stats()).toMatchObject({
    paused: false,
    given: 0,
    share: 0,
    expectedShare: 1,
    weight: 1,
  })
})

test('a cancel by a client aborts the handler in the process that runs it', async () => {
  const made = world()
  const reasons: unknown[] = []
  const long = defineJob<string, string>({
    type: 'job',
    run: async (_name, { signal }) => {
      await made.clock
        .sleep('1h', signal)
        .catch((reason: { code: string; reason: string }) => reasons.push([reason.code, reason.reason]))
      return 'late'
    },
  })
  const client = clientOf(made)
  await made.runtime({ jobs: [long] })
  const handle = await client.enqueue(job, 'x')
  await made.clock.settle()
  await handle.cancel({ reason: 'closed' })
  await made.clock.settle()
  expect(reasons).toEqual([['CANCELLED', 'closed']])
  await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED', reason: 'closed' })
})

test('a client follows a job that is run elsewhere: each transition, at the latest at its end', async () => {
  const made = world()
  const client = clientOf(made)
  const handle = await client.enqueue(job, 'x')
  const states: string[] = []
  let completed = false
  handle.state$.subscribe({ next: (state) => states.push(state), complete: () => (completed = true) })
  await made.clock.settle()
  await made.runtime({ jobs: [job] })
  await made.clock.advance(10)
  expect([states, completed]).toEqual([['queued', 'running', 'done'], true])
})

test('a client with a capacity waits for the room that a runtime makes', async () => {
  const made = world()
  const client = createClient({ store: made.store, jobs: [job], clock: made.clock, capacity: 1 })
  await client.enqueue(job, 'a')
  const second = client.enqueue(job, 'b')
  const third = client.tryEnqueue(job, 'c')
  expect(await third).toBe(null)
  await made.runtime({ jobs: [job] })
  await made.clock.advance('1s')
  expect(await (await second).result()).toBe('did b')
  await client.close()
})

test('a client needs no start and leaves nothing behind when it is closed, also twice', async () => {
  const made = world()
  const { clock, store } = made
  {
    await using client = createClient({ store, jobs: [job], clock })
    await client.enqueue(job, 'x')
    expect(client.store).toBe(store)
  }
  expect(clock.pending).toBe(0)
  const client = createClient({ store, jobs: [job], clock })
  await client.close()
  await client.close()
})

test('closing a client ends its waits and streams with STOPPED or their end', async () => {
  const made = world()
  const client = createClient({ store: made.store, jobs: [job], clock: made.clock, capacity: 1 })
  const handle = await client.enqueue(job, 'x')
  const waits: Promise<unknown>[] = [handle.result(), client.enqueue(job, 'y'), handle.result({ timeout: '1h' })]
  const codes = waits.map((wait) =>
    wait.then(
      () => 'fine',
      (error: { code: string }) => error.code,
    ),
  )
  let completed = 0
  const complete = (): void => void completed++
  client.events$.subscribe({ complete })
  client.transitions$().subscribe({ complete })
  client.pressure$.subscribe({ complete })
  handle.state$.subscribe({ complete })
  handle.events$.subscribe({ complete })
  await made.clock.settle()
  await client.close()
  await made.clock.settle()
  expect(await Promise.all(codes)).toEqual(['STOPPED', 'STOPPED', 'STOPPED'])
  expect([completed, made.clock.pending]).toEqual([5, 0])
})
