// A promise with attempts and steps of its own: the bank is away twice, the chart does not hear of it, and what is
// finished is not done again. While it waits for its next attempt the job takes no slot.
//
// prints:
//   attempt 1: hold 30 pounds
//   waiting: charge: attempt 1 of 5 failed: Error: the bank is away; the next one begins in 10000 ms
//   attempt 3: capture hold-7
//   done: capture-7
import { constant, defineJob, durable } from 'jobchart'
import { createTestRuntime } from 'jobchart/testing'
import { assign, setup } from 'xstate'

const charge = durable<string, number>(
  async ({ input: pounds, attempt, step }) => {
    // Its result is stored: the later attempts get it, also in another process.
    const hold = await step('hold', () => {
      console.log(`attempt ${attempt}: hold ${pounds} pounds`)
      return 'hold-7'
    })
    return step('capture', () => {
      if (attempt < 3) throw new Error('the bank is away')
      console.log(`attempt ${attempt}: capture ${hold}`)
      return 'capture-7'
    })
  },
  { retry: { maxAttempts: 5, backoff: constant('10s') }, attemptTimeout: '30s' },
)

const machine = setup({
  types: { input: {} as number, context: {} as { pounds: number; paid: string }, output: {} as string },
  actors: { charge },
}).createMachine({
  context: ({ input }) => ({ pounds: input, paid: '' }),
  initial: 'charging',
  states: {
    charging: {
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => context.pounds,
        onDone: { target: 'paid', actions: assign({ paid: ({ event }) => event.output }) },
        onError: 'unpaid',
      },
    },
    paid: { type: 'final' },
    unpaid: { type: 'final' },
  },
  output: ({ context }) => context.paid,
})

const payment = defineJob({ type: 'payment', machine })
const { runtime, clock } = await createTestRuntime({ jobs: [payment] })
const job = await runtime.enqueue(payment, 30)
await clock.advance('1s')
const { state, logs } = await job.record()
console.log(`${state}: ${logs[0]?.message}`)
await clock.advance('20s')
console.log(`done: ${await job.result()}`)
await runtime.stop()
