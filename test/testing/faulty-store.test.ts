import { memoryStore, type JobchartError } from 'jobchart'
import { faultyStore, VirtualClock, type FaultPlan, type FaultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { newJob } from '../store-testing/new-job.ts'

async function faulty(faults: FaultPlan, seed = 1): Promise<{ store: FaultyStore; clock: VirtualClock }> {
  const clock = new VirtualClock()
  const store = faultyStore(memoryStore(), { seed, faults })
  await store.open({ clock })
  return { store, clock }
}

const insert = (store: FaultyStore, id: string) => store.insert([{ jobs: [newJob(id)], capacity: null }])
const unavailable = { code: 'STORE_UNAVAILABLE', hint: expect.any(String) }

test('a fault before the call rejects with STORE_UNAVAILABLE, and nothing is written', async () => {
  const { store } = await faulty({ insert: { before: 1 } })
  await expect(insert(store, 'a')).rejects.toMatchObject(unavailable)
  expect(await store.get(['a'])).toEqual([null])
  expect(store.done.get('insert')).toEqual({ calls: 1, before: 1, lostReply: 0, late: 0 })
})

test('a lost reply rejects with STORE_UNAVAILABLE, and everything is written', async () => {
  const { store } = await faulty({ insert: { lostReply: 1 } })
  await expect(insert(store, 'a')).rejects.toMatchObject(unavailable)
  expect(await store.get(['a'])).toMatchObject([{ id: 'a', state: 'queued' }])
  expect(store.done.get('insert')).toEqual({ calls: 1, before: 0, lostReply: 1, late: 0 })
})

test('what machines write fails like everything else: nothing is written, or all of it', async () => {
  const { store } = await faulty({ send: { before: 1 }, checkpoint: { lostReply: 1 } })
  await insert(store, 'a')
  const demand = [{ type: 'job', max: 1, limits: { concurrency: null, perKey: null, rate: null } }]
  await store.claim({ worker: 'w', token: 't', leaseMs: 1_000, demand })
  const message = { kind: 'event', event: { type: 'GO' } } as const
  await expect(store.send([{ id: 'a', message, key: 'k', expect: null }])).rejects.toMatchObject(unavailable)
  const checkpoint = { number: 1, state: 1, read: 0, note: '', takesCancel: false }
  const write = async () => store.checkpoint([{ id: 'a', attempt: 1, token: 't', checkpoint }])
  await expect(write()).rejects.toMatchObject(unavailable)
  expect(await store.get(['a'])).toMatchObject([{ lastMessageNumber: 0, checkpoint: { number: 1 } }])
  expect(await store.checkpoints('a')).toHaveLength(1)
})

test('a late call answers when its time has come, by the clock', async () => {
  const { store, clock } = await faulty({ insert: { late: 1, lateBy: '10s' } })
  let answered = false
  const call = Promise.resolve(insert(store, 'a')).then(() => (answered = true))
  await clock.settle()
  expect(answered).toBe(false)
  await clock.advance('10s')
  await call
  expect(store.done.get('insert')).toMatchObject({ calls: 1, late: 1 })
  expect(clock.pending).toBe(0)
})

test('what is not late takes effect in the very call', async () => {
  const inner = memoryStore()
  const store = faultyStore(inner, { seed: 1, faults: { every: { lostReply: 0.5 } }, clock: new VirtualClock() })
  void Promise.resolve(insert(store, 'a')).catch(() => {})
  expect(await inner.get(['a'])).toMatchObject([{ id: 'a' }])
})

test('calls take effect in the order in which they are made, however late they are', async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { store, clock } = await faulty({ insert: { late: 0.5, lateBy: '5s', before: 0.2, lostReply: 0.2 } }, seed)
    const calls = Array.from({ length: 20 }, (_, n) => Promise.resolve(insert(store, String(n))).catch(() => null))
    await clock.advance('5m')
    await Promise.all(calls)
    store.calm()
    const ids = (await store.list({})).map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(ids.length).toBeGreaterThan(5)
  }
})

