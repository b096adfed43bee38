/** `runtimes-program.ts <address of a store>`: a job and a machine on that store, until the process ends by itself. */
import { createRuntime, defineJob } from 'jobchart'
import { setup } from 'xstate'

const double = defineJob<number, number>({
  type: 'double',
  run: async (n, ctx) => 2 * (await ctx.step('one', async () => n)),
})
const order = defineJob({
  type: 'order',
  machine: setup({ types: { events: {} as { type: 'PAY' } } }).createMachine({
    id: 'order',
    initial: 'open',
    states: { open: { on: { PAY: 'paid' } }, paid: { after: { 10: 'shipped' } }, shipped: { type: 'final' } },
  }),
})

const [address = 'memory:'] = process.argv.slice(2)
const runtime = createRuntime({ jobs: [double, order], store: address })
await runtime.start()
const job = await runtime.enqueue(order)
await job.send({ type: 'PAY' })
await job.result()
console.log(await runtime.run(double, 21), (await runtime.counts()).done)
await runtime.stop()
