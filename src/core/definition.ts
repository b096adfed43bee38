/**
 * A checked job definition: its limits and retries, and either a handler (`run`) or a machine (`MachineRunner`); and
 * the contexts that the two get for an attempt.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Observable } from 'rxjs'
import type { AnyStateMachine } from 'xstate'
import { backoffRule, exponential, type Backoff } from './backoff.ts'
import type { EnqueueArguments, EnqueueOptions, RunEnqueueOptions, UniqueOption } from './call-options.ts'
import { beforeOwner, byDefault, integer, orNull, syncFn, table, type RulesOf } from './checks.ts'
import type { Random, Timer } from './clock.ts'
import type { Duration } from './duration.ts'
import type { JobchartError } from './errors.ts'
import type { JobHandle } from './handle.ts'
import type { FatalError, Snooze } from './intent.ts'
import type { Inspect } from './inspection.ts'
import { defaultMaxAttempts, limits } from './limits.ts'
import type { Logger } from './logger.ts'
import type {
  Checkpoint,
  Gather,
  InboxMessage,
  MachineTypes,
  MachineView,
  InboxEntry,
  NewCheckpoint,
} from './machine-record.ts'
import type { OpenTransaction, SynchronousTransaction } from './open-transaction.ts'
import type { ParkedStanding } from './machine-values.ts'
import type { Json, JsonOf } from './payload.ts'
import type { JobRecord } from './record.ts'
import type { StepTransaction } from './steps.ts'
import type { TraceContext } from './telemetry.ts'
import type { Divergence, LivedEvent, RecordedLife } from './recorded-life.ts'
import type { TypeLimits } from './values.ts'

/**
 * Type of `ctx.values`, which middleware sets. Empty here; your application declares its members:
 * @example declare module 'jobchart' { interface ContextValues { user: User } }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- an interface, so that users can merge their members into it
export interface ContextValues {}

export interface RetryOptions {
  /** Attempts allowed. Default 3; 1 = no retry. */
  readonly maxAttempts?: number
  /** Default: exponential from 1 s to 1 h with full jitter. */
  readonly backoff?: Backoff
  /** Should the job be retried after this error? Must be synchronous: an async function is refused. Default: always. */
  readonly retryIf?: (error: unknown) => boolean
}

/** The option `retry` of a definition and of `durable`, by the type of the backoff function that it takes. */
export const retryOption = <BackoffFunction>() =>
  table(
    {
      maxAttempts: byDefault(defaultMaxAttempts, integer(1, limits.attemptsMax)),
      backoff: byDefault(exponential(), backoffRule<BackoffFunction>()),
      retryIf: orNull(syncFn<NonNullable<RetryOptions['retryIf']>>()),
    } satisfies RulesOf<RetryOptions>,
    { nameOf: beforeOwner },
  )

/** Options of `ctx.step`. */
export interface StepOptions {
  /**
   * Your open transaction, in which `work` writes: the result of the step is stored if it commits. The step is run
   * again by a later attempt if it is rolled back.
   */
  readonly tx?: OpenTransaction
}

