/** The jobs of two processes, and a process that runs them or enqueues one: it says its spans. */
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { setup } from 'xstate'
import { createClient, createRuntime, defineJob, fromJob } from 'jobchart'
import { openStore } from 'jobchart/open'
import { otel } from 'jobchart/otel'

export interface SaidSpan {
  readonly name: string
  readonly id: string
  readonly trace: string
  readonly parent: string | undefined
  readonly links: readonly string[]
  readonly outcome: unknown
}

const email = defineJob({ type: 'email', run: () => {} })
const machine = setup({ actors: { email: fromJob(email) } }).createMachine({
  initial: 'writing',
  states: { writing: { invoke: { src: 'email', onDone: 'done' } }, done: { type: 'final' } },
})
const order = defineJob({ type: 'order', machine })

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const telemetry = otel({ tracerProvider, propagator: new W3CTraceContextPropagator(), parent: 'first' })

const [role, address = ''] = process.argv.slice(2)
const options = { jobs: [order, email], store: await openStore(address), telemetry, logger: {} }
if (role === 'client') {
  const client = createClient(options)
  await tracerProvider.getTracer('shop').startActiveSpan('request', async (span) => {
    const job = await client.enqueue(order)
    span.end()
    await job.result()
  })
  await client.close()
} else {
  const runtime = createRuntime(options)
  await runtime.start()
  process.send?.('ready')
  await new Promise((resolve) => process.once('message', resolve))
  await runtime.stop()
}
const said = exporter.getFinishedSpans().map((span): SaidSpan => ({
  name: span.name,
  id: span.spanContext().spanId,
  trace: span.spanContext().traceId,
  parent: span.parentSpanContext?.spanId,
  links: span.links.map((link) => link.context.spanId),
  outcome: span.attributes['jobchart.outcome'],
}))
process.send?.(said)
process.disconnect?.()
