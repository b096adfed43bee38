/**
 * A promise as an actor that has attempts and steps of its own: `durable(work, { retry, timeout })` where `fromPromise(work)`
 * would stand.
 *
 *   attempt 1 ── rejects ──▶ waits (a timer of the actor) ── due ──▶ attempt 2 ── … ──▶ done, or the last error
 *
 * Which attempt it is, and whether it waits, is part of the actor's snapshot; the timer is one of its actor system. So in a
 * machine that is a job both are in the checkpoint, an attempt begins when it is written that it does, and while all actors
 * wait the job is parked. An attempt that a crash has cut off begins again under its number.
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
import { checkSyncFunction, checkKeys, checkInteger } from '../core/checks.ts'
import { systemRandom, type Timer } from '../core/clock.ts'
import type { RetryOptions, RunContext } from '../core/definition.ts'
import { invalidOption, JobchartError, TimeoutError } from '../core/errors.ts'
import { StepResults, Steps } from '../core/steps.ts'
import { backoffMs, checkBackoff, exponential, type Backoff } from '../core/backoff.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { recordError, type ErrorRecord } from '../core/failure.ts'
import { FatalError, Snooze } from '../core/intent.ts'
import { runnerOf } from './job-actors.ts'

/** What the work of a durable promise is called with: what `fromPromise` gives, and its attempt and steps. */
export interface DurableScope<Input = NonReducibleUnknown, Emitted extends EventObject = EventObject> {
  readonly input: Input
  /** Aborts when the actor is stopped, the attempt has timed out or failed, and when the run of its job ends. */
  readonly signal: AbortSignal
  /** 1 for the first attempt of this actor. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Does `work` once in the life of this actor: its result is stored, and a later attempt, also after a crash, gets the result
   * instead. Names are the actor's own: another actor may use the same ones. When the actor has ended its results are
   * forgotten. Outside of a job they are kept in memory.
   * @throws as `step` of a handler (`RunContext.step`); NOT_ACCEPTED after the end of the attempt
   * @example const charge = await step('charge', () => charges.create(input.card, { key: `${self.sessionId}/charge` }))
   */
  readonly step: RunContext['step']
  /** `self.sessionId` names this start of this actor, in all its attempts: a key for what must happen once. */
  readonly self: AnyActorRef
  readonly system: AnyActorRef['system']
  readonly emit: (emitted: Emitted) => void
}

export interface DurableOptions {
  /** As of a job: 3 attempts, exponential backoff from 1 s to 1 h with full jitter. */
  readonly retry?: RetryOptions
  /** Per attempt: one that takes longer is aborted and has failed. Default: none. */
  readonly timeout?: Duration
}

/** What a snapshot of a durable promise has beside that of a promise. */
export interface DurableAttempt {
  /** 1 for the first. */
  readonly number: number
  /** Of the attempt before it, or, while it waits, of this one; null if none has failed. */
  readonly error: Pick<ErrorRecord, 'name' | 'message' | 'code'> | null
  /** ms from its failure to the next attempt; null while the attempt is under way. */
  readonly delayMs: number | null
}

export type DurableSnapshot<Output, Input> = PromiseSnapshot<Output, Input> & { readonly attempt: DurableAttempt }

type AttemptEvent =
  | { readonly type: 'jobchart.attempt.done'; readonly output: unknown }
  | { readonly type: 'jobchart.attempt.failed'; readonly error: unknown }
  | { readonly type: 'jobchart.attempt.timeout' }
  | { readonly type: 'jobchart.attempt.due' }
  | { readonly type: 'xstate.stop' }

/** An attempt under way. */
interface Attempt {
  readonly controller: AbortController
  timer: Timer | null
}

type Work<Output, Input, Emitted extends EventObject> = (scope: DurableScope<Input, Emitted>) => PromiseLike<Output>

const dueEvent = 'jobchart.attempt.due'
const timeoutEvent = 'jobchart.attempt.timeout'