/** The context of a run. Its members may be destructured. */
export interface RunContext {
  readonly id: string
  readonly type: string
  /** 1 for the first attempt of a generation. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Aborts on cancel, timeout, lost lease and shutdown. `signal.reason` is a JobchartError with the code CANCELLED,
   * TIMEOUT, LEASE_LOST or STOPPED.
   */
  readonly signal: AbortSignal
  /** When this attempt times out, ms since the epoch; null without a timeout. */
  readonly deadline: number | null
  /** The job as it was claimed. */
  readonly job: JobRecord
  /**
   * The trace context of this attempt, to be sent with what it asks of others: `traceparent` and the like. null without
   * `telemetry`.
   */
  readonly trace: TraceContext | null
  /** Values set by middleware; a new object for each attempt. */
  readonly values: ContextValues
  /**
   * Reports progress. The last value is kept with the job; writes are throttled, but the last value is always written.
   * @throws JobchartError INVALID_OUTPUT if the value is not strict JSON
   */
  readonly checkin: <Value>(value: Value & JsonOf<Value>) => void
  /** Keeps a line with the job (the last 100). `fields` must be strict JSON. */
  readonly log: (message: string, fields?: Record<string, unknown>) => void
  /**
   * Runs `work` once per generation of the job: its result is stored, and later attempts get the stored result. Step
   * names are unique within an attempt, 200 characters at most; the name of a failed step may be used again. A step
   * does not start after `signal` has aborted or while the lease may have run out.
   * @throws whatever `work` throws; DUPLICATE_STEP for a name that the attempt has used; TOO_MANY_STEPS beyond 10,000
   * steps
   *   or 16 Mi characters of results as JSON; INVALID_OUTPUT if the result is not JSON or larger than 1 MiB;
   *   INVALID_OPTION for a bad name; the reason of `signal` (LEASE_LOST, CANCELLED, TIMEOUT, STOPPED); NOT_ACCEPTED
   *   after the run's end
   * @example for (const order of orders) await step(`charge:${order.id}`, () => charge(order))
   */
  readonly step: <T>(name: string, work: () => T | PromiseLike<T>, options?: StepOptions) => Promise<T>
  /**
   * Ends the job with your transaction: the job is done if it commits, and its writes and the job's end are there both
   * or neither. Call it within the transaction, before its commit; what the handler does afterwards does not matter:
   * its return value is ignored, and an error that it throws after the commit is logged. If the transaction is rolled
   * back, the attempt has failed, with the error of the handler or with NOT_COMMITTED.
   * @param tx your open transaction, on the database of the store
   * @throws JobchartError LEASE_LOST, in the transaction, if the job was cancelled or its lease has expired: let it
   *   roll the transaction back; NOT_ACCEPTED, in the transaction, if the end of the attempt was written before, and
   *   after the run's end; INVALID_OUTPUT; TX_NOT_OPEN, TX_OTHER_DATABASE, UNSUPPORTED; the reason of `signal`
   * @example
   * await db.transaction(async (tx) => {
   *   await tx.insert(receipts).values({ order: input.order })
   *   await ctx.complete(tx, { ok: true })
   * })
   */
  readonly complete: (tx: OpenTransaction, output?: unknown) => Promise<void>
  /** As `complete`: the attempt fails with your transaction, as if the handler had thrown this error. */
  readonly fail: (tx: OpenTransaction, error: unknown) => Promise<void>
  /**
   * As `complete`: the job is postponed with your transaction, and the attempt is not spent.
   * @param delay from the commit on
   */
  readonly snooze: (tx: OpenTransaction, delay: Duration) => Promise<void>
  /**
   * The same calls, and `enqueue`, in a transaction whose library works synchronously, on `sqliteStore({ database })`:
   * they have written when they return, and they throw.
   * @param tx the database itself, on which a transaction is open, or the transaction that Drizzle passes
   * @example
   * database.transaction(() => {
   *   insertReceipt.run(input.order)
   *   ctx.within(database).complete({ ok: true })
   * })()
   */
  readonly within: (tx: SynchronousTransaction) => RunWithin
  /**
   * Enqueues another job. Allowed while the runtime drains. It does not wait for capacity, because only the end of this
   * run might free it. A later attempt gets the same job (`deduplicated` is true): its id is derived from this job, its
   * generation and `key`, or, without a key, from the type, the input, and how often the attempt has enqueued both.
   * Pass a key if the input differs between attempts, or if each attempt must enqueue its own job (`key: 'alert:' +
   * attempt`). After a `retry()` the job is a new one; after a snooze only without a key. The new job inherits `meta`,
   * tags and priority of this one: own tags and an own priority replace them, and `meta` is merged by member.
   * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION, ID_TAKEN, STORE_UNAVAILABLE; NOT_ACCEPTED after
   * the run's end
   * @example await enqueue(receipt, { order: order.id, at: Date.now() }, { key: `receipt:${order.id}` })
   */
  readonly enqueue: <Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>, RunEnqueueOptions>
  ) => Promise<JobHandle<Output>>
}

/** Calls of a handler in its own synchronous transaction; each throws as that of the context, and UNSUPPORTED. */
export interface RunWithin {
  /** Ends the job with the transaction. */
  readonly complete: (output?: unknown) => void
  /** The attempt fails with the transaction. */
  readonly fail: (error: unknown) => void
  /** Postpones the job with the transaction. @param delay from the commit on */
  readonly snooze: (delay: Duration) => void
  /** Enqueues another job with the transaction, as `ctx.enqueue` does. */
  readonly enqueue: <Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>, Omit<RunEnqueueOptions, 'tx' | 'signal' | 'timeout'>>
  ) => JobHandle<Output>
}

