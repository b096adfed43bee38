import { defineJob, memoryStore, type JobEvent } from 'jobchart'
import { expect, test } from 'vitest'
import type { Settlement } from '../../../src/core/settlement.ts'
import { stopInTime, world, type World } from '../../support/leaks.ts'

const job = defineJob<string, string>({ type: 'job', run: async (name) => `did ${name}` })
const limits = { concurrency: null, perKey: null, rate: null }

/** What a process does that dies right after: it claims, and is never heard of again. */
async function claimAndDie({ store }: World, max = 1, leaseMs = 30_000): Promise<void> {
  await store.claim({ worker: 'dead', leaseMs, token: `t${Math.random()}`, demand: [{ type: 'job', max, limits }] })
}

test('the jobs of a worker that died run again when their leases have run out, in another runtime', async () => {
  const made = world()
  const { clock, idle, runtime } = made
  const client = idle({ jobs: [job] })
  const handles = await client.enqueueMany(job, ['a', 'b', 'c'])
  await claimAndDie(made, 2)
  const events: JobEvent[] = []
  const rescuer = await runtime({ jobs: [job] })
  rescuer.events$.subscribe((event) => events.push(event))
  await clock.advance(29_999)
  expect(await rescuer.counts()).toMatchObject({ running: 2, done: 1 })
  await clock.advance('16s')
  expect(await rescuer.counts()).toMatchObject({ running: 0, done: 3 })
  const record = await handles[0]?.record()
  expect(record).toMatchObject({
    attempt: 2,
    worker: rescuer.id,
    errors: [{ attempt: 1, worker: 'dead', error: { code: 'LEASE_LOST' } }],
  })
  expect(record?.history.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'EXPIRE', 'CLAIM', 'COMPLETE'])
  expect(events.filter(({ event }) => event === 'EXPIRE').map(({ to }) => to)).toEqual(['queued', 'queued'])
})

test('a job starts again within its lease and five seconds', async () => {
  const made = world()
  const { clock, runtime } = made
  const worker = await runtime({ jobs: [job], lease: '10s', concurrency: 0 })
  for (let n = 0; n < 10; n++) {
    await worker.enqueue(job, String(n))
    await claimAndDie(made, 1, 10_000)
    await clock.advance(1_700)
  }
  worker.concurrency = 10
  const { history } = (await worker.list({}))[0] ?? { history: [] }
  const claimedAt = history.find(({ event }) => event === 'CLAIM')?.at ?? 0
  await clock.advance('1m')
  for (const { history: entries } of await worker.list({ state: 'done' })) {
    const [first = 0, second = 0] = entries.filter(({ event }) => event === 'CLAIM').map(({ at }) => at)
    expect(second - first).toBeLessThanOrEqual(15_000)
  }
  expect(claimedAt).toBeGreaterThan(0)
  expect(await worker.counts()).toMatchObject({ done: 10 })
})

test('a runtime takes back at its start what others have left, for it may not live to its first sweep', async () => {
  const made = world()
  const { clock, idle, runtime } = made
  const handle = await idle({ jobs: [job] }).enqueue(job, 'a')
  await claimAndDie(made)
  await clock.advance('31s')
  await runtime({ jobs: [job] })
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'done', attempt: 2 })
})

test('a poison job that kills its process dies at exactly its last attempt', async () => {
  const made = world()
  const { clock, runtime } = made
  const poison = defineJob<string, string>({ type: 'job', retry: { maxAttempts: 3 }, run: async () => 'never' })
  const worker = await runtime({ jobs: [poison], concurrency: 0 })
  const handle = await worker.enqueue(poison, 'x')
  for (let deaths = 1; deaths <= 3; deaths++) {
    expect((await handle.record()).state).toBe('queued')
    await claimAndDie(made)
    expect((await handle.record()).attempt).toBe(deaths)
    await clock.advance('50s')
  }
  expect(await handle.record()).toMatchObject({
    state: 'dead',
    attempt: 3,
    errors: [{}, {}, {}],
    error: { code: 'LEASE_LOST' },
  })
  await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD', cause: { code: 'LEASE_LOST' } })
})

test('with one attempt a job that was claimed once is not run a second time', async () => {
  const made = world()
  const { clock, runtime } = made
  let runs = 0
  const once = defineJob<string, void>({ type: 'job', retry: { maxAttempts: 1 }, run: async () => void runs++ })
  const worker = await runtime({ jobs: [once], concurrency: 0 })
  const handle = await worker.enqueue(once, 'x')
  await claimAndDie(made)
  worker.concurrency = 5
  await clock.advance('2m')
  expect([(await handle.record()).state, runs]).toEqual(['dead', 0])
})

test('a cancelled job whose worker died ends cancelled', async () => {
  const made = world()
  const { clock, runtime } = made
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const handle = await worker.enqueue(job, 'x')
  await claimAndDie(made)
  expect(await handle.cancel()).toMatchObject({ cancelling: [handle.id] })
  await clock.advance('1m')
  expect((await handle.record()).state).toBe('cancelled')
})

