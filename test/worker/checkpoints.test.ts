/** Checkpoints of machines that go on together are one call of the store, in which none holds up or harms another. */
import { defineJob, JobchartError, memoryStore, type Store } from 'jobchart'
import { faultyStore, VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { Timers } from '../../src/client/timers.ts'
import type { Json } from '../../src/core/payload.ts'
import type { CheckpointAnswer, CheckpointRequest, StoreCapabilities } from '../../src/store.ts'
import { Checkpoints } from '../../src/worker/checkpoints.ts'
import { world } from '../support/leaks.ts'

const request = (id: string, state: Json = null): CheckpointRequest => ({
  id,
  attempt: 1,
  token: 'token',
  checkpoint: { number: 1, state, read: 0, note: '', takesCancel: false },
})

const kept = (seq: number): CheckpointAnswer => ({ outcome: 'kept', seq, at: 0, maxAttempts: 1, inbox: [] })
const runWith = (signal: AbortSignal) => ({
  get abortReason(): Error | null {
    return signal.aborted ? (signal.reason as Error) : null
  },
  signal,
})
const running = new AbortController().signal
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const remote: StoreCapabilities = { durable: true, shared: true }

/** A store that answers when it is told to, and has answered once: it is known to take time. */
async function slowStore(capabilities: StoreCapabilities = remote) {
  const calls: (PromiseWithResolvers<CheckpointAnswer[]> & { readonly ids: string[] })[] = []
  const checkpoint = (requests: readonly CheckpointRequest[]): Promise<CheckpointAnswer[]> => {
    const call = { ...Promise.withResolvers<CheckpointAnswer[]>(), ids: requests.map(({ id }) => id) }
    calls.push(call)
    return call.promise
  }
  const clock = new VirtualClock()
  const timers = new Timers(clock)
  const checkpoints = new Checkpoints({ store: { checkpoint, capabilities }, timers })
  const write = (id: string, { state, signal = running }: { state?: Json; signal?: AbortSignal } = {}) =>
    checkpoints.write(request(id, state), runWith(signal))
  const first = write('first')
  // A single one is asked for at once.
  expect(calls.map(({ ids }) => ids)).toEqual([['first']])
  calls.shift()?.resolve([kept(0)])
  expect(await first).toEqual(kept(0))
  await turn()
  return { calls, clock, timers, write, asked: () => calls.map(({ ids }) => ids) }
}

test('those of one turn are one call, and those asked for meanwhile the next; each gets its own answer', async () => {
  const { calls, asked, write, timers } = await slowStore()
  const first = [write('a'), write('b')]
  await turn()
  const later = [write('c'), write('d')]
  await turn()
  expect(asked()).toEqual([['a', 'b']])
  calls[0]?.resolve([kept(1), kept(2)])
  expect(await Promise.all(first)).toEqual([kept(1), kept(2)])
  expect(asked().slice(1)).toEqual([['c', 'd']])
  const lost: CheckpointAnswer = { ...kept(0), outcome: 'lost' }
  calls[1]?.resolve([kept(3), lost])
  expect(await Promise.all(later)).toEqual([kept(3), lost])
  expect(timers.size).toBe(0)
})

test('a store that groups calls is asked in each turn: its commit has other calls, too', async () => {
  const { calls, asked, write } = await slowStore({ ...remote, groupsCalls: true })
  const all = [write('a'), write('b')]
  await turn()
  all.push(write('c'))
  await turn()
  expect(asked()).toEqual([['a', 'b'], ['c']])
  calls[1]?.resolve([kept(3)])
  calls[0]?.resolve([kept(1), kept(2)])
  expect(await Promise.all(all)).toEqual([kept(1), kept(2), kept(3)])
})

test('a store that answers at once is asked at once, for each alone', async () => {
  const asked: string[][] = []
  const checkpoint = (requests: readonly CheckpointRequest[]): CheckpointAnswer[] => {
    asked.push(requests.map(({ id }) => id))
    return requests.map(() => kept(1))
  }
  const checkpoints = new Checkpoints({
    store: { checkpoint, capabilities: remote },
    timers: new Timers(new VirtualClock()),
  })
  const writes = ['a', 'b', 'c'].map((id) => checkpoints.write(request(id), runWith(running)))
  expect(asked).toEqual([['a'], ['b'], ['c']])
  await Promise.all(writes)
})

test('a call that the store could not answer rejects those in it, and the next is made', async () => {
  const { calls, write } = await slowStore()
  const error = new JobchartError('STORE_UNAVAILABLE', 'away')
  const first = Promise.allSettled([write('a'), write('b')])
  await turn()
  const later = write('c')
  calls[0]?.reject(error)
  const rejected = { status: 'rejected', reason: error }
  expect(await first).toEqual([rejected, rejected])
  calls[1]?.resolve([kept(1)])
  expect(await later).toEqual(kept(1))
})

test('of a call that is refused, each is asked for alone: only the one at fault fails', async () => {
  const { calls, asked, write } = await slowStore()
  const writes = Promise.allSettled([write('a'), write('b'), write('c')])
  await turn()
  const error = new JobchartError('STORE_REFUSED', 'b is not right')
  calls[0]?.reject(new JobchartError('STORE_REFUSED', 'something is not right'))
  await turn()
  expect(asked().slice(1)).toEqual([['a'], ['b'], ['c']])
  calls[1]?.resolve([kept(1)])
  calls[2]?.reject(error)
  calls[3]?.resolve([kept(2)])
  expect(await writes).toEqual([
    { status: 'fulfilled', value: kept(1) },
    { status: 'rejected', reason: error },
    { status: 'fulfilled', value: kept(2) },
  ])
})

test('a call has 200 checkpoints and about 1 MB at most; a larger one is alone', async () => {
  const { asked, write } = await slowStore()
  for (let i = 0; i < 450; i++) void write(String(i))
  await turn()
  expect(asked().map(({ length }) => length)).toEqual([200, 200, 50])
  expect(asked().flat()).toEqual(Array.from({ length: 450 }, (_, i) => String(i)))
  const large = await slowStore()
  for (const [id, mb] of Object.entries({ a: 0.4, b: 0.4, c: 0.4, d: 5, e: 0.4 })) {
    void large.write(id, { state: 'x'.repeat(mb * 1_000_000) })
  }
  await turn()
  expect(large.asked()).toEqual([['a', 'b'], ['c'], ['d'], ['e']])
})

test('a call that hangs holds those that come after it for a second, once', async () => {
  const { calls, asked, write, clock, timers } = await slowStore()
  void write('hangs')
  await turn()
  const later = [write('b'), write('c')]
  await clock.advance(999)
  expect(asked()).toEqual([['hangs']])
  await clock.advance(1)
  expect(asked().slice(1)).toEqual([['b', 'c']])
  const last = write('d')
  calls[1]?.resolve([kept(1), kept(2)])
  await Promise.all(later)
  expect(asked().slice(2)).toEqual([['d']])
  calls[2]?.resolve([kept(3)])
  await last
  // The answer of the first does not matter any more to others.
  void write('e')
  await turn()
  expect(asked().slice(3)).toEqual([['e']])
  calls[0]?.resolve([kept(4)])
  void write('f')
  await turn()
  expect(asked()).toHaveLength(4)
  calls[3]?.resolve([kept(5)])
  await turn()
  expect(asked().slice(4)).toEqual([['f']])
  expect(timers.size).toBe(0)
})

test('a run that is aborted does not wait for calls of others', async () => {
  const { asked, write, timers } = await slowStore()
  void write('hangs')
  await turn()
  const controller = new AbortController()
  void write('b')
  void write('c', { signal: controller.signal })
  expect(asked()).toEqual([['hangs']])
  controller.abort()
  expect(asked().slice(1)).toEqual([['b', 'c']])
  void write('d', { signal: controller.signal })
  expect(asked().slice(2)).toEqual([['d']])
  expect(timers.size).toBe(0)
})

const sleeper = (woken: () => void) =>
  setup({ actions: { woken } }).createMachine({
    initial: 'asleep',
    states: { asleep: { after: { 1_000: 'awake' } }, awake: { entry: 'woken', type: 'final' } },
  })

const nothing = (count: number): undefined[] => Array.from({ length: count }, () => undefined)

test('machines that wake together write their checkpoints in one call of a store that takes time', async () => {
  const memory = memoryStore()
  const sizes: number[] = []
  const store: Store = {
    ...memory,
    async checkpoint(requests) {
      sizes.push(requests.length)
      return memory.checkpoint(requests)
    },
  }
  const at = world({ store })
  const job = defineJob({ type: 'sleeper', machine: sleeper(() => {}) })
  const runtime = await at.runtime({ jobs: [job], concurrency: 10 })
  await runtime.enqueueMany(job, nothing(10))
  await at.clock.advance(2_000)
  await runtime.enqueueMany(job, nothing(10))
  await at.clock.advance(2_000)
  expect((await runtime.counts()).done).toBe(20)
  // That the store takes time is learnt from its first answer.
  expect(sizes).toEqual([1, 9, 10])
})

test('a call that hangs holds no machine but its own, and a stop ends', async () => {
  const store = faultyStore(memoryStore(), { faults: {}, random: () => 0.9 })
  const at = world({ store })
  let acted = 0
  const machine = setup({ actions: { act: () => void acted++ } }).createMachine({
    initial: 'begun',
    states: { begun: { entry: 'act', type: 'final' } },
  })
  const job = defineJob({ type: 'acting', machine })
  const runtime = await at.runtime({ jobs: [job], concurrency: 20 })
  // The answer is late; the calls after it are not.
  store.disturb({ checkpoint: { late: 1, lateBy: '1h' } })
  await runtime.enqueue(job)
  await at.clock.advance(100)
  store.calm()
  await runtime.enqueueMany(job, nothing(10))
  await at.clock.advance(500)
  expect(acted).toBe(0)
  await at.clock.advance(600)
  expect(acted).toBe(10)
  await runtime.enqueue(job)
  await at.clock.advance(1)
  expect(acted).toBe(11)
  store.disturb({ checkpoint: { late: 1, lateBy: '1h' } })
  await runtime.enqueueMany(job, nothing(5))
  await at.clock.advance(100)
  const stopping = runtime.stop({ mode: 'abort', grace: '1s', timeout: '10s' })
  await at.clock.advance('2s')
  await stopping
  expect(acted).toBe(11)
  expect((await store.counts()).queued).toBe(6)
  // What was late arrives, and is refused or changes nothing.
  await at.clock.advance('2h')
})

test.each(['lost', 'failed'] as const)(
  'a machine whose checkpoint is %s stops none that went on with it',
  async (outcome) => {
    const memory = memoryStore()
    const together: string[][] = []
    let refused = 0
    const store: Store = {
      ...memory,
      async checkpoint(requests) {
        together.push(requests.map(({ id }) => id))
        const answers = await memory.checkpoint(requests)
        return answers.map((answer, i) => {
          if (requests[i]?.id !== 'unlucky' || refused++ > 0) return answer
          return { ...answer, outcome, ...(outcome === 'failed' && { error: { name: 'Error', message: 'no' } }) }
        })
      },
    }
    const at = world({ store })
    const job = defineJob({ type: 'sleeper', machine: sleeper(() => {}), retry: { maxAttempts: 1 } })
    const runtime = await at.runtime({ jobs: [job], concurrency: 10 })
    for (const id of ['first', 'a', 'unlucky', 'b']) await runtime.enqueue(job, undefined, { id })
    await at.clock.advance(2_000)
    expect(together).toContainEqual(['a', 'unlucky', 'b'])
    expect(refused).toBeGreaterThan(0)
    const states = await Promise.all(['a', 'b'].map(async (id) => (await (await runtime.job(id))?.record())?.state))
    expect(states).toEqual(['done', 'done'])
    // The lease of the lost one runs out.
    await at.clock.advance('1m')
  },
)
