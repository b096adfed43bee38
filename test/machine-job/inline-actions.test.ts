/** An inline action is found again by its place in the chart, in this process or the next. */
import { defineJob } from 'jobchart'
import { assign, fromPromise, log, setup } from 'xstate'
import { expect, test } from 'vitest'
import { newJob, put, plainCheckpoint, takeOne, write } from '../../src/store-testing/conformance/acts.ts'
import { world } from '../support/leaks.ts'
import { didIn, prove } from './support/prove.ts'

test('inline actions of every place are executed as named ones are, whenever their process is killed', async () => {
  const places = [
    'm#entry[0]',
    'm.a#entry[1]',
    'm.a#exit[0]',
    'm.a#after[0][0].actions[0]',
    'm.a#after[0][0].actions[2]',
    'm.b#initial.actions[0]',
    'm.b.c#after[0][0].actions[0]',
    'd#on xstate.done.actor.0.d[0].actions[0]',
    'kid.off#entry[0]',
    'm.f#always[0].actions[0]',
    'm.g#entry[0]',
  ]
  const { output, told } = await prove({
    jobs: (tell) => {
      // Each tells its place, which is its name in the outbox: the proof counts what may happen again by that.
      const did = (place: string) => () => tell.did(place)
      const kid = setup({}).createMachine({
        id: 'kid',
        initial: 'on',
        states: { on: { after: { 1_000: 'off' } }, off: { type: 'final', entry: did('kid.off#entry[0]') } },
      })
      return [
        defineJob({
          type: 'inline',
          retry: { maxAttempts: 9 },
          machine: setup({
            types: { context: {} as { n: number } },
            actors: { kid, work: fromPromise(async () => 1) },
          }).createMachine({
            id: 'm',
            context: { n: 0 },
            entry: did('m#entry[0]'),
            initial: 'a',
            states: {
              a: {
                entry: [log('in a'), did('m.a#entry[1]')],
                exit: did('m.a#exit[0]'),
                after: {
                  1_000: {
                    target: 'b',
                    actions: [
                      did('m.a#after[0][0].actions[0]'),
                      assign({ n: 1 }),
                      ({ context }) => context.n === 1 && tell.did('m.a#after[0][0].actions[2]'),
                    ],
                  },
                },
              },
              b: {
                initial: { target: 'c', actions: did('m.b#initial.actions[0]') },
                states: { c: { after: { 1_000: { target: '#d', actions: did('m.b.c#after[0][0].actions[0]') } } } },
              },
              d: {
                id: 'd',
                invoke: {
                  src: 'work',
                  onDone: {
                    target: 'e',
                    actions: ({ event }) => event.output === 1 && tell.did('d#on xstate.done.actor.0.d[0].actions[0]'),
                  },
                },
              },
              e: { invoke: { src: 'kid', id: 'kid', onDone: 'f' } },
              f: { always: { target: 'g', actions: did('m.f#always[0].actions[0]') } },
              g: { type: 'final', entry: did('m.g#entry[0]') },
            },
            output: ({ context }) => context.n,
          }),
        }),
      ]
    },
  })
  expect(output).toBe(1)
  expect(didIn(told)).toEqual(places)
})

/** A job whose last checkpoint holds an action that is still to be executed, and its machine of today. */
async function leftBehind(
  then: (did: (what: string) => void) => object[],
  today: (did: (what: string) => void) => object[],
) {
  const at = world()
  const did: string[] = []
  const machine = (actions: object[]) =>
    setup({}).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { entry: actions as never, after: { 1_000: 'b' } }, b: { type: 'final' } },
    })
  const old = defineJob({ type: 'left', machine: machine(then(() => {})) })
  const runtime = await at.runtime({ jobs: [old] })
  const first = await runtime.enqueue(old, undefined)
  await at.clock.settle()
  const [checkpoint] = await first.checkpoints()
  const seen = checkpoint === undefined ? null : await at.store.checkpoints(first.id)
  await runtime.stop({ mode: 'abort', timeout: 1_000, grace: 0 })
  const later = await at.runtime({
    jobs: [defineJob({ type: 'left', machine: machine(today((what) => did.push(what))) })],
  })
  await later.pause()
  await put(at.store, newJob('again', { type: 'left' }))
  const claimed = await takeOne(at.store, { type: 'left' })
  await write(at.store, claimed, { ...plainCheckpoint(1), state: seen?.[0]?.state ?? null })
  await later.resume()
  await at.clock.advance('50s')
  return { did, at, job: await later.job('again') }
}

test('the code of an inline action may change, as that of a named one', async () => {
  const { did } = await leftBehind(
    (then) => [() => then('old'), log('x')],
    (now) => [() => now('new'), log('y')],
  )
  expect(did).toEqual(['new'])
})

test('an inline action whose list has changed is not mistaken for another: the job waits and says why', async () => {
  const { did, at, job } = await leftBehind(
    (then) => [() => then('first')],
    (now) => [() => now('another'), () => now('first')],
  )
  expect(did).toEqual([])
  const record = await job?.record()
  expect(record?.state).toBe('scheduled')
  expect(record?.unsupported?.reason).toContain(
    'the action m.a#entry[0] is missing, and the checkpoint has yet to execute it',
  )
  at.expectLogged('error')
})
