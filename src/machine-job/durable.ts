/**
 * `durable(work, { retry, attemptTimeout })`: promise logic like `fromPromise(work)`, with retries and stored steps.
 *
 *   attempt 1 ── rejects ──▶ waits (a timer of the actor) ── due ──▶ attempt 2 ── … ──▶ done, or the last error
 *
 * The snapshot of the actor holds the number of the attempt and whether it waits; the timer belongs to the actor
 * system. So in a machine job the checkpoint holds both, an attempt begins after the checkpoint with its number, and
 * the job is parked while all its actors wait. An attempt that a crash has cut off begins again with the same number.
 */
import type {
  AnyActorRef,
  AnyActorScope,
  EventObject,
  NonReducibleUnknown,
  PromiseActorLogic,
  PromiseSnapshot,
  Snapshot,
} from 'xstate'
import { byDefault, table, type RulesOf } from '../core/checks.ts'
import { systemRandom, type Timer } from '../core/clock.ts'
import { retryOption, type RetryOptions, type RunContext } from '../core/definition.ts'
import { invalidOption, JobchartError, TimeoutError } from '../core/errors.ts'
import { StepResults, Steps } from '../core/steps.ts'
import { backoffMs, exponential, type AttemptBackoff, type BackoffPolicy } from '../core/backoff.ts'
import { attemptTimeoutOf, attemptTimeoutRules, type AttemptTimeoutOptions } from '../core/attempt-timeout.ts'
import { recordError, type ErrorRecord } from '../core/failure.ts'
import type { OpenTransaction } from '../core/open-transaction.ts'
import { FatalError, Snooze } from '../core/intent.ts'
import { runnerOf } from './machine-run-services.ts'

/** The argument of a durable promise's work: as of `fromPromise`, with the attempt and its steps. */
export interface DurableScope<Input = NonReducibleUnknown, Emitted extends EventObject = EventObject> {
  readonly input: Input
  /** Aborts when the actor is stopped, when the attempt times out or fails, and when the run of its job ends. */
  readonly signal: AbortSignal
  /** 1 for the first attempt of this actor. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Runs `work` once per actor: the result is stored, and later attempts, also after a crash, get the stored result.
   * Another actor may use the same names. The results are deleted after the end of the actor. Outside of a job they are
   * kept in memory.
   * @throws as `step` of a handler (`RunContext.step`); NOT_ACCEPTED after the end of the attempt
   * @example const charge = await step('charge', () => charges.create(input.card, { key: `${self.sessionId}/charge` }))
   */
  readonly step: RunContext['step']
  /** `self.sessionId` is the same in all attempts of this start of this actor: use it as an idempotency key. */
  readonly self: AnyActorRef
  readonly system: AnyActorRef['system']
  readonly emit: (emitted: Emitted) => void
}

export interface DurableOptions extends AttemptTimeoutOptions {
  /** As of a job: 3 attempts, exponential backoff from 1 s to 1 h with full jitter. */
  readonly retry?: Omit<RetryOptions, 'backoff'> & { readonly backoff?: AttemptBackoff }
}

const ofDurable = (option: string): string => `${option} of durable`

const durableOptions = table(
  {
    retry: byDefault({}, retryOption<Exclude<AttemptBackoff, BackoffPolicy>>()),
    ...attemptTimeoutRules,
  } satisfies RulesOf<DurableOptions>,
  { nameOf: ofDurable },
)

/** The part of a durable promise's snapshot that a promise's snapshot does not have. */
export interface DurableAttempt {
  /** 1 for the first. */
  readonly number: number
  /** Of the last failed attempt: this one while `delayMs` is set, else the one before; null if none has failed. */
  readonly error: Pick<ErrorRecord, 'name' | 'message' | 'code'> | null
  /** ms from the failure of this attempt to the next one; null while this attempt runs. */
  readonly delayMs: number | null
}

export type DurableSnapshot<Output, Input> = PromiseSnapshot<Output, Input> & { readonly attempt: DurableAttempt }

