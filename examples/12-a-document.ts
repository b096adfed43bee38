// A document is a job, and each of its pages is one; the chart joins them, and takes no slot while it waits.
//
// prints:
//   the document is waiting, 4 other jobs are running
//   the document is done: 9 words
//   xstate.done.actor.page.3 → (drawing.cover, reading.pages)
//   xstate.done.actor.page.2 → (drawing.cover, reading.pages)
//   xstate.done.actor.page.1 → (drawing.cover, reading.read)
import { defineJob, fromJob } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'
import { assign, enqueueActions, setup, type DoneActorEvent } from 'xstate'

const clock = new VirtualClock()
const read = defineJob<{ page: string }, number>({
  type: 'read',
  run: ({ page }) => clock.sleep(page.length).then(() => page.split(' ').length), // the shortest is read first
})
const draw = defineJob<undefined, void>({ type: 'draw', run: () => clock.sleep('1m') })

const machine = setup({
  types: {
    input: {} as { pages: string[] },
    context: {} as { pages: string[]; open: number; words: number },
    output: {} as { words: number },
    events: {} as DoneActorEvent<number, `page.${number}`>,
  },
  actors: { read: fromJob(read), draw: fromJob(draw) },
  actions: {
    readAll: enqueueActions(({ context: { pages }, enqueue }) => {
      for (const [i, page] of pages.entries()) enqueue.spawnChild('read', { id: `page.${i + 1}`, input: { page } })
    }),
    count: assign(({ context, event }) => ({ open: context.open - 1, words: context.words + event.output })),
  },
  guards: { allRead: ({ context }) => context.open === 0 },
}).createMachine({
  context: ({ input: { pages } }) => ({ pages, open: pages.length, words: 0 }),
  type: 'parallel',
  states: {
    drawing: {
      initial: 'cover',
      states: { cover: { invoke: { id: 'cover', src: 'draw', onDone: 'drawn' } }, drawn: { type: 'final' } },
    },
    reading: {
      entry: 'readAll',
      on: { 'xstate.done.actor.page.*': { actions: 'count' } },
      initial: 'pages',
      states: { pages: { always: { guard: 'allRead', target: 'read' } }, read: { type: 'final' } },
    },
  },
  output: ({ context }) => ({ words: context.words }),
})
const document = defineJob({ type: 'document', machine })
const { runtime } = await createTestRuntime({ jobs: [document, read, draw], clock })
const job = await runtime.enqueue(document, { pages: ['It was the best of times', 'it was', 'the'] })
await clock.settle()
console.log(`the document is ${(await job.record()).state}, ${(await runtime.stats()).taken} other jobs are running`)
await clock.advance('1m')
console.log(`the document is ${(await job.record()).state}: ${(await job.result()).words} words`)
for (const { note } of await job.checkpoints()) if (note.includes('page.')) console.log(note)
await runtime.stop()
