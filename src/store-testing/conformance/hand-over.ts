/** Hand-over: jobs of a queue with the capacity 0 are stored only if a worker has a free slot for them. */
import assert from 'node:assert/strict'
import { cancel, idsOf, lease, newJob, noLimits, put, stateOf, take, takeOne, workerInfo } from './acts.ts'
import type { NewJob, Store, WorkerInfo } from '../../store.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

const register = (store: Store, id: string, slots: number, fields?: Partial<WorkerInfo>): Promise<void> =>
  store.worker(id, workerInfo(id, { slots, types: ['mail', 'sms'], ...fields }))

/** Hands over jobs of type mail, each in a request of its own. @returns whether each was stored */
async function handOver(store: Store, ...jobs: readonly NewJob[]): Promise<boolean[]> {
  const answers = await store.insert(jobs.map((job) => request(job)))
  return answers.map((answer) => answer.every(({ outcome }) => outcome !== 'full'))
}

const request = (...jobs: readonly NewJob[]) => ({ jobs, capacity: null, queue: { type: 'mail', capacity: 0 } })

const end = async (store: Store, worker: string): Promise<void> => {
  const job = await takeOne(store, { worker })
  await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
}

export const handOverCases: Cases = {
  'a job is refused unless a registered worker of its type has a free slot': async ({ store }) => {
    assert.deepEqual(await handOver(store, newJob('a')), [false])
    await register(store, 'w1', 5, { types: ['sms'] })
    assert.deepEqual(await handOver(store, newJob('a')), [false])
    await register(store, 'w2', 0)
    assert.deepEqual(await handOver(store, newJob('a')), [false])
    await register(store, 'w2', 1)
    assert.deepEqual(await handOver(store, newJob('a')), [true])
    const [full] = await store.insert([request(newJob('b'))])
    assert.deepEqual(
      full?.map(({ outcome, full: of, id }) => [outcome, of, id]),
      [['full', 'queue', 'b']],
    )
    assert.deepEqual(await store.get(['b']), [null])
  },
  'each request of a call takes its slots from those after it, and one of several jobs is stored as a whole': async ({
    store,
  }) => {
    await register(store, 'w1', 2)
    await register(store, 'w2', 1)
    const answers = await store.insert([
      request(newJob('a')),
      request(newJob('b'), newJob('c'), newJob('d')),
      request(newJob('e'), newJob('f')),
      request(newJob('g')),
    ])
    assert.deepEqual(
      answers.map(([answer]) => answer?.outcome),
      ['inserted', 'full', 'inserted', 'full'],
    )
  },
  'a leased job occupies the slot of its worker until its end': async ({ store }) => {
    await register(store, 'w1', 1)
    await register(store, 'w2', 1)
    assert.deepEqual(await handOver(store, newJob('a'), newJob('b'), newJob('c')), [true, true, false])
    const [job] = await take(store, { worker: 'w1', max: 1 })
    assert.ok(job)
    assert.deepEqual(await handOver(store, newJob('c')), [false])
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(await handOver(store, newJob('c'), newJob('d')), [true, false])
  },
  'the slots of a lost worker are not free, and those of its leases become free by their rescue': async ({
    store,
    advance,
  }) => {
    await register(store, 'w1', 1, { leaseMs: 5_000 })
    await register(store, 'w2', 1, { leaseMs: 600_000 })
    assert.deepEqual(await handOver(store, newJob('a')), [true])
    await takeOne(store, { worker: 'w2' })
    await advance(5_000)
    assert.deepEqual(await handOver(store, newJob('b')), [false])
    await store.extend({ worker: 'w1', leaseMs: 5_000, heartbeats: [] })
    assert.deepEqual(await handOver(store, newJob('b')), [true])
    await advance(30_000)
    await store.rescue(10)
    await cancel(store, ['a', 'b'])
    assert.deepEqual(await handOver(store, newJob('c'), newJob('d')), [true, false])
  },
  'there is no free slot in a paused worker or for a paused queue': async ({ store }) => {
    await register(store, 'w1', 1, { paused: true })
    assert.deepEqual(await handOver(store, newJob('a')), [false])
    await register(store, 'w1', 1)
    await store.queue('mail', { paused: true })
    assert.deepEqual(await handOver(store, newJob('a')), [false])
    await store.queue('mail', { paused: false })
    assert.deepEqual(await handOver(store, newJob('a')), [true])
  },
  'the concurrency limit of its type is kept': async ({ store }) => {
    await register(store, 'w1', 5, { limits: { mail: { ...noLimits, concurrency: 2 } } })
    assert.deepEqual(await handOver(store, newJob('a')), [true])
    await takeOne(store, { worker: 'w1' })
    assert.deepEqual(await handOver(store, newJob('b'), newJob('c')), [true, false])
  },
  'queued jobs of other types of the workers have the first claim on free slots': async ({ store }) => {
    await register(store, 'w1', 2)
    await put(store, newJob('a', { type: 'sms' }), newJob('x', { type: 'elsewhere' }))
    assert.deepEqual(await handOver(store, newJob('b'), newJob('c')), [true, false])
    await store.queue('sms', { paused: true })
    assert.deepEqual(await handOver(store, newJob('c'), newJob('d')), [true, false])
  },
  'queued jobs that a limit of their type keeps from starting leave slots to others': async ({ store }) => {
    const limits = { sms: { ...noLimits, concurrency: 1 }, call: { ...noLimits, perKey: 1 } }
    await register(store, 'w1', 3, { types: ['mail', 'sms', 'call'], limits })
    await put(store, ...['a', 'b', 'c'].map((id) => newJob(id, { type: 'sms' })))
    await put(store, ...['d', 'e', 'f'].map((id) => newJob(id, { type: 'call', concurrencyKey: 'k' })))
    assert.deepEqual(await handOver(store, newJob('g'), newJob('h'), newJob('i')), [true, true, false])
  },
  'jobs that were queued in another way count, and those that are scheduled do not': async ({ store }) => {
    await register(store, 'w1', 2)
    await put(store, newJob('a'), newJob('b', { delayMs: 60_000 }))
    assert.deepEqual(await handOver(store, newJob('c'), newJob('d')), [true, false])
  },
  'a duplicate needs no slot, and a job that supersedes a queued one takes its slot': async ({ store }) => {
    await register(store, 'w1', 1)
    assert.deepEqual(await handOver(store, newJob('a', { key: 'k' })), [true])
    const [[duplicate] = []] = await store.insert([request(newJob('b', { key: 'k' }))])
    assert.deepEqual([duplicate?.outcome, duplicate?.id], ['duplicate', 'a'])
    const supersede = { key: 'k', onConflict: 'supersede' } as const
    assert.deepEqual(await handOver(store, newJob('c', supersede), newJob('d', { key: 'other' })), [true, false])
    assert.equal(await stateOf(store, 'a'), 'cancelled')
    assert.deepEqual(idsOf(await take(store)), ['c'])
    assert.deepEqual(await handOver(store, newJob('e', supersede)), [false])
  },
  'inserts at the same time never take the same slot': async ({ store }) => {
    await register(store, 'w1', 7)
    const stored = await Promise.all(Array.from({ length: 20 }, (_, i) => handOver(store, newJob(`job ${i}`))))
    assert.equal(stored.flat().filter(Boolean).length, 7)
  },
  'a slot that becomes free after a refused hand-over sends a room hint': async ({ store }) => {
    const refused = async (): Promise<void> => assert.deepEqual(await handOver(store, newJob('z')), [false])
    await refused()
    await hinted(store, 'room', '"mail"', () => register(store, 'w1', 1))
    await put(store, newJob('a'))
    await refused()
    await hinted(store, 'room', '"mail"', () => end(store, 'w1'))
    await register(store, 'w1', 1, { paused: true })
    await refused()
    await hinted(store, 'room', '"mail"', () => register(store, 'w1', 1))
    await store.queue('mail', { paused: true })
    await refused()
    await hinted(store, 'room', '"mail"', () => store.queue('mail', { paused: false }))
    await put(store, newJob('b', { type: 'sms' }))
    await refused()
    await hinted(store, 'room', '"mail"', () => cancel(store, ['b']))
  },
}
