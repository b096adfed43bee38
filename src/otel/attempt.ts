/** The span of an attempt, and of its parts. */
import {
  context,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import type { ErrorRecord } from '../core/failure.ts'
import type { AttemptEnd, AttemptPart, AttemptSpan, TraceContext } from '../core/telemetry.ts'
import { attribute, errorType } from './attributes.ts'
import type { Instruments } from './instruments.ts'
import { logAttributes, logRecord, type LogSink } from './log.ts'
import { endingWith, failSpan } from './spans.ts'

interface OtelAttemptOptions {
  readonly tracer: Tracer
  readonly instruments: Instruments
  readonly type: string
  readonly span: Span
  /** The attributes of spans and metrics of its type. */
  readonly about: Attributes
  /** With the span. */
  readonly context: Context
  readonly carrier: () => TraceContext | undefined
  readonly options: { readonly checkpoints: boolean; readonly steps: boolean; readonly logger: LogSink | null }
}

/** How an attempt has ended, in the words of the conventions. */
interface Outcome {
  readonly outcome: 'done' | 'cancelled' | 'parked' | 'snoozed' | 'released' | 'retrying' | 'dead' | 'lost'
  readonly error?: ErrorRecord | undefined
}

const leaseLost: ErrorRecord = { name: 'LeaseLost', message: 'the lease of the attempt was lost', code: 'LEASE_LOST' }

export class OtelAttempt implements AttemptSpan {
  private readonly made: OtelAttemptOptions

  constructor(made: OtelAttemptOptions) {
    this.made = made
  }

  get context(): TraceContext | undefined {
    return this.made.carrier()
  }

  get spanContext(): SpanContext {
    return this.made.span.spanContext()
  }

  within<T>(work: () => T): T {
    return context.with(this.made.context, work)
  }

  part<T>(kind: AttemptPart, name: string, work: () => T): T {
    const { tracer, type, options, context: own } = this.made
    if (!(kind === 'checkpoint' ? options.checkpoints : options.steps)) return work()
    // A step may be a part of an attempt of a durable promise.
    const active = context.active()
    const parent = trace.getSpanContext(active)?.traceId === this.spanContext.traceId ? active : own
    // Names of steps may have ids in them: the name of a span has none.
    // A checkpoint that no event has led to has no name.
    const attributes = { [attribute.destination]: type, ...(name !== '' && { [attribute[kind]]: name }) }
    const span = tracer.startSpan(`${kind} ${type}`, { kind: SpanKind.INTERNAL, attributes }, parent)
    return endingWith(span, () => context.with(trace.setSpan(parent, span), work))
  }

  log(message: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    const { span, options, context: own } = this.made
    const { logger } = options
    const attributes = logAttributes(fields)
    if (logger === null) span.addEvent(message, attributes)
    else logger.emit(logRecord(message, attributes, own))
  }

  end(end: AttemptEnd, ms: number): void {
    const { span, about, instruments } = this.made
    const { outcome, error } = outcomeOf(end)
    span.setAttribute(attribute.outcome, outcome)
    if (error !== undefined) failSpan(span, error)
    span.end()
    if (!instruments.areCollected) return
    instruments.processDuration.record(ms / 1_000, {
      ...about,
      [attribute.outcome]: outcome,
      ...(error !== undefined && { [attribute.errorType]: errorType(error) }),
    })
    if (outcome === 'retrying') instruments.retries.add(1, about)
    else if (outcome === 'dead') instruments.deaths.add(1, about)
    else if (outcome === 'lost') instruments.lostLeases.add(1, about)
  }
}

function outcomeOf(end: AttemptEnd): Outcome {
  if (end === 'lost') return { outcome: 'lost', error: leaseLost }
  const { event, to, error } = end
  if (to === 'cancelled') return { outcome: 'cancelled' }
  if (event === 'COMPLETE') return { outcome: 'done' }
  if (event === 'FAIL') return { outcome: to === 'retrying' ? 'retrying' : 'dead', error }
  // A snooze, a park and a release are no errors: nothing has failed.
  return { outcome: event === 'SNOOZE' ? 'snoozed' : event === 'PARK' ? 'parked' : 'released' }
}
