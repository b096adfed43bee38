// A subscription is a job that lives as long as it is paid. Its timers are data with a deadline, so that it outlives
// every process; in a test months take no time.
//
// prints:
//   2026-01-01 paid
//   2026-01-31 the card was refused
//   2026-02-01 the card was refused
//   2026-02-02 paid
//   2026-03-04 paid
//   2026-03-14 active, to the end of the month; the job is waiting
//   2026-04-03 ended after 3 payments
import { constant, defineJob, fromJob } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'
import { assign, setup, stateIn } from 'xstate'

const clock = new VirtualClock()
const say = (text: string): void => console.log(new Date(clock.now()).toISOString().slice(0, 10), text)

const charge = defineJob<undefined, void>({
  type: 'charge',
  retry: { maxAttempts: 5, backoff: constant({ base: '1d', jitter: false }) }, // a refused card is tried again the next day
  run: () => {
    const refused = clock.now() >= Date.UTC(2026, 0, 31) && clock.now() < Date.UTC(2026, 1, 2)
    say(refused ? 'the card was refused' : 'paid')
    if (refused) throw new Error('the card was refused')
  },
})

const machine = setup({
  types: { context: {} as { payments: number }, events: {} as { type: 'LEAVE' }, output: {} as { payments: number } },
  actors: { charge: fromJob(charge) },
  actions: { count: assign({ payments: ({ context }) => context.payments + 1 }) },
  guards: { leaving: stateIn('#leaving') },
  delays: { month: 30 * 24 * 3_600_000 },
}).createMachine({
  context: { payments: 0 },
  initial: 'paying',
  states: {
    paying: { invoke: { src: 'charge', onDone: { target: 'active', actions: 'count' }, onError: 'ended' } },
    active: {
      after: { month: [{ guard: 'leaving', target: 'ended' }, { target: 'paying' }] },
      initial: 'renewing',
      states: { renewing: { on: { LEAVE: 'leaving' } }, leaving: { id: 'leaving', tags: 'to the end of the month' } },
    },
    ended: { type: 'final' },
  },
  output: ({ context }) => context,
})

const subscription = defineJob({ type: 'subscription', machine })
const { runtime } = await createTestRuntime({ jobs: [subscription, charge], clock, lease: '1d' }) // fewer heartbeats
const job = await runtime.enqueue(subscription)
await clock.advance('72d')
await job.send({ type: 'LEAVE' })
const { tags } = await job.waitFor('active.leaving')
say(`active, ${tags.join()}; the job is ${(await job.record()).state}`)
await clock.advance('20d')
say(`ended after ${(await job.result()).payments} payments`)
await runtime.stop()