test('a job that runs for many leases is run once: its heartbeats extend them', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const long = defineJob<undefined, void>({
    type: 'long',
    run: async (_input, { signal }) => {
      runs++
      await clock.sleep('1h', signal)
    },
  })
  const worker = await runtime({ jobs: [long], lease: '5s' })
  await runtime({ jobs: [long], lease: '5s' })
  const handle = await worker.enqueue(long)
  await clock.advance('61m')
  expect([(await handle.record()).state, runs]).toEqual(['done', 1])
})

test('runs that end, in whatever order, leave the heartbeats of the others alone', async () => {
  const { clock, runtime } = world()
  const sleep = defineJob<number, void>({
    type: 'sleep',
    run: (seconds, { signal }) => clock.sleep(seconds * 1_000, signal),
  })
  const worker = await runtime({ jobs: [sleep] })
  await worker.enqueueMany(sleep, [100, 5, 300, 200, 20, 250, 40])
  await clock.advance('10m')
  expect((await worker.list({ state: 'done' })).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 1])
})

test('more runs than one heartbeat holds are all kept alive', async () => {
  const { clock, runtime } = world()
  const long = defineJob<undefined, void>({ type: 'long', run: (_input, { signal }) => clock.sleep('2m', signal) })
  const worker = await runtime({ jobs: [long], concurrency: 2_500 })
  await worker.enqueueMany(long, Array(2_500).fill(undefined))
  await clock.advance('3m')
  const counts = await worker.counts()
  expect(counts.done).toBe(2_500)
  expect((await worker.list({ limit: 1_000 })).every(({ attempt }) => attempt === 1)).toBe(true)
})

test('a worker is known while it lives, with what it runs, and shows signs of life', async () => {
  const { clock, runtime } = world()
  const long = defineJob<undefined, void>({ type: 'long', run: (_input, { signal }) => clock.sleep('2m', signal) })
  const worker = await runtime({ jobs: [long], concurrency: 7, name: 'the one' })
  const startedAt = clock.now()
  const handle = await worker.enqueue(long)
  await clock.advance('35s')
  const [seen, ...others] = await worker.workers()
  expect(others).toEqual([])
  expect(seen).toMatchObject({
    id: worker.id,
    name: 'the one',
    pid: process.pid,
    slots: 7,
    types: ['long'],
    startedAt,
    seenAt: startedAt + 30_000,
    running: [{ id: handle.id, type: 'long', attempt: 1, since: startedAt }],
  })
  await stopInTime(worker, clock)
  expect(await worker.store.workers()).toEqual([])
})

test('the list of workers says how many slots each has now', async () => {
  const { clock, runtime } = world()
  const long = defineJob<undefined, void>({ type: 'long', run: async () => {} })
  const worker = await runtime({ jobs: [long], concurrency: 7 })
  worker.concurrency = 3
  await clock.advance('10s')
  expect((await worker.workers()).map(({ slots, lost }) => [slots, lost])).toEqual([[3, false]])
})

test('a worker that was taken for lost and forgotten is listed again when it goes on', async () => {
  const { clock, store, runtime } = world()
  const long = defineJob<undefined, void>({ type: 'long', run: async () => {} })
  const worker = await runtime({ jobs: [long] })
  const ids = async () => (await worker.workers()).map(({ id }) => id)
  // As a process that was stopped finds it: others have forgotten it.
  await store.worker(worker.id, null)
  clock.block(900_000)
  expect(await ids()).toEqual([])
  await clock.advance('1m')
  expect(await ids()).toEqual([worker.id])
})

test('a job that expires while it runs here is refused its result, and runs again', async () => {
  const inner = memoryStore()
  let cutOff = false
  const store = {
    ...inner,
    extend: (...args: Parameters<typeof inner.extend>) =>
      cutOff ? Promise.resolve(args[0].heartbeats.map(() => ({ outcome: 'lost' as const }))) : inner.extend(...args),
    settle: (settlements: readonly Settlement[]) =>
      inner.settle(cutOff ? settlements.map((each) => ({ ...each, token: 'of another' })) : settlements),
  }
  const { clock, runtime } = world({ store })
  const reasons: unknown[] = []
  const long = defineJob<undefined, string>({
    type: 'long',
    run: async (_input, { signal, attempt }) => {
      if (attempt === 2) return 'second'
      await clock.sleep('2m', signal).catch((reason: { code: string }) => reasons.push(reason.code))
      return 'first'
    },
  })
  const worker = await runtime({ jobs: [long] })
  const handle = await worker.enqueue(long)
  await clock.advance('5s')
  cutOff = true
  await clock.advance('10s')
  expect(reasons).toEqual(['LEASE_LOST'])
  cutOff = false
  await clock.advance('1m')
  expect(await handle.result()).toBe('second')
})