type AttemptEvent =
  | { readonly type: 'jobchart.attempt.done'; readonly output: unknown }
  | { readonly type: 'jobchart.attempt.failed'; readonly error: unknown }
  | { readonly type: 'jobchart.attempt.timeout' }
  | { readonly type: 'jobchart.attempt.due' }
  | { readonly type: 'xstate.stop' }

/** A running attempt. */
interface Attempt {
  readonly controller: AbortController
  timer: Timer | null
}

type Work<Output, Input, Emitted extends EventObject> = (scope: DurableScope<Input, Emitted>) => PromiseLike<Output>

const dueEvent = 'jobchart.attempt.due'
const timeoutEvent = 'jobchart.attempt.timeout'

/**
 * Actor logic of the type of `fromPromise` whose work is retried before the machine gets an error, and whose finished
 * steps are not run again. `fatal(error)` ends the attempts at once; `snooze` is refused.
 *
 * In a machine job (`defineJob({ machine })`) the number of the attempt, the time of the next one and finished steps
 * survive a crash, and the job takes no slot while it waits for a backoff. In any other actor system they are kept in
 * memory.
 *
 * @param work gets `{ input, signal, step, attempt, maxAttempts, self, system, emit }`
 * @returns logic for `setup({ actors })`, `invoke: { src }`, `spawn`, `provide` or `createActor`. `onDone` gets what
 * `work`
 *   resolves with, `onError` the error of the last attempt, `onSnapshot` each attempt (`snapshot.attempt`)
 * @throws JobchartError INVALID_OPTION for an unknown or invalid option
 * @example
 * const charge = durable<string, Order>(
 *   async ({ input, step, self }) => {
 *     const held = await step('hold', () => bank.hold(input.card, input.pounds, { key: `${self.sessionId}/hold` }))
 *     return step('capture', () => bank.capture(held))
 *   },
 *   { retry: { maxAttempts: 5, backoff: exponential({ base: '2s' }) }, attemptTimeout: '30s' },
 * )
 * const machine = setup({ actors: { charge } }).createMachine({ … })
 */
export function durable<Output, Input = NonReducibleUnknown, Emitted extends EventObject = EventObject>(
  work: Work<Output, Input, Emitted>,
  options: DurableOptions = {},
): PromiseActorLogic<Output, Input, Emitted> {
  return new DurableLogic(work, options)
}

/** Is it a durable promise that waits for its next attempt? */
export const isWaiting = (actor: AnyActorRef): boolean =>
  isDurable(actor) && attemptOf(actor.getSnapshot() as Snapshot<unknown>).delayMs !== null

/**
 * Did the machine get this snapshot before it was stored? The snapshot of a first attempt is sent when the actor
 * starts.
 */
export const isReportedSnapshot = (actor: AnyActorRef): boolean => {
  if (!isDurable(actor)) return false
  const { number, delayMs } = attemptOf(actor.getSnapshot() as Snapshot<unknown>)
  return number > 1 || delayMs !== null
}

export const isDurable = (actor: AnyActorRef): boolean => 'logic' in actor && actor.logic instanceof DurableLogic

/** The note of a checkpoint about an event of a durable promise; null for other events. */
export function attemptNote({ type }: EventObject, { id }: AnyActorRef, snapshot: unknown): string | null {
  const { number } = attemptOf(snapshot as Snapshot<unknown>)
  if (type === 'jobchart.attempt.failed' || type === timeoutEvent) return `${id}: attempt ${number} failed`
  return type === dueEvent ? `${id}: attempt ${number}` : null
}

/** Does a durable promise begin an attempt that is not its first? */
export const isNextAttempt = ({ type }: EventObject): boolean => type === dueEvent

/** The error of an attempt of a promise, durable or not, that this event has failed; null if it has failed none. */
export function failedAttempt(
  event: EventObject,
  actor: AnyActorRef,
  snapshot: unknown,
): { readonly error: unknown } | null {
  const { status, error, attempt } = snapshot as Partial<DurableSnapshot<unknown, unknown>>
  if (!isDurable(actor)) return status === 'error' ? { error } : null
  if (event.type !== 'jobchart.attempt.failed' && event.type !== timeoutEvent) return null
  return { error: status === 'error' ? error : 'error' in event ? event.error : attempt?.error }
}

