/** Makes the `telemetry` of a runtime or client from the API of OpenTelemetry. */
import {
  context,
  isSpanContextValid,
  metrics,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type MeterProvider,
  type Span,
  type TextMapPropagator,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { boolean, byDefault, oneOf, orNull, table, withMethods, type RulesOf } from '../core/checks.ts'
import { recordError } from '../core/failure.ts'
import type {
  AttemptSpan,
  SendEnd,
  SendSpan,
  SentJobs,
  StartedAttempt,
  Telemetry,
  TelemetrySource,
  TraceContext,
} from '../core/telemetry.ts'
import { version } from '../core/version.ts'
import { OtelAttempt } from './attempt.ts'
import { attribute, AttributesByType, errorType } from './attributes.ts'
import { Instruments } from './instruments.ts'
import type { LogSink } from './log.ts'
import { endingWith, failSpan } from './spans.ts'

export interface OtelOptions {
  /**
   * How the span of an attempt finds the trace of its enqueue. `link` (default): each attempt is a trace of its own,
   * linked to it, because a job may live for weeks. `first`: the first attempt belongs to the trace of the enqueue;
   * later ones are linked.
   */
  readonly parent?: 'link' | 'first'
  /** A span for each checkpoint of a machine. Default true. */
  readonly checkpoints?: boolean
  /** A span for each `ctx.step` and each attempt of a durable promise. Default false. */
  readonly steps?: boolean
  /** Default: the global one, also if it is registered later. */
  readonly tracerProvider?: TracerProvider
  /** Default: the one that is global when the runtime opens its store, or enqueues first. */
  readonly meterProvider?: MeterProvider
  /** Writes and reads what jobs carry. Default: the global one. */
  readonly propagator?: TextMapPropagator
  /**
   * Gets the lines of `ctx.log` as log records, in the context of their attempt: `logs.getLogger('jobs')` of
   * `@opentelemetry/api` (before 1.10 of `@opentelemetry/api-logs`). Default: none; the lines are events of the span.
   */
  readonly logger?: LogSink
}

const otelOptions = table({
  parent: byDefault('link', oneOf('link', 'first')),
  checkpoints: byDefault(true, boolean),
  steps: byDefault(false, boolean),
  tracerProvider: orNull(withMethods<TracerProvider>(['getTracer'], 'a TracerProvider', 'Pass that of your SDK.')),
  meterProvider: orNull(withMethods<MeterProvider>(['getMeter'], 'a MeterProvider', 'Pass that of your SDK.')),
  propagator: orNull(withMethods<TextMapPropagator>(['inject', 'extract'], 'a propagator', 'Leave it out.')),
  logger: orNull(withMethods<LogSink>(['emit'], 'a logger of OpenTelemetry', 'Pass logs.getLogger(…).')),
} satisfies RulesOf<OtelOptions>)

/** Characters of what a job carries at most. More of it than `traceparent` is left out. */
const carrierCharsMax = 4_096

const scope = 'jobchart'

/**
 * Traces and metrics of a runtime or client. Each enqueue is a span (`send`, of several jobs with a `create` for each),
 * and each attempt one (`process`), linked to it; the trace context travels with the job. Handlers run in the context
 * of their attempt.
 * @throws JobchartError INVALID_OPTION
 * @example createRuntime({ jobs, telemetry: otel() })
 */
export function otel(options: OtelOptions = {}): Telemetry {
  return new Otel(otelOptions(options, 'options of otel'))
}

type CheckedOptions = ReturnType<typeof otelOptions>

class Otel implements Telemetry {
  private readonly options: CheckedOptions
  private readonly tracer: Tracer
  private readonly attributes = new AttributesByType()
  private made: Instruments | null = null
  private hasTracer = false

  constructor(options: CheckedOptions) {
    this.options = options
    this.tracer = (options.tracerProvider ?? trace.getTracerProvider()).getTracer(scope, version)
  }

  /** Made when first used: a global provider may be registered after `otel()` was called. */
  private get instruments(): Instruments {
    return (this.made ??= new Instruments(
      (this.options.meterProvider ?? metrics.getMeterProvider()).getMeter(scope, version),
    ))
  }

  observe(source: TelemetrySource): () => void {
    return this.instruments.observe(source)
  }

  /** Are spans made? As long as no global provider is registered, none are. */
  private get isTracing(): boolean {
    this.hasTracer ||= this.options.tracerProvider !== null || hasDelegate(trace.getTracerProvider())
    return this.hasTracer
  }

  send({ type, from, count }: SentJobs): SendSpan | null {
    const { tracer, instruments } = this
    if (!this.isTracing && !instruments.areCollected) return null
    const about = this.attributes.of(type)
    const parent = context.active()
    const kind = count === null ? SpanKind.PRODUCER : SpanKind.CLIENT
    const span = tracer.startSpan(`send ${type}`, { kind, attributes: about.send }, parent)
    if (span.isRecording()) span.setAttributes({ [attribute.from]: from, ...(count !== null && sizeOf(count)) })
    const contextOf = (id: string): TraceContext | undefined => {
      if (count === null) {
        span.setAttribute(attribute.messageId, id)
        return this.carrier(span, parent)
      }
      const own = tracer.startSpan(
        `create ${type}`,
        { kind: SpanKind.PRODUCER, attributes: about.create },
        trace.setSpan(parent, span),
      )
      own.setAttribute(attribute.messageId, id)
      own.end()
      return this.carrier(own, parent)
    }
    const end = (result: SendEnd, ms: number): void => {
      const error = 'error' in result ? recordError(result.error) : null
      if (error !== null) failSpan(span, error)
      else if (span.isRecording() && !('error' in result))
        span.setAttributes({ [attribute.inserted]: result.inserted, [attribute.found]: result.found })
      span.end()
      if (!instruments.areCollected) return
      if (!('error' in result) && result.inserted > 0) instruments.sent.add(result.inserted, about.send)
      const failed = error === null ? about.send : { ...about.send, [attribute.errorType]: errorType(error) }
      instruments.sendDuration.record(ms / 1_000, failed)
    }
    return { contextOf, end }
  }

  claimed(type: string, count: number): void {
    const { consumed, areCollected } = this.instruments
    if (areCollected) consumed.add(count, this.attributes.of(type).claim)
  }

  attempt(started: StartedAttempt): AttemptSpan | null {
    const { tracer, instruments, options } = this
    if (!this.isTracing && !instruments.areCollected && options.logger === null) return null
    const { id, type, attempt, generation } = started
    const about = this.attributes.of(type).process
    const sent = started.context === undefined ? ROOT_CONTEXT : this.extracted(started.context)
    const enqueue = trace.getSpanContext(sent)
    const belongs = options.parent === 'first' && started.isFirst()
    // Baggage of the enqueue stays, whether or not the attempt belongs to its trace.
    const parent = belongs || enqueue === undefined ? sent : trace.deleteSpan(sent)
    const links = enqueue === undefined || belongs ? [] : [{ context: enqueue }]
    const span = tracer.startSpan(`process ${type}`, { kind: SpanKind.CONSUMER, attributes: about, links }, parent)
    if (span.isRecording())
      span.setAttributes({
        [attribute.messageId]: id,
        [attribute.attempt]: attempt,
        [attribute.generation]: generation,
      })
    if (instruments.areCollected) {
      const queuedMs = started.queuedMs()
      if (queuedMs !== null) instruments.queueTime.record(queuedMs / 1_000, about)
    }
    const within = isSpanContextValid(span.spanContext()) ? trace.setSpan(parent, span) : parent
    const carrier = (): TraceContext | undefined => this.carrier(span, parent)
    return new OtelAttempt({ tracer, instruments, type, span, about, context: within, options, carrier })
  }

  batch<T>(type: string, attempts: readonly AttemptSpan[], work: () => T): T {
    const links = attempts.flatMap((each) => (each instanceof OtelAttempt ? { context: each.spanContext } : []))
    const attributes = { ...this.attributes.of(type).process, ...sizeOf(attempts.length) }
    const span = this.tracer.startSpan(
      `process ${type} batch`,
      { kind: SpanKind.INTERNAL, attributes, links },
      ROOT_CONTEXT,
    )
    return endingWith(span, () => context.with(trace.setSpan(ROOT_CONTEXT, span), work))
  }

  /** What travels with what a span causes; undefined if it is no span of a trace. */
  private carrier(span: Span, parent: Context): TraceContext | undefined {
    if (!isSpanContextValid(span.spanContext())) return undefined
    const from = trace.setSpan(parent, span)
    const carrier: Record<string, string> = {}
    const { propagator } = this.options
    if (propagator === null) propagation.inject(from, carrier)
    else propagator.inject(from, carrier, { set: (into, key, value) => (into[key] = value) })
    return bounded(carrier)
  }

  private extracted(carried: TraceContext): Context {
    const { propagator } = this.options
    if (propagator === null) return propagation.extract(ROOT_CONTEXT, carried)
    return propagator.extract(ROOT_CONTEXT, carried, {
      get: (from: TraceContext, key) => from[key],
      keys: (from: TraceContext) => Object.keys(from),
    })
  }
}

/** The global provider stands for one that is registered later. */
const hasDelegate = (provider: TracerProvider): boolean =>
  !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(scope) !== undefined

/** undefined if there is nothing in it: no propagator is registered, or no trace is there. */
function bounded(carrier: Readonly<Record<string, string>>): TraceContext | undefined {
  const fields = Object.entries(carrier)
  if (fields.length === 0) return undefined
  const chars = fields.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (chars <= carrierCharsMax) return carrier
  const { traceparent } = carrier
  return traceparent === undefined ? undefined : { traceparent }
}

const sizeOf = (jobs: number): Attributes => ({ [attribute.batchSize]: jobs })
