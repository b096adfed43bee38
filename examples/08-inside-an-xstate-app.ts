// Inside an XState app: a job is an actor that your machines invoke, and the runtime is an actor, too.
//
// prints:
//   the runtime is running
//   editing
//   sending
//   sending: 1 of 2 are out
//   editing: carol@nowhere does not exist
//   sending
//   sending: 1 of 2 are out
//   sending: 2 of 2 are out
//   sent
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob, fromJob, JobDeadError } from 'jobchart'
import { distinctUntilChanged, from, map } from 'rxjs'
import { assign, createActor, setup, toPromise, waitFor } from 'xstate'

const sendMails = defineJob<{ to: string[] }, void>({
  type: 'mails.send',
  retry: { maxAttempts: 1 },
  run: async ({ to }, { checkin }) => {
    for (const [i, address] of to.entries()) {
      await sleep(10)
      if (address.endsWith('@nowhere')) throw new Error(`${address} does not exist`)
      checkin(`${i + 1} of ${to.length} are out`)
    }
  },
})
const runtime = createRuntime({ jobs: [sendMails] })
const problem = (error: unknown) => (error instanceof JobDeadError ? (error.cause as Error).message : String(error))

const newsletter = setup({
  types: { context: {} as { to: string[]; note: unknown }, events: {} as { type: 'SEND'; to: string[] } },
  actors: { sendMails: fromJob(sendMails, runtime) },
}).createMachine({
  context: { to: [], note: undefined },
  initial: 'editing',
  states: {
    editing: { on: { SEND: { target: 'sending', actions: assign({ to: ({ event }) => event.to }) } } },
    sending: {
      invoke: {
        src: 'sendMails',
        input: ({ context }) => ({ to: context.to }),
        onSnapshot: { actions: assign({ note: ({ event }) => event.snapshot.context.checkin }) },
        onDone: { target: 'sent' },
        onError: { target: 'editing', actions: assign({ note: ({ event }) => problem(event.error) }) },
      },
      entry: assign({ note: undefined }),
    },
    sent: { type: 'final', entry: assign({ note: undefined }) },
  },
})

await Promise.all([runtime.start(), waitFor(runtime.actor, (snapshot) => snapshot.matches('running'))])
console.log('the runtime is running')

const app = createActor(newsletter)
const lines = from(app).pipe(map(({ value, context }) => (context.note ? `${value}: ${context.note}` : value)))
lines.pipe(distinctUntilChanged()).subscribe((line) => console.log(line))

app.start().send({ type: 'SEND', to: ['ada@example.com', 'carol@nowhere'] })
await waitFor(app, (snapshot) => snapshot.context.note !== undefined && snapshot.matches('editing'))
app.send({ type: 'SEND', to: ['ada@example.com', 'carol@example.com'] })
await toPromise(app)
await runtime.stop()
