/** Which actors of a step start, in which order, and what of them happens: as a live actor of XState does it. */
import { defineJob } from 'jobchart'
import { createActor, createMachine, emit, fromCallback, raise, sendParent, setup, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

/** What a machine tells of itself as a live actor, and as a job. */
async function twice(machineOf: (did: (what: string) => void) => AnyStateMachine) {
  const live: string[] = []
  createActor(machineOf((what) => live.push(what))).start()
  const at = world()
  const hosted: string[] = []
  const job = defineJob({ type: 'starts', machine: machineOf((what) => hosted.push(what)) })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.settle()
  return { live, hosted, handle, at }
}

test('nothing of a child that begins and is stopped in one step happens', async () => {
  const { live, hosted, handle, at } = await twice((did) => {
    const inner = setup({ actions: { did: () => did('grandchild') } }).createMachine({ entry: 'did' })
    const kid = setup({ actors: { inner }, actions: { did: () => did('child') } }).createMachine({
      entry: ['did', emit({ type: 'KID' }), sendParent({ type: 'HELLO' }), raise({ type: 'LATE' }, { delay: 1 })],
      invoke: { src: 'inner', id: 'inner' },
      on: { LATE: { actions: 'did' } },
    })
    return setup({
      actors: { kid, work: fromCallback(() => did('work')) },
      actions: { did: () => did('parent'), hello: () => did('hello') },
    }).createMachine({
      initial: 'passing',
      on: { HELLO: { actions: 'hello' } },
      states: {
        passing: {
          invoke: [
            { src: 'kid', id: 'kid' },
            { src: 'work', id: 'work' },
          ],
          entry: 'did',
          always: 'there',
        },
        there: {},
      },
    })
  })
  await at.clock.advance('1s')
  expect(hosted).toEqual(live)
  expect(hosted).toEqual(['parent'])
  expect((await handle.snapshot()).value).toBe('there')
})

test('all actors of a step start, also if the first answers at once and the state is left', async () => {
  const { live, hosted } = await twice((did) =>
    setup({
      actors: {
        quick: fromCallback(({ sendBack }) => {
          did('quick')
          sendBack({ type: 'ANSWER' })
          return () => did('quick stopped')
        }),
        other: fromCallback(() => {
          did('other')
          return () => did('other stopped')
        }),
      },
      actions: { left: () => did('left') },
    }).createMachine({
      initial: 'asking',
      states: {
        asking: {
          invoke: [
            { src: 'quick', id: 'quick' },
            { src: 'other', id: 'other' },
          ],
          on: { ANSWER: { target: 'answered', actions: 'left' } },
        },
        answered: {},
      },
    }),
  )
  expect(hosted.toSorted()).toEqual(live.toSorted())
  expect(hosted.slice(0, 2)).toEqual(['quick', 'other'])
})

test('at its start a machine starts the machines that it invokes before its own actions', async () => {
  const { live, hosted } = await twice((did) => {
    const kid = (name: string) => setup({ actions: { did: () => did(name) } }).createMachine({ entry: 'did' })
    return setup({
      actors: { first: kid('first'), second: kid('second') },
      actions: { did: () => did('parent'), deep: () => did('deep') },
    }).createMachine({
      entry: 'did',
      invoke: { src: 'first', id: 'first' },
      initial: 'on',
      states: { on: { entry: 'deep', invoke: { src: 'second', id: 'second' } } },
    })
  })
  expect(hosted).toEqual(live)
  expect(live[0]).toBe('first')
})

test('a child that ends as it starts is heard of once, and not started again', async () => {
  const { live, hosted } = await twice((did) => {
    const kid = createMachine({ initial: 'off', states: { off: { type: 'final' } } })
    return setup({ actors: { kid }, actions: { ended: () => did('ended') } }).createMachine({
      invoke: { src: 'kid', id: 'kid', onDone: { actions: 'ended' } },
      initial: 'one',
      states: { one: { on: { '*': 'two' }, after: { 1_000: 'two' } }, two: {} },
    })
  })
  expect(hosted).toEqual(live)
})
