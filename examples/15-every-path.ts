// Model-based tests: every path through the chart that XState finds is walked by a job, in virtual time, and after each
// step the job must stand where the model says.
//
// prints:
//   15 jobs went every way in 30 days, to draft, review, published, withdrawn
import assert from 'node:assert/strict'
import { defineJob } from 'jobchart'
import { createTestRuntime } from 'jobchart/testing'
import { assign, setup } from 'xstate'
import { getSimplePaths } from 'xstate/graph'

const machine = setup({
  types: { context: {} as { rounds: number }, events: {} as { type: 'SUBMIT' | 'APPROVE' | 'REJECT' } },
  actions: { count: assign({ rounds: ({ context }) => context.rounds + 1 }) },
  guards: { enough: ({ context }) => context.rounds >= 2 },
  delays: { threeDays: 3 * 24 * 3_600_000 },
}).createMachine({
  id: 'article',
  context: { rounds: 0 },
  initial: 'draft',
  states: {
    draft: { on: { SUBMIT: { target: 'review', actions: 'count' } } },
    review: {
      on: { APPROVE: 'published', REJECT: [{ guard: 'enough', target: 'withdrawn' }, { target: 'draft' }] },
      after: { threeDays: 'draft' },
    },
    published: { type: 'final' },
    withdrawn: { type: 'final' },
  },
})
const article = defineJob({ type: 'article', machine })
const { runtime, clock } = await createTestRuntime({ jobs: [article], lease: '1d' })

// The context is bounded, or there would be no end of paths.
const paths = getSimplePaths(machine, { stopWhen: ({ context }) => context.rounds === 3 })
const events = (['SUBMIT', 'APPROVE', 'REJECT'] as const).map((type) => ({ type }))
const startedAt = clock.now()
for (const { steps } of paths) {
  const job = await runtime.enqueue(article)
  for (const { event, state } of steps.slice(1)) {
    if (event.type.startsWith('xstate.after')) await clock.advance('3d')
    else await job.send(event)
    await clock.settle()
    const { value, context } = await job.snapshot()
    assert.deepEqual({ value, context }, { value: state.value, context: state.context })
    for (const each of events) assert.equal(await job.can(each), state.can(each))
  }
}
const reached = new Set(paths.map(({ state }) => state.value))
const days = (clock.now() - startedAt) / 24 / 3_600_000
console.log(`${paths.length} jobs went every way in ${days} days, to ${[...reached].join(', ')}`)
await runtime.stop()
