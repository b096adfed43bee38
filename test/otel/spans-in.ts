/** Finished spans by their names, and how they belong together. */
import type { InMemorySpanExporter, ReadableSpan } from '@opentelemetry/sdk-trace-base'

export function spansIn(exporter: InMemorySpanExporter) {
  const spans = exporter.getFinishedSpans().toSorted((a, b) => timeOf(a) - timeOf(b))
  const all = (name: string): readonly ReadableSpan[] => spans.filter((span) => span.name === name)
  const byId = (id: string | undefined): ReadableSpan | undefined =>
    spans.find((span) => span.spanContext().spanId === id)
  return {
    names: spans.map(({ name }) => name),
    all,
    /** The only one of this name. */
    one(name: string): ReadableSpan {
      const found = all(name)
      if (found.length !== 1)
        throw new Error(`${found.length} spans are called ${name}: ${spans.map((span) => span.name).join()}`)
      return found[0] as ReadableSpan
    },
    parentOf: (span: ReadableSpan | undefined) => byId(span?.parentSpanContext?.spanId),
    /** The span of its only link. */
    linkOf: (span: ReadableSpan | undefined) =>
      span?.links.length === 1 ? byId(span.links[0]?.context.spanId) : undefined,
  }
}

const timeOf = ({ startTime: [seconds, nanoseconds] }: ReadableSpan): number => seconds * 1e9 + nanoseconds
