/** What a program of a page does: jobs, a machine, virtual time and a picture; and what it is refused. */
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { toSvg } from 'jobchart/chart'
import { createTestRuntime } from 'jobchart/testing'
import { assign, setup } from 'xstate'

const greet = defineJob<{ name: string }, string>({
  type: 'greet',
  run: async ({ name }, ctx) => {
    ctx.checkin('half')
    await ctx.step('think', async () => 'thought')
    return `hello ${name}`
  },
})

const order = setup({ types: { context: {} as { paid: number }, events: {} as { type: 'PAY'; amount: number } } })
const orderMachine = order.createMachine({
  id: 'order',
  context: { paid: 0 },
  initial: 'open',
  states: {
    open: { on: { PAY: { target: 'packing', actions: assign({ paid: ({ event }) => event.amount }) } } },
    packing: { after: { 3_600_000: 'shipped' } },
    shipped: { type: 'final' },
  },
  output: ({ context }) => context.paid,
})
const orders = defineJob({ type: 'order', machine: orderMachine })

export async function program() {
  await using runtime = createRuntime({ jobs: [greet, orders], store: memoryStore() })
  await runtime.start()
  const greeting = await runtime.run(greet, { name: 'page' })
  const [worker] = await runtime.workers()

  const test = await createTestRuntime({ jobs: [orders] })
  const job = await test.runtime.enqueue(orders, undefined, { unique: { key: 'one' } })
  await job.send({ type: 'PAY', amount: 42 })
  await test.clock.advance('1h')
  const paid = await job.result()
  await test.runtime.stop()

  return {
    greeting,
    paid,
    host: worker?.host,
    pid: worker?.pid,
    picture: (await toSvg(orderMachine)).slice(0, 4),
    refused: await refusals(runtime),
  }
}

/** The codes of what a browser cannot do. */
async function refusals(runtime: ReturnType<typeof createRuntime>): Promise<unknown[]> {
  const thread = new URL('file:///resize.js')
  const calls = [
    () => createRuntime({ jobs: [], store: 'redis://localhost' }),
    () => createRuntime({ jobs: [defineJob({ type: 'resize', thread })] }),
    () => runtime.stopOn('SIGTERM'),
    () => createTestRuntime({ jobs: [], realWait: '1s' }),
  ]
  const codes: unknown[] = []
  for (const call of calls) {
    try {
      await call()
      codes.push('done')
    } catch (error) {
      codes.push((error as { code?: unknown }).code ?? String(error))
    }
  }
  return codes
}