const firstAttempt: DurableAttempt = { number: 1, error: null, delayMs: null }

/** Without `attempt`, the snapshot is one of `fromPromise`, which `durable` has replaced in a deployment. */
const attemptOf = (snapshot: Snapshot<unknown>): DurableAttempt =>
  (snapshot as Partial<DurableSnapshot<unknown, unknown>>).attempt ?? firstAttempt

class DurableLogic<Output, Input, Emitted extends EventObject> implements PromiseActorLogic<Output, Input, Emitted> {
  private readonly work: Work<Output, Input, Emitted>
  private readonly maxAttempts: number
  private readonly backoff: AttemptBackoff
  private readonly retryIf: ((error: unknown) => boolean) | null
  private readonly attemptTimeoutMs: number | null
  private readonly attempts = new WeakMap<AnyActorRef, Attempt>()
  /** Finished steps of actors outside of a job. */
  private readonly results = new WeakMap<AnyActorRef, StepResults>()

  constructor(work: Work<Output, Input, Emitted>, options: DurableOptions) {
    if (typeof work !== 'function') {
      const hint = 'Pass the function itself, in place of fromPromise: durable(async ({ input, step }) => …).'
      throw invalidOption('work of durable', 'a function', work, hint)
    }
    const checked = durableOptions(options, 'options of durable')
    this.work = work
    this.maxAttempts = checked.retry.maxAttempts
    this.backoff = checked.retry.backoff
    this.retryIf = checked.retry.retryIf
    this.attemptTimeoutMs = attemptTimeoutOf(checked, options, ofDurable)
  }

  readonly transition: PromiseActorLogic<Output, Input, Emitted>['transition'] = (snapshot, event, scope) => {
    if (snapshot.status !== 'active') return snapshot
    const received = event as AttemptEvent
    switch (received.type) {
      case 'jobchart.attempt.done':
        return { ...snapshot, status: 'done', output: received.output as Output, input: undefined }
      case 'jobchart.attempt.failed':
        return this.failed(snapshot, received.error, scope)
      case 'jobchart.attempt.timeout': {
        if (!this.attempts.has(scope.self)) return snapshot
        const error = timedOut(scope.self, attemptOf(snapshot), this.attemptTimeoutMs)
        this.abort(scope.self, error)
        return this.failed(snapshot, error, scope)
      }
      case 'jobchart.attempt.due': {
        const { number, error, delayMs } = attemptOf(snapshot)
        if (delayMs === null) return snapshot
        scope.defer(() => this.beginNext(scope))
        return withAttempt(snapshot, { number: number + 1, error, delayMs: null })
      }
      case 'xstate.stop':
        this.abort(scope.self)
        return { ...snapshot, status: 'stopped', input: undefined }
      default:
        return snapshot
    }
  }

  readonly getInitialSnapshot: PromiseActorLogic<Output, Input, Emitted>['getInitialSnapshot'] = (_scope, input) =>
    withAttempt({ status: 'active', output: undefined, error: undefined, input }, firstAttempt)

  readonly getPersistedSnapshot: PromiseActorLogic<Output, Input, Emitted>['getPersistedSnapshot'] = (snapshot) =>
    snapshot

  readonly restoreSnapshot = (snapshot: Snapshot<unknown>): DurableSnapshot<Output, Input> =>
    withAttempt(snapshot as PromiseSnapshot<Output, Input>, attemptOf(snapshot))

  readonly start: NonNullable<PromiseActorLogic<Output, Input, Emitted>['start']> = (snapshot, scope) => {
    if (snapshot.status !== 'active') return
    const { delayMs } = attemptOf(snapshot)
    if (delayMs === null) this.begin(scope)
    // The checkpoint of a job holds the timer, unless `migrate` has dropped it. A snapshot persisted outside of a job
    // does not.
    else if (runnerOf(scope.self)?.attempts.isTimerSet(scope.self, dueEvent) !== true) schedule(scope, delayMs)
  }

