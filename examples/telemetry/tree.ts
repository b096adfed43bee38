/** Finished spans as lines: each below its parent, with what it says of itself and what it is linked to. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

const says = ['jobchart.outcome', 'jobchart.checkpoint', 'jobchart.actor', 'jobchart.step']

export function treeOf(spans: readonly ReadableSpan[], parent?: string): string[] {
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
    .toSorted(byStart)
    .flatMap((span) => [lineOf(span, spans), ...treeOf(spans, span.spanContext().spanId).map((line) => `  ${line}`)])
}

function lineOf({ name, attributes, links }: ReadableSpan, spans: readonly ReadableSpan[]): string {
  const said = says.flatMap((key) => attributes[key] ?? [])
  const linked = spans.find((span) => span.spanContext().spanId === links[0]?.context.spanId)
  return [name, ...said.map((what) => `: ${what}`), ...(linked ? [`, linked to ${linked.name}`] : [])].join('')
}

const byStart = (a: ReadableSpan, b: ReadableSpan): number =>
  a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]
