// Inside an XState app: a job is an actor that your machines invoke, and the runtime is an actor, too.
//
// prints:
//   the runtime is running
//   sending: 0 of 2 out
//   sending: 1 of 2 out
//   Error: no carol@nowhere
//   editing: 1 of 2 out
//   sending: 0 of 1 out
//   sending: 1 of 1 out
//   sent: 1 of 1 out
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob, fatal, fromJob } from 'jobchart'
import { distinctUntilChanged, from, map } from 'rxjs'
import { assign, createActor, setup, toPromise, waitFor } from 'xstate'

const sendMails = defineJob<{ to: string[] }, void>({
  type: 'mails.send',
  run: async ({ to }, { checkin }) => {
    for (const [i, address] of to.entries()) {
      await sleep(10)
      if (address.endsWith('@nowhere')) throw fatal(new Error(`no ${address}`))
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
const lines = from(app).pipe(map(({ value, context: { out, to } }) => `${value}: ${out} of ${to.length} out`))
lines.pipe(distinctUntilChanged()).subscribe((line) => console.log(line))

app.send({ type: 'SEND', to: ['ada@example.com', 'carol@nowhere'] })
await waitFor(app, (snapshot) => snapshot.matches('editing'))
app.send({ type: 'SEND', to: ['ada@example.com'] })
await toPromise(app)
await runtime.stop()