  /** An attempt has failed: schedules the next one, or ends with the error. */
  private failed(
    snapshot: PromiseSnapshot<Output, Input>,
    thrown: unknown,
    scope: AnyActorScope,
  ): PromiseSnapshot<Output, Input> {
    const { number } = attemptOf(snapshot)
    const { id } = scope.self
    const error = thrown instanceof Snooze ? snoozed(scope.self) : thrown
    const delayMs = error === thrown ? this.delayMs(error, number, scope) : null
    const { name, message, code } = recordError(error)
    runnerOf(scope.self)?.attempts.log(
      `${id}: attempt ${number} of ${this.maxAttempts} failed: ${name}: ${message}; ${delayMs === null ? 'it was the last' : `the next one begins in ${delayMs} ms`}`,
    )
    if (delayMs === null) return { ...snapshot, status: 'error', output: undefined, error, input: undefined }
    scope.defer(() => schedule(scope, delayMs))
    return withAttempt(snapshot, { number, error: { name, message, ...(code !== undefined && { code }) }, delayMs })
  }

  /** ms to the next attempt; null if there is none. */
  private delayMs(error: unknown, number: number, scope: AnyActorScope): number | null {
    if (error instanceof FatalError || number >= this.maxAttempts) return null
    const attempts = runnerOf(scope.self)?.attempts
    const warn = (line: string): void => (attempts === undefined ? scope.logger(line) : attempts.log(line))
    if (!this.isWorthRetrying(error, (what) => warn(`${scope.self.id}: ${what}; the attempt is retried`))) return null
    const random = attempts?.random ?? systemRandom
    try {
      return backoffMs(this.backoff, number, error, random)
    } catch (thrown) {
      warn(`${scope.self.id}: the backoff function threw ${recordError(thrown).message}; the default backoff is used`)
      return backoffMs(exponential(), number, error, random)
    }
  }

  /** As in a job: an error counts as worth retrying if `retryIf` throws or returns a promise. */
  private isWorthRetrying(reason: unknown, warn: (what: string) => void): boolean {
    try {
      const answer: unknown = this.retryIf === null || this.retryIf(reason)
      if (!(answer instanceof Promise)) return Boolean(answer)
      // The promise is not awaited: its rejection must not become an unhandled one.
      answer.catch(() => {})
      warn('retryIf returned a promise instead of true or false')
    } catch (thrown) {
      warn(`retryIf threw ${recordError(thrown).message}`)
    }
    return true
  }

  /**
   * Begins the attempt of the current snapshot: in a job after the checkpoint, else after the machine has got the
   * snapshot.
   */
  private beginNext(scope: AnyActorScope): void {
    const begin = (): void => this.begin(scope)
    const runner = runnerOf(scope.self)
    if (runner === null) queueMicrotask(begin)
    else runner.attempts.begin(begin)
  }

  private begin(scope: AnyActorScope): void {
    const { self, system, emit } = scope
    const snapshot = self.getSnapshot() as PromiseSnapshot<Output, Input>
    // The actor may have been stopped since the attempt was scheduled.
    if (snapshot.status !== 'active') return
    const { number } = attemptOf(snapshot)
    const attempt: Attempt = { controller: new AbortController(), timer: null }
    this.attempts.set(self, attempt)
    this.armTimeout(attempt, scope)
    const services = runnerOf(self)?.attempts
    const traced = <T>(kind: 'actor' | 'step', name: string, run: () => T): T =>
      services === undefined ? run() : services.traced(kind, name, run)
    const steps = this.stepsOf(self, number, () =>
      this.attempts.get(self) === attempt ? null : attemptEnded(self, number),
    )
    const given: DurableScope<Input, Emitted> = {
      input: snapshot.input as Input,
      signal: attempt.controller.signal,
      attempt: number,
      maxAttempts: this.maxAttempts,
      step: (name, work, options) => steps.once(name, () => traced('step', name, work), options?.tx),
      self,
      system,
      emit,
    }
    const settled = (event: AttemptEvent): void => {
      // The attempt was stopped or has timed out: its late result is ignored.
      if (!this.endAttempt(self, attempt)) return
      // The work may have started operations that it did not wait for: the signal aborts them.
      if (event.type === 'jobchart.attempt.failed') attempt.controller.abort(event.error)
      self.send(event)
    }
    // What a transaction keeps of a step comes before what follows the end of the attempt: the next one, or the removal
    // of the step.
    const ended = (event: AttemptEvent): void => {
      const decided = steps.decided()
      if (decided === null) settled(event)
      else void decided.then(() => settled(event))
    }
    new Promise<Output>((resolve) => resolve(traced('actor', self.id, () => this.work(given)))).then(
      (output) => ended({ type: 'jobchart.attempt.done', output }),
      (error: unknown) => ended({ type: 'jobchart.attempt.failed', error }),
    )
  }

