/** A runtime with an album: a job with children, one of which has a child of its own that has failed. */
import { createRuntime, defineJob, fatal, fromJob, memoryStore, type Store } from 'jobchart'
import { onTestFinished } from 'vitest'
import { assign, enqueueActions, setup } from 'xstate'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'

const resize = defineJob<{ image: string }, string>({
  type: 'image.resize',
  retry: { maxAttempts: 3, backoff: () => 40 },
  run: async ({ image }, { attempt }) => {
    if (image === 'image-1' && attempt < 3) throw new Error(`the disk of ${image} is busy`)
    return `${image}.webp`
  },
})

const print = defineJob<{ page: number }, string>({
  type: 'page.print',
  run: async () => {
    throw fatal(new Error('the printer has no paper'))
  },
})

const book = defineJob({
  type: 'book',
  retry: { maxAttempts: 1 },
  machine: setup({ actors: { print: fromJob(print) } }).createMachine({
    id: 'book',
    initial: 'printing',
    states: {
      // Its error is handled by no state: the job fails with it.
      printing: { invoke: { src: 'print', id: 'page', input: { page: 13 }, onDone: 'bound' } },
      bound: { type: 'final' },
    },
  }),
})

const album = defineJob({
  type: 'album',
  machine: setup({
    types: {
      input: {} as { images: number },
      context: {} as { images: number; ended: number; approvedBy: string | null },
      events: {} as
        | { type: `xstate.done.actor.image.${number}` }
        | { type: 'xstate.done.actor.book' }
        | { type: 'xstate.error.actor.book' }
        | { type: 'APPROVE'; by: string },
    },
    actors: { resize: fromJob(resize), book: fromJob(book) },
    actions: {
      resizeAll: enqueueActions(({ context, enqueue }) => {
        for (let i = 0; i < context.images; i++)
          enqueue.spawnChild('resize', { id: `image.${i}`, input: { image: `image-${i}` } })
      }),
    },
  }).createMachine({
    id: 'album',
    context: ({ input }) => ({ images: input.images, ended: 0, approvedBy: null }),
    initial: 'resizing',
    states: {
      resizing: {
        entry: 'resizeAll',
        on: { 'xstate.done.actor.image.*': { actions: assign({ ended: ({ context }) => context.ended + 1 }) } },
        always: { guard: ({ context }) => context.ended === context.images, target: 'printing' },
      },
      printing: { invoke: { src: 'book', id: 'book', onDone: 'review', onError: 'review' } },
      review: {
        on: { APPROVE: { target: 'published', actions: assign({ approvedBy: ({ event }) => event.by }) } },
        after: { '2d': 'dropped' },
      },
      published: { type: 'final' },
      dropped: { type: 'final' },
    },
  }),
})

/** A started runtime: an album of this many images waits for its approval. */
export async function albums(store: Store = memoryStore(), images = 3) {
  const runtime = createRuntime({ jobs: [resize, print, book, album], store, logger: {}, concurrency: 20 })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(album, { images }, { id: 'album-1' })
  await job.waitFor('review')
  return runtime
}

/** A job in a store with this many children that are queued: none of them is run. */
export async function putFamily(store: Store, children: number): Promise<void> {
  await put(store, newJob('parent-1', { type: 'album', version: '1' }))
  for (let at = 0; at < children; at += 1_000) {
    const jobs = Array.from({ length: Math.min(1_000, children - at) }, (_, i) =>
      newJob(`child-${at + i}`, { type: 'image.resize', parent: { id: 'parent-1', checkins: false } }),
    )
    await put(store, ...jobs)
  }
}
