/** Checkpoints of machines that go on together are one call of the store. */
import { defineJob, JobchartError, memoryStore, type Store } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { Timers } from '../../src/client/timers.ts'
import type { CheckpointAnswer, CheckpointRequest } from '../../src/store.ts'
import { Checkpoints } from '../../src/worker/checkpoints.ts'
import { world } from '../support/leaks.ts'

const request = (id: string): CheckpointRequest => ({
  id,
  attempt: 1,
  token: 'token',
  checkpoint: { number: 1, state: null, read: 0, note: '', takesCancel: false },
})

const kept = (seq: number): CheckpointAnswer => ({ outcome: 'kept', seq, at: 0, maxAttempts: 1, inbox: [] })

/** A store that answers when it is told to. */
function slowStore() {
  const calls: (PromiseWithResolvers<CheckpointAnswer[]> & { readonly ids: string[] })[] = []
  const checkpoint = (requests: readonly CheckpointRequest[]): Promise<CheckpointAnswer[]> => {
    const call = { ...Promise.withResolvers<CheckpointAnswer[]>(), ids: requests.map(({ id }) => id) }
    calls.push(call)
    return call.promise
  }
  const clock = new VirtualClock()
  return { calls, clock, checkpoints: new Checkpoints({ store: { checkpoint }, timers: new Timers(clock) }) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('those of one turn are one call, and those asked for meanwhile the next; each gets its own answer', async () => {
  const { calls, checkpoints } = slowStore()
  const first = [checkpoints.write(request('a')), checkpoints.write(request('b'))]
  await turn()
  const later = [checkpoints.write(request('c')), checkpoints.write(request('d'))]
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a', 'b']])
  calls[0]?.resolve([kept(1), kept(2)])
  expect(await Promise.all(first)).toEqual([kept(1), kept(2)])
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  calls[1]?.resolve([kept(3), { ...kept(0), outcome: 'lost' }])
  expect(await Promise.all(later)).toEqual([kept(3), { ...kept(0), outcome: 'lost' }])
})

test('a call that fails rejects those in it, and the next is made', async () => {
  const { calls, checkpoints } = slowStore()
  const error = new JobchartError('STORE_UNAVAILABLE', 'away')
  const first = Promise.allSettled([checkpoints.write(request('a')), checkpoints.write(request('b'))])
  await turn()
  const later = checkpoints.write(request('c'))
  calls[0]?.reject(error)
  expect(await first).toEqual([
    { status: 'rejected', reason: error },
    { status: 'rejected', reason: error },
  ])
  await turn()
  calls[1]?.resolve([kept(1)])
  expect(await later).toEqual(kept(1))
  const again = checkpoints.write(request('d'))
  await turn()
  calls[2]?.resolve([kept(2)])
  expect(await again).toEqual(kept(2))
})

test('a call that hangs holds up nothing but what is in it', async () => {
  const { calls, clock, checkpoints } = slowStore()
  const hanging = checkpoints.write(request('a'))
  await turn()
  const other = checkpoints.write(request('b'))
  await turn()
  expect(calls).toHaveLength(1)
  await clock.advance(100)
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b']])
  const next = checkpoints.write(request('c'))
  // It answers after all: then the call after it goes on holding up the next one.
  calls[0]?.resolve([kept(2)])
  expect(await hanging).toEqual(kept(2))
  const last = checkpoints.write(request('d'))
  await turn()
  expect(calls).toHaveLength(2)
  calls[1]?.resolve([kept(1)])
  expect(await other).toEqual(kept(1))
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c', 'd']])
  calls[2]?.resolve([kept(3), kept(4)])
  expect(await Promise.all([next, last])).toEqual([kept(3), kept(4)])
})

test('a call has no more than 200', async () => {
  const { calls, checkpoints } = slowStore()
  const all = Array.from({ length: 450 }, (_, i) => checkpoints.write(request(`job ${i}`)))
  for (let call = 0; call < 3; call++) {
    await turn()
    calls[call]?.resolve(calls[call]?.ids.map((_, i) => kept(i)) ?? [])
  }
  await Promise.all(all)
  expect(calls.map(({ ids }) => ids.length)).toEqual([200, 200, 50])
})

test.each(['lost', 'failed'] as const)(
  'a machine whose checkpoint is %s stops none that went on with it',
  async (outcome) => {
    const memory = memoryStore()
    let refused = 0
    const store: Store = {
      ...memory,
      checkpoint(requests) {
        const answers = memory.checkpoint(requests) as CheckpointAnswer[]
        return answers.map((answer, i) => {
          if (requests[i]?.id !== 'unlucky' || refused++ > 0) return answer
          return { ...answer, outcome, ...(outcome === 'failed' && { error: { name: 'Error', message: 'no' } }) }
        })
      },
    }
    const at = world({ store })
    const machine = setup({ actions: { act: () => {} } }).createMachine({
      initial: 'asleep',
      states: { asleep: { after: { 1_000: 'awake' } }, awake: { entry: 'act', type: 'final' } },
    })
    const job = defineJob({ type: 'sleeper', machine, retry: { maxAttempts: 1 } })
    const runtime = await at.runtime({ jobs: [job], concurrency: 10 })
    for (const id of ['a', 'unlucky', 'b']) await runtime.enqueue(job, undefined, { id })
    await at.clock.advance(2_000)
    expect(refused).toBeGreaterThan(0)
    const states = await Promise.all(['a', 'b'].map(async (id) => (await (await runtime.job(id))?.record())?.state))
    expect(states).toEqual(['done', 'done'])
    // The lease of the lost one runs out.
    await at.clock.advance('1m')
  },
)

test('machines that wake together write their checkpoints in one call', async () => {
  const memory = memoryStore()
  const sizes: number[] = []
  const store: Store = {
    ...memory,
    checkpoint(requests) {
      sizes.push(requests.length)
      return memory.checkpoint(requests)
    },
  }
  const at = world({ store })
  const machine = setup({ actions: { act: () => {} } }).createMachine({
    initial: 'asleep',
    states: { asleep: { after: { 1_000: 'awake' } }, awake: { entry: 'act', type: 'final' } },
  })
  const job = defineJob({ type: 'sleeper', machine })
  const runtime = await at.runtime({ jobs: [job], concurrency: 10 })
  await runtime.enqueueMany(
    job,
    Array.from({ length: 10 }, () => undefined),
  )
  await at.clock.advance(2_000)
  expect((await runtime.counts()).done).toBe(10)
  expect(sizes).toEqual([10])
})