/** The return value of a handler. Of an Observable, each value is a check-in, and the last one is the output. */
export type HandlerResult<Output> = Output | PromiseLike<Output> | Observable<Output>

/**
 * Wraps every run: `next()` calls the next middleware, or the handler, and resolves with the output. The return value
 * of the middleware is the output; if it returns nothing, the output of `next()` is. If it throws, the attempt fails.
 * The attempt also fails, with INVALID_MIDDLEWARE, if it calls `next()` twice, or neither calls it nor returns a value
 * (`null` is one).
 * @example async (ctx, next) => { const startedAt = performance.now(); await next(); measure(ctx.type,
 * performance.now() - startedAt) }
 */
export type Middleware = (context: RunContext, next: () => Promise<unknown>) => unknown

// ── batches ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One job of a batch. */
export interface BatchItem<Input> {
  readonly input: Input
  /** The context of this job: its signal, its attempt, its check-ins. */
  readonly ctx: RunContext
}

/** The context of a batch. */
export interface BatchContext {
  readonly type: string
  /** Aborts when the signals of all items have aborted, with the reason of the last one. */
  readonly signal: AbortSignal
}

/**
 * The result of one item of a batch: its output, or an error, which has the same effect as an error thrown by a
 * handler. This includes `fatal(error)` and `snooze(delay)`.
 */
export type BatchResult<Output> = Output | Error | FatalError | Snooze

/** The handler of a type whose jobs are run in batches. */
export interface BatchDefinition {
  readonly size: number
  readonly waitMs: number
  readonly run: (items: readonly BatchItem<unknown>[], context: BatchContext) => unknown
}

// ── definitions ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The module of a handler that runs in a thread. */
export interface ThreadSource {
  /** Its address, a `file:` URL. */
  readonly url: string
  /** Heap limit of a thread, MiB; null: the default of V8. */
  readonly memoryMb: number | null
}

/** What a definition says of its retention; the rest is as the runtime says. */
export type OwnRetention = Readonly<Partial<Record<'done' | 'dead' | 'cancelled', OwnBounds>>>

type OwnBounds = {
  readonly ageMs?: number
  readonly count?: number
  /** By `keepDead`: those beyond the count are removed without the minimum age. */
  readonly soon?: true
}

/** A checked job definition, created by `defineJob`. Calls that take one infer `Input` and `Output` from it. */
export interface JobDefinition<Input = unknown, Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly type: string
  /** Weight of its queue. */
  readonly weight: number
  readonly limits: TypeLimits
  readonly schema: StandardSchemaV1 | null
  /** Schemas of event data, by event type; null if there are none. */
  readonly eventSchemas: Readonly<Record<string, StandardSchemaV1>> | null
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly retryIf: ((error: unknown) => boolean) | null
  /** How long an attempt may take; null: no limit. */
  readonly attemptTimeoutMs: number | null
  readonly unique: UniqueOption
  /** How long its ended jobs are kept, as far as it says. */
  readonly retention: OwnRetention
  /** Limit of its backlog; null: none but that of all types. */
  readonly capacity: number | null
  /** The job that runs its `onDead` hook; null without. */
  readonly onDead: JobDefinition | null
  readonly keyOf: ((input: Json | undefined) => string | null) | null
  /** The weight of a concurrency key; null: keys do not share claims by weight. */
  readonly keyWeightOf: ((key: string) => number) | null
  readonly run: (input: unknown, context: RunContext) => unknown
  /** The module of its handler, if the handler runs in a thread; otherwise null. */
  readonly thread: ThreadSource | null
  /** Its batch handler; null if it has none. */
  readonly batch: BatchDefinition | null
  /** Runs its machine; null for a job with a handler. */
  readonly machine: MachineRunner | null
  /** Type information only; never present at run time. */
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly machine: Machine }
}

// ── machines ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** How a child job ended, as reported to its parent. */
export type ChildEnd = Omit<Extract<InboxMessage, { readonly kind: 'ended' }>, 'kind'>

