// Inside an event-driven app: a webhook becomes an event of the machine. It is kept before it is answered, and read
// once. One that comes before its state waits for it. One that is repeated changes nothing: its key says which it is.
//
// prints:
//   order-7/sent e1 202
//   order-7/sent e1 202
//   order-7/paid e2 202
//   [ 'paid', 'sent' ]
//   order-7/paid e3 409 job order-7 is done: it accepts no events
//   order-8/sent e4 404 job order-8 is not in the store
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { assign, setup } from 'xstate'

const machine = setup({
  types: { context: {} as { heard: string[] }, events: {} as { type: 'paid' | 'sent' }, output: {} as string[] },
  actions: { hear: assign({ heard: ({ context, event }) => [...context.heard, event.type] }) },
}).createMachine({
  context: { heard: [] },
  initial: 'open',
  states: {
    open: { on: { paid: { target: 'paid', actions: 'hear' } } },
    paid: { on: { sent: { target: 'sent', actions: 'hear' } } },
    sent: { type: 'final' },
  },
  output: ({ context }) => context.heard,
})
const order = defineJob({ type: 'order', machine })
const runtime = createRuntime({ jobs: [order] })
await runtime.start()

const statuses: Partial<Record<string, number>> = { NOT_ACCEPTED: 409, NOT_FOUND: 404, CAPACITY: 503 }

// POST /order-7/paid, with the sender's id of the event
const server = createServer((request, response) => {
  const [, id = '', type = ''] = (request.url ?? '').split('/')
  runtime.send(id, { type }, { accept: 'later', key: String(request.headers['x-event-id']) }).then(
    () => response.writeHead(202).end(),
    (error: JobchartError) => response.writeHead(statuses[error.code] ?? 500).end(error.message),
  )
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

async function post(path: string, event: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST', headers: { 'x-event-id': event } })
  console.log(`${path} ${event} ${response.status} ${await response.text()}`.trim())
}
const job = await runtime.enqueue(order, undefined, { id: 'order-7' })
await post('order-7/sent', 'e1') // too early: it waits for the state that takes it
await post('order-7/sent', 'e1') // and comes twice
await post('order-7/paid', 'e2')
console.log(await job.result())
await post('order-7/paid', 'e3')
await post('order-8/sent', 'e4')
server.close()
await runtime.stop()