test('a call that is held up holds up those behind it until it has arrived, and no longer', async () => {
  const { store, clock } = await faulty({ insert: { late: 1, lateBy: '5s' } }, 3)
  const calls = Array.from({ length: 100 }, (_, n) => Promise.resolve(insert(store, String(n))))
  let answered = 0
  for (const call of calls) void call.then(() => answered++)
  await clock.advance('2s')
  expect(answered).toBeLessThan(100)
  // Late on the way there or back: what waits behind a late call may be late on its own way back.
  await clock.advance('8s')
  expect(answered).toBe(100)
})

test('replies overtake each other', async () => {
  const { store, clock } = await faulty({ get: { late: 0.5, lateBy: '5s' } }, 3)
  const order: number[] = []
  const calls = Array.from({ length: 20 }, (_, n) => store.get([]).then(() => order.push(n)))
  await clock.advance('10s')
  await Promise.all(calls)
  expect(order).not.toEqual(order.toSorted((a, b) => a - b))
})

test('faults come as often as they are asked for', async () => {
  const { store, clock } = await faulty({ get: { before: 0.1, lostReply: 0.2, late: 0.3, lateBy: 1 } }, 7)
  const calls = Array.from({ length: 4_000 }, () => store.get([]).catch(() => null))
  await clock.advance('1h')
  await Promise.all(calls)
  const { before, lostReply, late } = store.done.get('get') ?? { before: 0, lostReply: 0, late: 0 }
  expect(before / 4_000).toBeCloseTo(0.1, 1)
  expect(lostReply / 4_000).toBeCloseTo(0.2, 1)
  expect(late / 4_000).toBeCloseTo(0.3, 1)
})

test('the same seed gives the same faults, another one others', async () => {
  const fates = async (seed: number): Promise<string> => {
    const { store } = await faulty({ every: { before: 0.3, lostReply: 0.3 } }, seed)
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => store.counts()))
    return results
      .map((result) => (result.status === 'rejected' ? (result.reason as JobchartError).message : 'ok'))
      .join()
  }
  expect(await fates(1)).toBe(await fates(1))
  expect(await fates(1)).not.toBe(await fates(2))
})

test('an operation that is named has its own faults, the others those of every', async () => {
  const { store } = await faulty({ every: { before: 1 }, open: {}, counts: {} })
  await expect(store.counts()).resolves.toMatchObject({ queued: 0 })
  await expect(store.workers()).rejects.toMatchObject(unavailable)
  await expect(store.list({})).rejects.toMatchObject(unavailable)
})

test('calm ends the faults, disturb brings others', async () => {
  const { store } = await faulty({ counts: { before: 1 } })
  await expect(store.counts()).rejects.toMatchObject(unavailable)
  store.calm()
  await store.counts()
  store.disturb({ counts: { lostReply: 1 } })
  await expect(store.counts()).rejects.toMatchObject(unavailable)
  expect(store.done.get('counts')).toEqual({ calls: 3, before: 1, lostReply: 1, late: 0 })
})

test('what the wrapped store refuses is refused as it is', async () => {
  const { store } = await faulty({})
  await expect(store.list({ after: 'nobody' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('it has the capabilities of the store it wraps, and says what it is', async () => {
  const { store } = await faulty({})
  expect([store.name, store.capabilities]).toEqual(['faulty memory', memoryStore().capabilities])
})

test.each([
  [{ faults: { every: { before: 2 } } }],
  [{ faults: { every: { before: 0.6, lostReply: 0.6 } } }],
  [{ faults: { claims: {} } }],
  [{ faults: { claim: { lost: 1 } } }],
  [{ faults: { claim: { late: 1, lateBy: 'long' } } }],
  [{ faults: {}, seed: -1 }],
  [{ faults: {}, seed: 1, random: () => 0 }],
  [{ seed: 1 }],
])('it refuses %j', (options) => {
  expect(() => faultyStore(memoryStore(), options as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION' }),
  )
})