/** The context of one attempt of a machine job. */
export interface MachineRunContext {
  readonly id: string
  readonly type: string
  /** 1 at first; each retry of the ended job adds 1. */
  readonly generation: number
  /** The input, validated again at the start of the attempt, as for a handler. */
  readonly input: unknown
  /** The last checkpoint; null before the first. */
  readonly checkpoint: Checkpoint | null
  /** Unread messages at the claim. Later ones are passed to the listener of `onMessages`. */
  readonly inbox: readonly InboxEntry[]
  /** Has an earlier attempt of the job failed? */
  readonly hasFailed: () => boolean
  /** Sets the listener for the request to end early; it is called at once if that was made before. */
  readonly onAbort: (listener: (reason: unknown) => void) => void
  readonly logger: Logger
  /** ms since the epoch, by the store's clock. */
  readonly now: () => number
  readonly after: (delayMs: number, run: () => void) => Timer
  /** Sets the listener for messages that arrive from now on; it gets them in order. */
  readonly onMessages: (listener: (messages: readonly InboxEntry[]) => void) => void
  /**
   * Writes a checkpoint.
   * @returns the unread messages
   * @throws JobchartError LEASE_LOST if this attempt no longer holds the lease; STORE_UNAVAILABLE
   */
  readonly commit: (checkpoint: NewCheckpoint) => Promise<readonly InboxEntry[]>
  /** Results of completed steps at the claim, by name. */
  readonly steps: Readonly<Record<string, Json>> | null
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  /** @returns as `StepsOptions.save` */
  readonly saveStep: (name: string, result: Json, tx: OpenTransaction | null) => Promise<StepTransaction | null>
  /**
   * The error if no step may start: the attempt has ended, was aborted, or its lease may have run out; otherwise null.
   */
  readonly refusal: () => JobchartError | null
  readonly random: Random
  /** Adds a line to the log of the job. */
  readonly log: (message: string) => void
  /** Calls the work of an attempt of a durable promise, or of a step, so that telemetry sees it. */
  readonly traced: <T>(kind: 'actor' | 'step', name: string, work: () => T) => T
  /** Reports an event that the machine has emitted. */
  readonly emitted: (event: Json) => void
  /** Called with the inspection events of the machine; null if no inspector listens. It does not throw. */
  readonly inspect: Inspect | null
  /**
   * Enqueues a child job. Its end is delivered as a message.
   * @returns its end, if it had ended before; otherwise null
   */
  readonly enqueueChild: (
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    checkins: boolean,
  ) => Promise<ChildEnd | null>
  /** Cancels a child job whose actor was stopped. */
  readonly cancelChild: (id: string) => Promise<unknown>
}

/** The result of an attempt of a machine that did not fail: done, parked until a message or a time, or unsupported. */
export type RunResult =
  | {
      readonly kind: 'done'
      readonly output: unknown
      /** Its final state, and the `status` of its output. */
      readonly outcome: string
      readonly checkpoint: NewCheckpoint | null
      /** Did the machine end by handling a cancel? Then the job is `cancelled`; otherwise `done`. */
      readonly cancelTaken: boolean
    }
  | {
      readonly kind: 'parked'
      readonly checkpoint: NewCheckpoint | null
      /** ms since the epoch; null: until a message arrives. */
      readonly wakeAt: number | null
      readonly gather?: Gather
    }
  | UnsupportedRest

/** No version known in this process can run the job; nothing of it was executed. */
export interface UnsupportedRest {
  readonly kind: 'unsupported'
  /** The machine that the job needs, by its id and version, and the version alone. */
  readonly machine: string
  readonly version: string
  readonly reason: string
  readonly error: unknown
}

/** The fields of a job that determine how its machine starts: at a checkpoint, or with a version and an input. */
export type MachineJob = Pick<JobRecord, 'checkpoint' | 'version' | 'input'>

/**
 * Computes the snapshot of a job's machine at `now` (ms since the epoch), after its unread messages and the timers that
 * are due.
 * @throws JobchartError UNSUPPORTED; NOT_ACCEPTED if the machine throws
 */
export type MachineViewer = <Machine extends MachineTypes>(record: JobRecord, now: number) => MachineView<Machine>

