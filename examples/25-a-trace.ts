// A trace from an HTTP request through a machine and its child job to an e-mail: `parent: 'first'` keeps it in one.
//
// prints:
//   POST /orders
//     send order
//       process order: parked
//         checkpoint order: xstate.init → paying
//         actor order: charge
//           step order: capture
//         checkpoint order: xstate.done.actor.charge → writing
//         send email
//           process email: done
//             smtp
//         checkpoint order: work started
//   process order: done, linked to send order
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createRuntime, defineJob, durable, fromJob } from 'jobchart'
import { otel } from 'jobchart/otel'
import { setup } from 'xstate'
import { treeOf } from './telemetry/tree.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const tracer = tracerProvider.getTracer('shop')

const email = defineJob({ type: 'email', run: () => tracer.startSpan('smtp').end() })
const charge = durable(async ({ step }) => step('capture', () => 'captured'))
const machine = setup({ actors: { charge, email: fromJob(email) } }).createMachine({
  initial: 'paying',
  states: {
    paying: { invoke: { id: 'charge', src: 'charge', onDone: 'writing' } },
    writing: { invoke: { id: 'email', src: 'email', onDone: 'done' } },
    done: { type: 'final' },
  },
})
const order = defineJob({ type: 'order', machine })
const propagator = new W3CTraceContextPropagator()
const telemetry = otel({ tracerProvider, propagator, parent: 'first', steps: true })
await using runtime = createRuntime({ jobs: [order, email], telemetry })
await runtime.start()
const server = createServer((request, response) => {
  void tracer.startActiveSpan(`${request.method} ${request.url}`, async (span) => {
    response.end((await runtime.enqueue(order)).id)
    span.end()
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const answer = await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST' })
await (await runtime.job(await answer.text()))?.result()
server.close().closeAllConnections()
await runtime.stop()
console.log(treeOf(exporter.getFinishedSpans()).join('\n'))