/**
 * Actor logic like that of `fromPromise`, and of the same type, whose work is retried before the machine hears of a failure,
 * and whose finished steps are not run again. `fatal(error)` ends the attempts at once; `snooze` is refused.
 *
 * In a machine that is a job (`defineJob({ machine })`) attempts, the time of the next one and finished steps survive a crash,
 * and the job takes no slot while it waits for a backoff. In any other actor system they live with the actor.
 *
 * @param work gets `{ input, signal, step, attempt, maxAttempts, self, system, emit }`
 * @returns logic for `setup({ actors })`, `invoke: { src }`, `spawn`, `provide` or `createActor`. `onDone` gets what `work`
 *   resolves with, `onError` the error of the last attempt, `onSnapshot` each attempt (`snapshot.attempt`)
 * @throws JobchartError INVALID_OPTION for an option that makes no sense
 * @example
 * const charge = durable<string, Order>(
 *   async ({ input, step, self }) => {
 *     const held = await step('hold', () => bank.hold(input.card, input.pounds, { key: `${self.sessionId}/hold` }))
 *     return step('capture', () => bank.capture(held))
 *   },
 *   { retry: { maxAttempts: 5, backoff: exponential({ base: '2s' }) }, timeout: '30s' },
 * )
 * const machine = setup({ actors: { charge } }).createMachine({ … })
 */
export function durable<Output, Input = NonReducibleUnknown, Emitted extends EventObject = EventObject>(
  work: Work<Output, Input, Emitted>,
  options: DurableOptions = {},
): PromiseActorLogic<Output, Input, Emitted> {
  return new DurableLogic(work, options)
}

/** Does it have attempts, and waits for the next one? */
export const isWaiting = (actor: AnyActorRef): boolean =>
  isDurable(actor) && attemptOf(actor.getSnapshot() as Snapshot<unknown>).delayMs !== null

/** Has its machine heard of this snapshot before it was kept? Only of the first attempt it hears when that begins. */
export const isToldSnapshot = (actor: AnyActorRef): boolean => {
  if (!isDurable(actor)) return false
  const { number, delayMs } = attemptOf(actor.getSnapshot() as Snapshot<unknown>)
  return number > 1 || delayMs !== null
}

export const isDurable = (actor: AnyActorRef): boolean => 'logic' in actor && actor.logic instanceof DurableLogic

/** What an event has made of the attempts of an actor, for people; null if nothing. */
export function attemptNote({ type }: EventObject, { id }: AnyActorRef, snapshot: unknown): string | null {
  const { number } = attemptOf(snapshot as Snapshot<unknown>)
  if (type === 'jobchart.attempt.failed' || type === timeoutEvent) return `${id}: attempt ${number} failed`
  return type === dueEvent ? `${id}: attempt ${number}` : null
}

const first: DurableAttempt = { number: 1, error: null, delayMs: null }

/** A snapshot of `fromPromise`, which an earlier deployment may have had in its place, has none. */
const attemptOf = (snapshot: Snapshot<unknown>): DurableAttempt =>
  (snapshot as Partial<DurableSnapshot<unknown, unknown>>).attempt ?? first

class DurableLogic<Output, Input, Emitted extends EventObject> implements PromiseActorLogic<Output, Input, Emitted> {
  private readonly work: Work<Output, Input, Emitted>
  private readonly maxAttempts: number
  private readonly backoff: Backoff
  private readonly retryIf: ((error: unknown) => boolean) | null
  private readonly timeoutMs: number | null
  private readonly attempts = new WeakMap<AnyActorRef, Attempt>()
  /** Finished steps of actors outside of a job. */
  private readonly results = new WeakMap<AnyActorRef, StepResults>()

