// An order is a job, and the job is your statechart: a person approves it within two days, or what was paid goes back.
//
// prints:
//   4 orders wait, 0 slots are taken
//   to ada: your tea is on its way
//   to eve: here are your 30 back
//   to bob: here are your 20 back
//   orders: 2 done, 1 cancelled, 1 waits
//   to joe: here are your 40 back
import { defineJob, fromJob } from 'jobchart'
import { createTestRuntime } from 'jobchart/testing'
import { fromPromise, setup } from 'xstate'

const sendEmail = defineJob<{ text: string }, void>({ type: 'email.send', run: ({ text }) => console.log(text) })
type Order = { who: string; pounds: number; address: string }
const input = ({ context }: { context: Order }) => context
const thanks = ({ context }: { context: Order }) => ({ text: `to ${context.who}: your tea is on its way` })
const sorry = ({ context }: { context: Order }) => ({ text: `to ${context.who}: here are your ${context.pounds} back` })

const machine = setup({
  types: { input: {} as Order, context: {} as Order, events: {} as { type: 'APPROVE' | 'job.cancel' } },
  actors: {
    // Called again after a crash, it has the same `self.sessionId`: the idempotency key.
    charge: fromPromise<string, Order>(async ({ input, self }) => `${self.sessionId}: ${input.pounds} charged`),
    refund: fromPromise<string, Order>(async ({ input, self }) => `${self.sessionId}: ${input.pounds} given back`),
    ship: fromPromise<string, Order>(async ({ input }) => input.address || Promise.reject(new Error('no address'))),
    sendEmail: fromJob(sendEmail), // a job of its own, the order's child
  },
  delays: { twoDays: 48 * 3_600_000 },
}).createMachine({
  context: ({ input }) => input,
  initial: 'charge',
  states: {
    charge: { invoke: { src: 'charge', input, onDone: 'approval', onError: 'refused' } },
    approval: { on: { APPROVE: 'ship', 'job.cancel': 'refund' }, after: { twoDays: 'refund' } },
    ship: { on: { 'job.cancel': 'refund' }, invoke: { src: 'ship', input, onDone: 'thank', onError: 'refund' } },
    refund: { invoke: { src: 'refund', input, onDone: 'apologise' } },
    thank: { invoke: { src: 'sendEmail', input: thanks, onDone: 'shipped' } },
    apologise: { invoke: { src: 'sendEmail', input: sorry, onDone: 'refunded' } },
    shipped: { type: 'final' },
    refunded: { type: 'final' },
    refused: { type: 'final' },
  },
})

const order = defineJob({ type: 'order', machine })
const { runtime, clock } = await createTestRuntime({ jobs: [order, sendEmail] })
for (const [i, who] of ['ada', 'bob', 'eve', 'joe'].entries()) {
  await runtime.enqueue(order, { who, pounds: 10 * i + 10, address: who === 'bob' ? '' : 'here' }, { id: who })
}
await clock.settle()
console.log(`${(await runtime.counts()).waiting} orders wait, ${(await runtime.stats()).taken} slots are taken`)
await runtime.send('ada', { type: 'APPROVE' })
await runtime.send('bob', { type: 'APPROVE' })
await runtime.cancel('eve')
await clock.settle()
const counts = (await runtime.counts()).types['order']
console.log(`orders: ${counts?.done} done, ${counts?.cancelled} cancelled, ${counts?.waiting} waits`)
await clock.advance('48h') // joe's time is up
await runtime.stop()
