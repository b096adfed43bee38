/**
 * Telemetry that harms no job: what it throws is logged, once per method, and the work that it was to call is called
 * once, whatever it does.
 */
import type { Logger } from './logger.ts'
import type {
  AttemptEnd,
  AttemptPart,
  AttemptSpan,
  SendEnd,
  SendSpan,
  SentJobs,
  StartedAttempt,
  Telemetry,
  TelemetrySource,
  TraceContext,
} from './telemetry.ts'

/** @param logger gets a warning for each method that throws, the first time */
export const guardedTelemetry = (telemetry: Telemetry, logger: Logger): Telemetry =>
  new GuardedTelemetry(telemetry, new Guard(logger))

/** Calls of one telemetry. */
class Guard {
  private readonly logger: Logger
  private readonly reported = new Set<string>()

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** @returns what `call` gives, or `instead` if it throws */
  call<T>(method: string, call: () => T, instead: T): T {
    try {
      return call()
    } catch (error) {
      this.report(method, error)
      return instead
    }
  }

  /** Calls `work` within `call`. @returns what `work` gives @throws what `work` throws */
  around<T>(method: string, call: (work: () => T) => unknown, work: () => T): T {
    const ran: { outcome: Outcome<T> | null } = { outcome: null }
    const once = (): T => resultOf((ran.outcome ??= outcomeOf(work)))
    try {
      call(once)
    } catch (error) {
      const { outcome } = ran
      const isOfWork = outcome !== null && 'error' in outcome && outcome.error === error
      if (!isOfWork) this.report(method, error)
    }
    return once()
  }

  private report(method: string, error: unknown): void {
    if (this.reported.has(method)) return
    this.reported.add(method)
    this.logger.warn('the telemetry threw; jobs go on without it', { method, error })
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

function resultOf<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** @throws TypeError unless all of it is text that every store keeps */
function textOnly(context: TraceContext | undefined): TraceContext | undefined {
  const fields = Object.entries(context ?? {}).flat()
  if (fields.every((field) => field.isWellFormed())) return context
  throw new TypeError('a field of the trace context has a lone surrogate')
}

class GuardedTelemetry implements Telemetry {
  private readonly telemetry: Telemetry
  private readonly guard: Guard

  constructor(telemetry: Telemetry, guard: Guard) {
    this.telemetry = telemetry
    this.guard = guard
  }

  observe(source: TelemetrySource): () => void {
    const { guard } = this
    const end = guard.call('observe', () => this.telemetry.observe(source), null)
    return () => guard.call('observe', () => end?.(), undefined)
  }

  send(jobs: SentJobs): SendSpan | null {
    const { guard } = this
    const span = guard.call('send', () => this.telemetry.send(jobs), null)
    return span === null ? null : new GuardedSend(span, guard)
  }

  claimed(type: string, count: number): void {
    this.guard.call('claimed', () => this.telemetry.claimed(type, count), undefined)
  }

  attempt(started: StartedAttempt): AttemptSpan | null {
    const { guard } = this
    const span = guard.call('attempt', () => this.telemetry.attempt(started), null)
    return span === null ? null : new GuardedAttempt(span, guard)
  }

  batch<T>(type: string, attempts: readonly AttemptSpan[], work: () => T): T {
    const spans = attempts.map((each) => (each instanceof GuardedAttempt ? each.span : each))
    return this.guard.around('batch', (once) => this.telemetry.batch(type, spans, once), work)
  }
}

class GuardedSend implements SendSpan {
  private readonly span: SendSpan
  private readonly guard: Guard

  constructor(span: SendSpan, guard: Guard) {
    this.span = span
    this.guard = guard
  }

  contextOf(id: string): TraceContext | undefined {
    return this.guard.call('contextOf', () => textOnly(this.span.contextOf(id)), undefined)
  }

  end(end: SendEnd, ms: number): void {
    this.guard.call('end', () => this.span.end(end, ms), undefined)
  }
}

class GuardedAttempt implements AttemptSpan {
  readonly span: AttemptSpan
  private readonly guard: Guard

  constructor(span: AttemptSpan, guard: Guard) {
    this.span = span
    this.guard = guard
  }

  get context(): TraceContext | undefined {
    return this.guard.call('context', () => this.span.context, undefined)
  }

  within<T>(work: () => T): T {
    return this.guard.around('within', (once) => this.span.within(once), work)
  }

  part<T>(kind: AttemptPart, name: string, work: () => T): T {
    return this.guard.around('part', (once) => this.span.part(kind, name, once), work)
  }

  log(message: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    this.guard.call('log', () => this.span.log(message, fields), undefined)
  }

  end(end: AttemptEnd, ms: number): void {
    this.guard.call('end', () => this.span.end(end, ms), undefined)
  }
}