  constructor(work: Work<Output, Input, Emitted>, options: DurableOptions) {
    if (typeof work !== 'function') {
      const hint = 'Pass the function itself, in place of fromPromise: durable(async ({ input, step }) => …).'
      throw invalidOption('work of durable', 'a function', work, hint)
    }
    checkKeys('options of durable', options, ['retry', 'timeout'])
    const { retry = {}, timeout } = options
    checkKeys('retry of durable', retry, ['maxAttempts', 'backoff', 'retryIf'])
    if (retry.retryIf !== undefined) checkSyncFunction('retry.retryIf of durable', retry.retryIf)
    this.work = work
    this.maxAttempts = checkInteger('retry.maxAttempts of durable', retry.maxAttempts ?? 3, 1, 1_000_000)
    this.backoff = checkBackoff(retry.backoff ?? exponential())
    this.retryIf = retry.retryIf ?? null
    this.timeoutMs = timeout === undefined ? null : durationMs(timeout, 'timeout of durable')
  }

  readonly transition: PromiseActorLogic<Output, Input, Emitted>['transition'] = (snapshot, event, scope) => {
    if (snapshot.status !== 'active') return snapshot
    const told = event as AttemptEvent
    switch (told.type) {
      case 'jobchart.attempt.done':
        return { ...snapshot, status: 'done', output: told.output as Output, input: undefined }
      case 'jobchart.attempt.failed':
        return this.failed(snapshot, told.error, scope)
      case 'jobchart.attempt.timeout': {
        if (!this.attempts.has(scope.self)) return snapshot
        const error = tookTooLong(scope.self, attemptOf(snapshot), this.timeoutMs)
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
    withAttempt({ status: 'active', output: undefined, error: undefined, input }, first)

  readonly getPersistedSnapshot: PromiseActorLogic<Output, Input, Emitted>['getPersistedSnapshot'] = (snapshot) =>
    snapshot

  readonly restoreSnapshot = (snapshot: Snapshot<unknown>): DurableSnapshot<Output, Input> =>
    withAttempt(snapshot as PromiseSnapshot<Output, Input>, attemptOf(snapshot))

  readonly start: NonNullable<PromiseActorLogic<Output, Input, Emitted>['start']> = (snapshot, scope) => {
    if (snapshot.status !== 'active') return
    const { delayMs } = attemptOf(snapshot)
    if (delayMs === null) this.begin(scope)
    // A checkpoint holds its timer, unless a migration has dropped it; a snapshot that was kept otherwise does not.
    else if (runnerOf(scope.self)?.attempts.isTimerSet(scope.self, dueEvent) !== true) schedule(scope, delayMs)
  }

  /** An attempt has failed: waits for the next one, or gives up. */
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
    const log = runnerOf(scope.self)?.attempts.log
    log?.(
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
    const complain = attempts?.log ?? scope.logger
    if (!this.isWorthRetrying(error, (what) => complain(`${scope.self.id}: ${what}; the attempt is retried`)))
      return null
    const random = attempts?.random ?? systemRandom
    try {
      return backoffMs(this.backoff, number, error, random)
    } catch (thrown) {
      complain(
        `${scope.self.id}: the backoff function threw ${recordError(thrown).message}; the default backoff is used`,
      )
      return backoffMs(exponential(), number, error, random)
    }
  }

  /** As for a job. */
  private isWorthRetrying(reason: unknown, complain: (what: string) => void): boolean {
    try {
      const answer: unknown = this.retryIf === null || this.retryIf(reason)
      if (!(answer instanceof Promise)) return Boolean(answer)
      // What it will say is not awaited, and may be an error.
      answer.catch(() => {})
      complain('retryIf gave a promise instead of true or false')
    } catch (thrown) {
      complain(`retryIf threw ${recordError(thrown).message}`)
    }
    return true
  }

  /** Begins the attempt that the snapshot has come to, when its machine has been told: in a job when that is written. */
  private beginNext(scope: AnyActorScope): void {
    const begin = (): void => this.begin(scope)
    const runner = runnerOf(scope.self)
    if (runner === null) queueMicrotask(begin)
    else runner.attempts.begin(begin)
  }

  private begin(scope: AnyActorScope): void {
    const { self, system, emit } = scope
    const snapshot = self.getSnapshot() as PromiseSnapshot<Output, Input>
    // It may have been stopped since it was decided.
    if (snapshot.status !== 'active') return
    const { number } = attemptOf(snapshot)
    const attempt: Attempt = { controller: new AbortController(), timer: null }
    this.attempts.set(self, attempt)
    this.armTimeout(attempt, scope)
    const steps = this.stepsOf(self, number, () => (this.attempts.get(self) === attempt ? null : isOver(self, number)))
    const given: DurableScope<Input, Emitted> = {
      input: snapshot.input as Input,
      signal: attempt.controller.signal,
      attempt: number,
      maxAttempts: this.maxAttempts,
      step: (name, work) => steps.once(name, work),
      self,
      system,
      emit,
    }
    const settled = (event: AttemptEvent): void => {
      // It was stopped, or has timed out: nobody waits for what it still says.
      if (!this.close(self, attempt)) return
      // What it has begun and did not wait for hears of the failure.
      if (event.type === 'jobchart.attempt.failed') attempt.controller.abort(event.error)
      self.send(event)
    }
    new Promise<Output>((resolve) => resolve(this.work(given))).then(
      (output) => settled({ type: 'jobchart.attempt.done', output }),
      (error: unknown) => settled({ type: 'jobchart.attempt.failed', error }),
    )
  }

  private armTimeout(attempt: Attempt, { self, system }: AnyActorScope): void {
    const { timeoutMs } = this
    if (timeoutMs === null) return
    const attempts = runnerOf(self)?.attempts
    const event = { type: timeoutEvent }
    if (attempts !== undefined) attempt.timer = attempts.after(timeoutMs, () => self.send(event))
    else {
      system.scheduler.schedule(self, self, event, timeoutMs, timeoutEvent)
      attempt.timer = { cancel: () => system.scheduler.cancel(self, timeoutEvent) }
    }
  }

  private stepsOf(self: AnyActorRef, number: number, over: () => JobchartError | null): Steps {
    const attempt = `attempt ${number} of actor ${self.id}`
    const hosting = runnerOf(self)
    if (hosting !== null) return hosting.attempts.steps(self, attempt, over)
    const results = this.results.get(self) ?? new StepResults(self.id, null)
    this.results.set(self, results)
    return new Steps({ results, attempt, refusal: over, save: () => Promise.resolve() })
  }

  /** Aborts the attempt that is under way, if one is. */
  private abort(self: AnyActorRef, reason?: unknown): void {
    const attempt = this.attempts.get(self)
    if (attempt !== undefined && this.close(self, attempt)) attempt.controller.abort(reason)
  }

  /** An attempt is over. Was it under way until now? */
  private close(self: AnyActorRef, attempt: Attempt): boolean {
    if (this.attempts.get(self) !== attempt) return false
    this.attempts.delete(self)
    attempt.timer?.cancel()
    return true
  }
}

const withAttempt = <Output, Input>(
  snapshot: PromiseSnapshot<Output, Input>,
  attempt: DurableAttempt,
): DurableSnapshot<Output, Input> => ({ ...snapshot, attempt })

const schedule = ({ self, system }: AnyActorScope, delayMs: number): void =>
  system.scheduler.schedule(self, self, { type: dueEvent }, delayMs, dueEvent)

const snoozed = ({ id }: AnyActorRef): JobchartError =>
  new JobchartError(
    'UNSUPPORTED',
    `actor ${id} has thrown snooze(): an attempt of a durable promise cannot be put off`,
    {
      hint: 'Throw an error and let `backoff` say when the next attempt begins, or wait in a state with `after`.',
    },
  )

const tookTooLong = ({ id }: AnyActorRef, { number }: DurableAttempt, timeoutMs: number | null): TimeoutError =>
  new TimeoutError(`attempt ${number} of actor ${id} took longer than ${timeoutMs} ms`, {
    hint: 'Raise `timeout` of durable(), or pass `signal` to what the promise waits for.',
  })

const isOver = ({ id }: AnyActorRef, number: number): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `attempt ${number} of actor ${id} is over: it begins and keeps no more steps`, {
    hint: 'Await each step within the promise.',
  })