/** A definition of a machine, as the one that judges whether a job takes an event. */
export interface Judge {
  /** Its name among `definitions`. */
  readonly name: string
  /** Has it written the last checkpoint of the job? */
  readonly isThatOfJob: boolean
  /** The version of the job, and those that know an event, as far as this process knows them. */
  readonly versionOfJob: string | null
  readonly versionsThatKnow: (event: string) => readonly string[]
  /**
   * Does its machine handle a cancel as an event, according to the last checkpoint?
   * @throws JobchartError UNSUPPORTED
   */
  readonly takesCancel: () => boolean
}

/** A parked job, as far as an assessment needs it. */
export type ParkedJob = MachineJob &
  Pick<JobRecord, 'id' | 'inbox' | 'deferred' | 'machineStates' | 'machineTags' | 'takesCancel' | 'unsupported'>

/**
 * `current`: it is found by the states that it is in, and cancelled as they say · `moved`: it can go on, and stands so
 * now · `outdated`: it must run once to wait for the right events, because a delay was added to its state ·
 * `unsupported`: it cannot go on.
 */
export type Assessment =
  | { readonly kind: 'current' | 'outdated' }
  | { readonly kind: 'moved'; readonly standing: ParkedStanding }
  | UnsupportedRest

/** What a machine made of a recorded life: see `ReplayReport`. */
export interface LifeReplay {
  readonly reached: number
  readonly skipped: number
  readonly divergence: Omit<Divergence, 'id' | 'type'> | null
}

/** Runs the machine of a job type. */
export interface MachineRunner {
  /**
   * Selects the version that runs a job.
   * @returns a function that runs the machine from its last checkpoint until it is done or parked. It throws the errors
   * of actors
   *   and actions, and the reason of an abort
   */
  readonly prepare: (job: MachineJob) => UnsupportedRest | ((context: MachineRunContext) => Promise<RunResult>)
  /** The version of jobs enqueued by this process. */
  readonly version: string
  /** Creates a viewer for the jobs of one store. */
  readonly viewer: () => MachineViewer
  /** Lets the current version live a recorded life again. @param input as an attempt gets it */
  readonly replay: (life: RecordedLife, input: unknown) => LifeReplay
  /** What a parked job is to this definition, which may have changed since. */
  readonly assess: (record: ParkedJob) => Assessment
  /** Fingerprint of its versions, which other processes compare: the name of each, joined by commas. */
  readonly definitions: string
  /** The name of each version: id, version and hash of the structure. Copies of a definition have the same. */
  readonly fingerprints: readonly string[]
  /** The events that its versions know, as the charts name them: wildcards included, XState's own left out. */
  readonly events: readonly string[]
  /**
   * The definition by which this process judges what a job takes, and whether it is that of the job. @throws
   * JobchartError UNSUPPORTED
   */
  readonly judgeOf: (job: MachineJob) => Judge
  /** The machines of all versions, for pictures; the current one last. */
  readonly charts: readonly { readonly version: string; readonly machine: AnyStateMachine }[]
  /** The view of a checkpoint's state; if the machine cannot go on from it, of what is stored, with these tags. */
  readonly viewAt: <Machine extends MachineTypes>(state: Json, tags?: readonly string[]) => MachineView<Machine>
  /**
   * The events that led to a checkpoint's state.
   * @param before the state of the checkpoint before, which tells the ids of child jobs; null if it is not kept
   * @returns null if they were more than are kept, or another release has written the state
   */
  readonly eventsAt: (state: Json, before: Json | null) => readonly LivedEvent[] | null
  /**
   * @throws JobchartError INVALID_OPTION if `name` is neither a state nor a tag of any version; the hint suggests
   * similar names
   */
  readonly checkName: (name: string) => void
  /** Definitions of the jobs that its actors enqueue. */
  readonly invokes: ReadonlySet<JobDefinition>
  /** A runner that knows the versions of both. */
  readonly withVersionsOf: (other: MachineRunner) => MachineRunner
  /** Is `other` one of its versions? */
  readonly knows: (other: MachineRunner) => boolean
}

/**
 * The machine of a version; the current one if `version` is null or not among them. Jobs whose version this process
 * does not know are drawn by the current one.
 */
export function chartOf({ charts }: MachineRunner, version: string | null): MachineRunner['charts'][number] {
  const chart = charts.find((each) => each.version === version) ?? charts.at(-1)
  if (chart === undefined) throw new TypeError('a machine has no version')
  return chart
}
