/** A store that refuses calls and loses replies: machines come to the same end, and do nothing twice. */
import { defineJob, fromJob, memoryStore, type Store } from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { assign, emit, enqueueActions, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

test.each([1, 2, 3, 4, 5, 6, 7, 8])('calls that fail are made again, and count once (seed %i)', async (seed) => {
  const trouble = { before: 0.2, lostReply: 0.2 }
  const faults = { checkpoint: trouble, settle: trouble, extend: trouble }
  const store = faultyStore(memoryStore(), { seed, faults })
  const at = world({ store })
  const did: string[] = []
  const machine = setup({
    types: { context: {} as { ns: number[] }, events: {} as { type: 'ADD'; n: number } | { type: 'END' } },
    actions: { note: (_, { n }: { n: number }) => void did.push(`note ${n}`) },
    actors: {
      work: fromPromise<number, number>(async ({ input, self }) => {
        did.push(self.sessionId.slice(self.sessionId.indexOf('/') + 1))
        await at.clock.sleep('1s')
        return input
      }),
    },
  }).createMachine({
    context: { ns: [] },
    initial: 'working',
    on: {
      ADD: {
        actions: [
          assign({ ns: ({ context, event }) => [...context.ns, event.n] }),
          { type: 'note', params: ({ event }) => ({ n: event.n }) },
          emit({ type: 'added' }),
        ],
      },
    },
    states: {
      working: { invoke: { src: 'work', input: 7, onDone: { target: 'open' } } },
      open: { after: { 5_000: 'ready' } },
      ready: { on: { END: 'end' } },
      end: { type: 'final' },
    },
    output: ({ context }) => context.ns,
  })
  const job = defineJob({ type: 'faulty', machine })
  const runtime = await at.runtime({ jobs: [job], lease: '1h' })
  const handle = await runtime.enqueue(job)
  await at.clock.advance('30s')
  for (const n of [1, 2, 3]) await handle.send({ type: 'ADD', n })
  await at.clock.advance('30s')
  await handle.waitFor('ready')
  await handle.send({ type: 'END' })
  await at.clock.advance('30s')
  expect(await handle.result()).toEqual([1, 2, 3])
  expect(did).toEqual(['0.(machine).working/1', 'note 1', 'note 2', 'note 3'])
  store.calm()
  at.logged.length = 0
})

test('a machine that waits for many jobs does not enqueue them again each time it wakes', async () => {
  const memory = memoryStore()
  let inserts = 0
  const store: Store = {
    ...memory,
    insert(requests) {
      for (const { jobs } of requests) inserts += jobs.length
      return memory.insert(requests)
    },
  }
  const at = world({ store })
  const child = defineJob<{ n: number }, number>({
    type: 'child',
    run: async ({ n }) => at.clock.sleep(n * 100).then(() => n),
  })
  const count = 20
  const machine = setup({
    types: { context: {} as { sum: number } },
    actors: { child: fromJob(child) },
  }).createMachine({
    context: { sum: 0 },
    entry: enqueueActions(({ enqueue }) => {
      for (let n = 1; n <= count; n++) enqueue.spawnChild('child', { id: `child-${n}`, input: { n } })
    }),
    on: { 'xstate.done.actor.*': { actions: assign({ sum: ({ context }) => context.sum + 1 }) } },
    always: { guard: ({ context }) => context.sum === count, target: '.end' },
    initial: 'waiting',
    states: { waiting: {}, end: { type: 'final' } },
    output: ({ context }) => context.sum,
  })
  const parent = defineJob({ type: 'parent', machine })
  const runtime = await at.runtime({ jobs: [parent, child], concurrency: 5 })
  const handle = await runtime.enqueue(parent)
  await at.clock.advance('1m')
  expect(await handle.result()).toBe(count)
  expect(inserts).toBe(1 + count)
})
