/** An id is used again when a state is entered again: no event, effect, key or reference means another start of it. */
import { defineJob } from 'jobchart'
import {
  assign,
  cancel,
  fromPromise,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  stopChild,
  type AnyActorRef,
} from 'xstate'
import { expect, test } from 'vitest'
import type { Json } from '../../src/core/payload.ts'
import { world } from '../support/leaks.ts'
import { didIn, prove } from './support/prove.ts'

const retry = { maxAttempts: 9 }

test('a delayed event for an actor that is gone reaches nobody, also not the next actor of its id', async () => {
  const at = world()
  const worker = setup({ types: { events: {} as { type: 'PING' } } }).createMachine({
    on: { PING: { actions: sendParent({ type: 'PINGED' }) } },
  })
  const job = defineJob({
    type: 'delayed',
    machine: setup({
      types: {
        context: {} as { pings: number },
        events: {} as { type: 'ARM' } | { type: 'AGAIN' } | { type: 'PINGED' } | { type: 'END' },
      },
      actors: { worker },
    }).createMachine({
      context: { pings: 0 },
      initial: 'on',
      states: {
        on: {
          invoke: { src: 'worker', id: 'w' },
          on: {
            ARM: { actions: sendTo('w', { type: 'PING' }, { delay: 5_000 }) },
            AGAIN: { target: 'on', reenter: true },
            PINGED: { actions: assign({ pings: ({ context }) => context.pings + 1 }) },
            END: 'off',
          },
        },
        off: { type: 'final' },
      },
      output: ({ context }) => context.pings,
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  for (const type of ['ARM', 'AGAIN', 'ARM'] as const) await handle.send({ type })
  await at.clock.advance('10s')
  await handle.send({ type: 'END' })
  expect(await handle.result()).toBe(1)
})

test('delayed events of one id all come, and a cancel of the id means the last', async () => {
  const { output } = await prove({
    jobs: () => [
      defineJob({
        type: 'twice',
        retry,
        machine: setup({
          types: { context: {} as { seen: string[] } },
          actions: { see: assign({ seen: ({ context, event }) => [...context.seen, event.type] }) },
        }).createMachine({
          context: { seen: [] },
          entry: [
            raise({ type: 'LATE' }, { delay: 4_000, id: 'one' }),
            raise({ type: 'EARLY' }, { delay: 2_000, id: 'one' }),
            raise({ type: 'KEPT' }, { delay: 3_000, id: 'two' }),
            raise({ type: 'CANCELLED' }, { delay: 1_000, id: 'two' }),
            cancel('two'),
          ],
          on: { '*': { actions: 'see' } },
          initial: 'on',
          states: { on: { after: { 9_000: 'off' } }, off: { type: 'final' } },
          output: ({ context }) => context.seen,
        }),
      }),
    ],
  })
  expect(output).toEqual(['EARLY', 'KEPT', 'LATE'])
})

test('the last action of a machine has the same self in this process and the next', async () => {
  const { told } = await prove({
    jobs: (tell) => {
      const kid = setup({
        actions: { bye: ({ self }) => tell.did(`bye ${self.id} ${self.sessionId}`) },
      }).createMachine({
        initial: 'on',
        states: { on: { after: { 1_000: 'off' } }, off: { type: 'final', entry: 'bye' } },
      })
      return [
        defineJob({
          type: 'bye',
          retry,
          machine: setup({ actors: { kid } }).createMachine({
            initial: 'on',
            states: {
              on: { invoke: { src: 'kid', id: 'k/1', onDone: 'off' } },
              off: { after: { 1_000: 'end' } },
              end: { type: 'final' },
            },
          }),
        }),
      ]
    },
  })
  expect(didIn(told)).toEqual(['bye k/1 job/k%2F1/1'])
})

test('a child that has its parent in its context, and an event that carries an actor, find them again', async () => {
  const { output } = await prove({
    drive: async ({ job, until }) => {
      await until('open')
      await job.send({ type: 'POKE' })
    },
    jobs: () => {
      const kid = setup({
        types: { context: {} as { up: { parent: AnyActorRef } }, input: {} as { parent: AnyActorRef } },
      }).createMachine({
        context: ({ input }) => ({ up: input }),
        on: { POKE: { actions: sendTo(({ context }) => context.up.parent, { type: 'POKED' }) } },
      })
      return [
        defineJob({
          type: 'family',
          retry,
          machine: setup({
            types: {
              context: {} as { seen: string[]; old: AnyActorRef | null },
              events: {} as { type: 'POKE' } | { type: 'POKED' } | { type: 'LATER'; who: AnyActorRef },
            },
            actors: { kid },
          }).createMachine({
            context: { seen: [], old: null },
            initial: 'first',
            states: {
              first: {
                entry: assign({ old: ({ spawn, self }) => spawn('kid', { id: 'old', input: { parent: self } }) }),
                always: 'open',
              },
              open: {
                tags: 'open',
                invoke: { src: 'kid', id: 'kid', input: ({ self }) => ({ parent: self }) },
                on: {
                  POKE: { actions: sendTo('kid', { type: 'POKE' }) },
                  POKED: {
                    target: 'poked',
                    actions: raise(({ context, self }) => ({ type: 'LATER', who: context.old ?? self }), {
                      delay: 2_000,
                    }),
                  },
                },
              },
              poked: {
                on: {
                  LATER: {
                    target: 'end',
                    actions: assign({
                      seen: ({ context, event, self }) => [
                        event.who.id,
                        String(event.who === context.old),
                        self.sessionId,
                        String(context.old?.sessionId),
                      ],
                    }),
                  },
                },
              },
              end: { type: 'final' },
            },
            output: ({ context }) => context.seen,
          }),
        }),
      ]
    },
  })
  expect(output).toEqual(['old', 'true', 'job', 'job/old/1'])
})

test('a reference to an actor that is gone keeps its id and key, and takes no events', async () => {
  const at = world()
  const idle = setup({}).createMachine({})
  const job = defineJob({
    type: 'gone',
    machine: setup({
      types: {
        context: {} as { was: AnyActorRef | null; seen: string },
        events: {} as { type: 'STOP' } | { type: 'LOOK' },
      },
      actors: { idle },
      actions: { poke: ({ context }) => context.was?.send({ type: 'ANY' }) },
    }).createMachine({
      context: { was: null, seen: '' },
      entry: assign({ was: ({ spawn }) => spawn('idle', { id: 'kid' }) }),
      initial: 'on',
      states: {
        on: { on: { STOP: { target: 'off', actions: stopChild('kid') } } },
        off: {
          on: {
            LOOK: {
              target: 'end',
              actions: [
                'poke',
                assign({ seen: ({ context: { was } }) => `${was?.id} ${was?.sessionId} ${was?.getSnapshot().status}` }),
              ],
            },
          },
        },
        end: { type: 'final' },
      },
      output: ({ context }) => context.seen,
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined, { id: 'job' })
  for (const type of ['STOP', 'LOOK'] as const) {
    await at.clock.settle()
    await handle.send({ type })
  }
  expect(await handle.result()).toBe('kid job/kid/1 stopped')
})

test('what is kept of actors that are gone is bounded, and their addresses do not come again', async () => {
  const at = world()
  const seen = new Set<string>()
  const job = defineJob({
    type: 'turns',
    machine: setup({
      types: { context: {} as { turn: number }, events: {} as { type: 'TURN' } },
      actors: {
        work: fromPromise(async ({ self }) => {
          expect(seen.has(self.sessionId), `${self.sessionId} twice`).toBe(false)
          seen.add(self.sessionId)
        }),
      },
    }).createMachine({
      context: { turn: 0 },
      initial: 'on',
      states: {
        on: {
          entry: [
            assign({ turn: ({ context }) => context.turn + 1 }),
            spawnChild('work', { id: ({ context }) => `work.${context.turn % 150}` }),
          ],
          invoke: { src: 'work', id: 'same' },
          exit: stopChild(({ context, self }) => childOf(self, `work.${context.turn % 150}`)),
          on: { TURN: { target: 'on', reenter: true } },
        },
      },
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  const sizes: number[] = []
  for (let turn = 1; turn <= 400; turn++) {
    await at.clock.settle()
    if (turn === 100 || turn === 400) sizes.push(JSON.stringify(stateOf(await handle.record())).length)
    await handle.send({ type: 'TURN' })
  }
  const [early = 0, late = 0] = sizes
  expect(late).toBeLessThan(early + 100)
  expect(seen.size).toBeGreaterThanOrEqual(800)
})

const childOf = (self: AnyActorRef, id: string): AnyActorRef =>
  (self.getSnapshot() as { children: Record<string, AnyActorRef> }).children[id] as AnyActorRef

const stateOf = (record: object): Json => (record as { checkpoint: { state: Json } }).checkpoint.state
