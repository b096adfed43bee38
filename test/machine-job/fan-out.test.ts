/**
 * A machine that spawns many child jobs: what it costs grows in proportion to them. Held by counts of work, not by
 * time.
 */
import { defineJob, fromJob, memoryStore, type Store } from 'jobchart'
import { assign, enqueueActions, setup, spawnChild } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'
import { isLong } from '../harness/long-form.ts'

const resize = defineJob<{ image: string }, string>({ type: 'resize', run: async ({ image }) => `${image}.webp` })

/** How many children were copied by the spawns of one step. */
let copied = 0

function counted<T>(spawn: T): T {
  const action = spawn as { resolve: (scope: unknown, snapshot: { children: object }, ...rest: unknown[]) => unknown }
  const { resolve } = action
  action.resolve = (scope, snapshot, ...rest) => {
    copied += Object.keys(snapshot.children).length
    return resolve(scope, snapshot, ...rest)
  }
  return spawn
}

const album = defineJob({
  type: 'album',
  machine: setup({
    types: {
      input: {} as { images: number },
      context: {} as { images: number; made: number },
      events: {} as { type: 'xstate.done.actor.image.1' } | { type: 'STAY' },
    },
    actors: { resize: fromJob(resize) },
    actions: {
      resizeAll: enqueueActions(({ context, enqueue }) => {
        for (let i = 0; i < context.images; i++) {
          enqueue(counted(spawnChild('resize', { id: `image.${i}`, input: { image: `picture-${i}.png` } })))
        }
      }),
    },
  }).createMachine({
    id: 'album',
    context: ({ input }) => ({ images: input.images, made: 0 }),
    entry: 'resizeAll',
    on: { 'xstate.done.actor.image.*': { actions: assign({ made: ({ context }) => context.made + 1 }) } },
    initial: 'resizing',
    states: {
      resizing: {
        on: { STAY: {} },
        always: { guard: ({ context }) => context.made === context.images, target: 'all' },
      },
      all: { type: 'final' },
    },
    output: ({ context }) => context.made,
  }),
})

interface Work {
  readonly output: unknown
  /** Checkpoints, and the characters in them. */
  readonly checkpoints: number
  readonly chars: number
  readonly largest: number
  /** Actors in the checkpoint that was written last while some were at work. */
  readonly kept: number
}

async function madeAlbum(images: number, concurrency: number): Promise<Work> {
  const work = { checkpoints: 0, chars: 0, largest: 0, kept: 0 }
  const memory = memoryStore()
  const count = (state: unknown): void => {
    const { children = {} } = (state as { snapshot: { children?: object } }).snapshot
    work.checkpoints++
    const { length } = JSON.stringify(state)
    work.chars += length
    work.largest = Math.max(work.largest, length)
    if (Object.keys(children).length > 0) work.kept = Object.keys(children).length
  }
  const store: Store = {
    ...memory,
    checkpoint(requests) {
      for (const { checkpoint } of requests) count(checkpoint.state)
      return memory.checkpoint(requests)
    },
    settle(settlements) {
      for (const { checkpoint } of settlements) if (checkpoint) count(checkpoint.state)
      return memory.settle(settlements)
    },
  }
  const at = world({ store })
  const runtime = await at.runtime({ jobs: [album, resize], concurrency })
  const handle = await runtime.enqueue(album, { images })
  const result = handle.result()
  await at.clock.advance('1m')
  return { ...work, output: await result }
}

test.each([[1], [10]])('all that is written is a few times what all children take, with %i slots', async (slots) => {
  const { output, chars, largest, checkpoints } = await madeAlbum(800, slots)
  expect(output).toBe(800)
  // A checkpoint for each batch of as many as there are slots would come to forty times and more.
  expect(chars / largest).toBeLessThan(8)
  // Each batch is a part of those that are left, and the last ones come one by one.
  expect(checkpoints).toBeLessThan(80)
})

test('children that have ended leave the checkpoints', async () => {
  const { kept } = await madeAlbum(400, 10)
  expect(kept).toBeLessThan(40)
})

test('no child is copied for each of the others when they are spawned in one step', async () => {
  copied = 0
  await madeAlbum(300, 10)
  expect(copied).toBe(0)
})

const children = isLong ? 4_000 : 1_000

test(`${children} children fit`, async () => {
  expect((await madeAlbum(children, 10)).output).toBe(children)
})

test('an event is read at once while a machine gathers the ends of its children', async () => {
  const at = world()
  const slow = defineJob({ type: 'resize', run: (_, { signal }) => at.clock.sleep(3_600_000, signal) })
  const machine = setup({
    types: { events: {} as { type: 'GO' } },
    actors: { slow: fromJob(slow) },
    actions: {
      all: enqueueActions(({ enqueue }) => {
        for (let i = 0; i < 100; i++) enqueue.spawnChild('slow', { id: `slow.${i}` })
      }),
    },
  }).createMachine({
    entry: 'all',
    initial: 'waiting',
    states: { waiting: { on: { GO: 'gone' } }, gone: { tags: 'gone' } },
  })
  const job = defineJob({ type: 'gathers', machine })
  const runtime = await at.runtime({ jobs: [job, slow], concurrency: 200 })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('1s')
  await handle.send({ type: 'GO' })
  await at.clock.settle()
  expect((await handle.snapshot()).value).toBe('gone')
  await handle.cancel()
})
