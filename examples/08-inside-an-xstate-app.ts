// Inside an XState app: a job is an actor that your machines invoke, and the runtime is an actor, too.
//
// prints:
//   the runtime is running
//   sending: 0 of 2 out
//   sending: 1 of 2 out
//   Error: carol@nowhere does not exist
//   editing: 1 of 2 out
//   sending: 0 of 1 out
//   sending: 1 of 1 out
//   sent: 1 of 1 out
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob, fromJob } from 'jobchart'
import { distinctUntilChanged, from, map } from 'rxjs'
import { assign, createActor, setup, toPromise, waitFor, type SnapshotFrom } from 'xstate'

const sendMails = defineJob<{ to: string[] }, void>({
  type: 'mails.send',
  retry: { maxAttempts: 1 },
  run: async ({ to }, { checkin }) => {
    for (const [i, address] of to.entries()) {
      await sleep(10)
      if (address.endsWith('@nowhere')) throw new Error(`${address} does not exist`)
      checkin(i + 1)
    }
  },
})
const runtime = createRuntime({ jobs: [sendMails] })
await Promise.all([runtime.start(), waitFor(runtime.actor, (snapshot) => snapshot.matches('running'))])
console.log('the runtime is running')

const newsletter = setup({
  types: { context: {} as { to: string[]; out: number }, events: {} as { type: 'SEND'; to: string[] } },
  actors: { sendMails: fromJob(sendMails, runtime) },
}).createMachine({
  context: { to: [], out: 0 },
  initial: 'editing',
  states: {
    editing: { on: { SEND: { target: 'sending', actions: assign(({ event }) => ({ to: event.to, out: 0 })) } } },
    sending: {
      invoke: {
        src: 'sendMails',
        input: ({ context }) => ({ to: context.to }),
        onSnapshot: { actions: assign({ out: ({ event }) => Number(event.snapshot.context.checkin ?? 0) }) },
        onDone: 'sent',
        onError: { target: 'editing', actions: ({ event }) => console.log(String((event.error as Error).cause)) },
      },
    },
    sent: { type: 'final' },
  },
})

const app = createActor(newsletter).start()
const line = ({ value, context: { out, to } }: SnapshotFrom<typeof newsletter>) =>
  `${value}: ${out} of ${to.length} out`
from(app)
  .pipe(map(line), distinctUntilChanged())
  .subscribe((text) => console.log(text))

app.send({ type: 'SEND', to: ['ada@example.com', 'carol@nowhere'] })
await waitFor(app, (snapshot) => snapshot.matches('editing'))
app.send({ type: 'SEND', to: ['ada@example.com'] })
await toPromise(app)
await runtime.stop()
