/** What actions are called with is kept until they are executed: also actors, and the snapshots of machines. */
import { defineJob } from 'jobchart'
import { assign, emit, fromPromise, fromTransition, log, setup, type AnyActorRef } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'
import { didIn, prove } from './support/prove.ts'

const counter = setup({ types: { context: {} as { n: number } } }).createMachine({
  id: 'counter',
  context: { n: 0 },
  initial: 'on',
  states: { on: { after: { 1_000: 'off' } }, off: { type: 'final', entry: assign({ n: 1 }) } },
})

test('an action is called with actors and snapshots, in this process or the next', async () => {
  const { told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'outbox',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { ref: AnyActorRef | null; step: number } },
          actors: { counter, sum: fromTransition((sum: number) => sum, 0) },
          actions: {
            sum: () => tell.did('sum'),
            before: ({ context: { ref, step } }) => tell.did(`before ${ref === null ? 'null' : ref.id} ${step}`),
            after: ({ context: { ref, step } }) => tell.did(`after ${ref?.id} ${step} ${typeof ref?.getSnapshot}`),
            with: (_, { ref }: { ref: AnyActorRef | null }) => tell.did(`with ${ref?.id} ${typeof ref?.send}`),
            watch: ({ self, event }) => {
              const { value, context } = (event as unknown as { snapshot: { value: string; context: { n: number } } })
                .snapshot
              tell.did(`watch ${self.id} ${value} ${context.n}`)
            },
          },
        }).createMachine({
          context: { ref: null, step: 0 },
          entry: [
            'before',
            assign({ ref: ({ spawn }) => spawn('counter', { id: 'spawned' }) }),
            assign({ step: 1 }),
            'after',
            { type: 'with', params: ({ context }) => ({ ref: context.ref }) },
            assign({ step: 2 }),
          ],
          initial: 'waiting',
          states: {
            waiting: {
              invoke: [
                { id: 'kid', src: 'counter', onSnapshot: { actions: 'watch' } },
                { id: 'sum', src: 'sum', onSnapshot: { actions: 'sum' } },
              ],
              after: { 5_000: 'end' },
            },
            end: { type: 'final' },
          },
        }),
      }),
    ],
  })
  expect(didIn(told)).toEqual([
    'before null 0',
    'after spawned 1 function',
    'with spawned function',
    'watch job on 0',
    'sum',
  ])
})

test('what a machine logs is kept with its job, what it emits is told to who follows it', async () => {
  const at = world()
  const machine = setup({
    types: { context: {} as { n: number }, emitted: {} as { type: 'at'; n: number } },
  }).createMachine({
    context: { n: 7 },
    initial: 'a',
    states: {
      a: { entry: log(({ context }) => `n is ${context.n}`), on: { GO: 'b' } },
      b: { type: 'final', entry: emit(({ context }) => ({ type: 'at', n: context.n })) },
    },
  })
  const job = defineJob({ type: 'telling', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  const told: unknown[] = []
  handle.events$.subscribe(({ event, value, reason }) => {
    if (event === 'EMIT') told.push(value)
    if (event === 'CHECKPOINT') told.push(reason)
  })
  await at.clock.settle()
  await handle.send({ type: 'GO' })
  await handle.result()
  await at.clock.settle()
  expect((await handle.record()).logs.map(({ message }) => message)).toEqual(['n is 7'])
  expect(told).toEqual(['xstate.init → a', 'GO → b', { type: 'at', n: 7 }])
})

test('an action whose event carries what JSON cannot is executed with the rest, whenever its process is killed', async () => {
  const { told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'rest',
        retry: { maxAttempts: 9 },
        machine: setup({
          actors: { work: fromPromise(async () => ({ set: new Set([1]), n: 7 })) },
          actions: {
            note: ({ event }) => tell.did(`note ${(event as unknown as { output: { n: number } }).output.n}`),
          },
        }).createMachine({
          initial: 'on',
          states: {
            on: { invoke: { src: 'work', onDone: { target: 'off', actions: 'note' } } },
            off: { type: 'final' },
          },
        }),
      }),
    ],
  })
  expect(didIn(told)).toEqual(['note 7'])
})