  private armTimeout(attempt: Attempt, { self, system }: AnyActorScope): void {
    const { attemptTimeoutMs: timeoutMs } = this
    if (timeoutMs === null) return
    const attempts = runnerOf(self)?.attempts
    const event = { type: timeoutEvent }
    if (attempts !== undefined) attempt.timer = attempts.after(timeoutMs, () => self.send(event))
    else {
      system.scheduler.schedule(self, self, event, timeoutMs, timeoutEvent)
      attempt.timer = { cancel: () => system.scheduler.cancel(self, timeoutEvent) }
    }
  }

  private stepsOf(self: AnyActorRef, number: number, refusal: () => JobchartError | null): Steps {
    const attempt = `attempt ${number} of actor ${self.id}`
    const services = runnerOf(self)
    if (services !== null) return services.attempts.steps(self, attempt, refusal)
    const results = this.results.get(self) ?? new StepResults(self.id, null)
    this.results.set(self, results)
    return new Steps({ results, attempt, refusal, save: outsideOfJob })
  }

  /** Aborts the running attempt, if any. */
  private abort(self: AnyActorRef, reason?: unknown): void {
    const attempt = this.attempts.get(self)
    if (attempt !== undefined && this.endAttempt(self, attempt)) attempt.controller.abort(reason)
  }

  /** Ends an attempt. Returns false if it had ended before. */
  private endAttempt(self: AnyActorRef, attempt: Attempt): boolean {
    if (this.attempts.get(self) !== attempt) return false
    this.attempts.delete(self)
    attempt.timer?.cancel()
    return true
  }
}

/** There is no job to keep a result with, and so no transaction. */
const outsideOfJob = (_key: string, _result: unknown, tx: OpenTransaction | null): Promise<null> => {
  if (tx === null) return Promise.resolve(null)
  const hint = 'Run the machine as a job: defineJob({ machine }).'
  throw new JobchartError('UNSUPPORTED', 'a step in a transaction needs a job', { hint })
}

const withAttempt = <Output, Input>(
  snapshot: PromiseSnapshot<Output, Input>,
  attempt: DurableAttempt,
): DurableSnapshot<Output, Input> => ({ ...snapshot, attempt })

const schedule = ({ self, system }: AnyActorScope, delayMs: number): void =>
  system.scheduler.schedule(self, self, { type: dueEvent }, delayMs, dueEvent)

const snoozed = ({ id }: AnyActorRef): JobchartError =>
  new JobchartError('UNSUPPORTED', `actor ${id} threw snooze(): an attempt of a durable promise cannot be postponed`, {
    hint: 'Throw an error and let `backoff` say when the next attempt begins, or wait in a state with `after`.',
  })

const timedOut = ({ id }: AnyActorRef, { number }: DurableAttempt, timeoutMs: number | null): TimeoutError =>
  new TimeoutError(`attempt ${number} of actor ${id} took longer than ${timeoutMs} ms`, {
    hint: 'Raise `attemptTimeout` of durable(), or pass `signal` to what the promise waits for.',
  })

const attemptEnded = ({ id }: AnyActorRef, number: number): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `attempt ${number} of actor ${id} has ended: it cannot run or store steps`, {
    hint: 'Await each step within the promise.',
  })
