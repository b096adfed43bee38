/**
 * What a type of job is once it is defined and checked: how it is limited and retried, and what does its work, a handler
 * (`run`) or a machine (`MachineHost`); and what each of the two is given for an attempt.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Observable } from 'rxjs'
import type { AnyStateMachine } from 'xstate'
import type { Backoff } from './backoff.ts'
import type { EnqueueArguments, EnqueueOptions, RunEnqueueOptions, UniqueOption } from './call-options.ts'
import type { Random, Timer } from './clock.ts'
import type { JobchartError } from './errors.ts'
import type { JobHandle } from './handle.ts'
import type { FatalError, Snooze } from './intent.ts'
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
import type { Json, JsonOf } from './payload.ts'
import type { JobRecord } from './record.ts'
import type { TypeLimits } from './values.ts'

/**
 * What middleware puts on `ctx.values`. Empty here; your application declares its own members:
 * @example declare module 'jobchart' { interface ContextValues { user: User } }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- an interface, so that users can merge their members into it
export interface ContextValues {}

export interface RetryOptions {
  /** Attempts at most. Default 3; 1 = straight to dead. */
  readonly maxAttempts?: number
  /** Default: exponential from 1 s to 1 h with full jitter. */
  readonly backoff?: Backoff
  /** Is another attempt worth it after this error? Answers at once: an async function is refused. Default: yes. */
  readonly retryIf?: (error: unknown) => boolean
}

/** What a run knows and can do. Its members may be destructured. */
export interface RunContext {
  readonly id: string
  readonly type: string
  /** 1 for the first attempt of a generation. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Aborts on cancel, timeout, lost lease and shutdown. `signal.reason` is a JobchartError whose code tells which:
   * CANCELLED, TIMEOUT, LEASE_LOST, STOPPED.
   */
  readonly signal: AbortSignal
  /** When this attempt will be timed out, ms since the epoch; null without a timeout. */
  readonly deadline: number | null
  /** The job as it was claimed. */
  readonly job: JobRecord
  /** What middleware put there; fresh for each attempt. */
  readonly values: ContextValues
  /**
   * Says how far it is. The last value is kept with the job; writes are throttled, the last one is never lost.
   * @throws JobchartError INVALID_OUTPUT if the value is not strict JSON
   */
  readonly checkin: <Value>(value: Value & JsonOf<Value>) => void
  /** Keeps a line with the job (the last 100). `fields` must be strict JSON. */
  readonly log: (message: string, fields?: Record<string, unknown>) => void
  /**
   * Does `work` once per generation of the job: its result is stored, and a later attempt gets the result instead. Every
   * step of an attempt has a name of its own, of 200 characters at most; the name of a step that failed may be used again.
   * No work begins once `signal` has aborted or the lease may have run out.
   * @throws whatever `work` throws; DUPLICATE_STEP for a name that the attempt has used; TOO_MANY_STEPS beyond 10,000 steps
   *   or 16 Mi characters of results as JSON; INVALID_OUTPUT if the result is not JSON or larger than 1 MiB; INVALID_OPTION
   *   for a bad name; the reason of `signal` (LEASE_LOST, CANCELLED, TIMEOUT, STOPPED); NOT_ACCEPTED after the run's end
   * @example for (const order of orders) await step(`charge:${order.id}`, () => charge(order))
   */
  readonly step: <T>(name: string, work: () => T | PromiseLike<T>) => Promise<T>
  /**
   * Enqueues another job: also while the runtime drains, and without waiting for room, which its own slot might have to make.
   * An attempt that is repeated gets the job of the attempt before it (`deduplicated` is true): the id is derived from this job,
   * its generation and `key`; without a key from the type, the input, and how often the attempt has enqueued both. Give a key
   * where the input differs from attempt to attempt, or where each attempt is to enqueue a job of its own
   * (`key: 'alert:' + attempt`). What is enqueued after a snooze or a `retry()` is new; of a key only after a `retry()`.
   * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION, ID_TAKEN, STORE_UNAVAILABLE; NOT_ACCEPTED after the run's end
   * @example await enqueue(receipt, { order: order.id, at: Date.now() }, { key: `receipt:${order.id}` })
   */
  readonly enqueue: <Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>, RunEnqueueOptions>
  ) => Promise<JobHandle<Output>>
}

/** What a handler may give back; of an Observable each value is a check-in and the last one the output. */
export type HandlerResult<Output> = Output | PromiseLike<Output> | Observable<Output>

/**
 * Wraps every run: `next()` goes on inwards and resolves with the output. What the middleware returns is the output; if it
 * returns nothing, the output of `next()` is kept. Throwing fails the attempt. So does, with INVALID_MIDDLEWARE, calling
 * `next()` twice, or neither calling it nor returning a value (`null` will do).
 * @example async (ctx, next) => { const startedAt = performance.now(); await next(); measure(ctx.type, performance.now() - startedAt) }
 */
export type Middleware = (context: RunContext, next: () => Promise<unknown>) => unknown

// ── batches ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One job of a batch. */
export interface BatchItem<Input> {
  readonly input: Input
  /** Of its job alone: its signal, its attempt, its check-ins. */
  readonly ctx: RunContext
}

/** What a handler of batches is given beside its items. */
export interface BatchContext {
  readonly type: string
  /** Aborts when the signals of all items have: nobody waits for a result any more. Its reason is that of the last one. */
  readonly signal: AbortSignal
}

/**
 * How an item of a batch ends: with its output, or with the error with which it has failed, as if its handler had thrown it;
 * `fatal(error)` and `snooze(delay)` are such errors.
 */
export type BatchResult<Output> = Output | Error | FatalError | Snooze

/** The handler of a type whose jobs are run in batches. */
export interface BatchDefinition {
  readonly size: number
  readonly waitMs: number
  readonly run: (items: readonly BatchItem<unknown>[], context: BatchContext) => unknown
}

// ── definitions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** The module of a handler that runs in a thread. */
export interface ThreadSource {
  /** Its address, a `file:` URL. */
  readonly url: string
  /** Memory of a thread for objects, MiB; null: the default of V8. */
  readonly memoryMb: number | null
}

/** A checked job type; made by `defineJob`. `Input` and `Output` are inferred from it wherever it is used. */
export interface JobDefinition<Input = unknown, Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly type: string
  /** Of its queue. */
  readonly weight: number
  readonly limits: TypeLimits
  readonly schema: StandardSchemaV1 | null
  /** Schemas of the data of events, by the type of the event; null without. */
  readonly eventSchemas: Readonly<Record<string, StandardSchemaV1>> | null
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly retryIf: ((error: unknown) => boolean) | null
  readonly timeoutMs: number | null
  readonly unique: UniqueOption
  /** Dead jobs kept at most; null: as the retention says. */
  readonly keepDead: number | null
  readonly keyOf: ((input: Json | undefined) => string | null) | null
  /** The weight of a key among the keys of the type; null: jobs go first in, first out whatever their keys. */
  readonly keyWeightOf: ((key: string) => number) | null
  readonly run: (input: unknown, context: RunContext) => unknown
  /** The module of its handler, if that runs in a thread. */
  readonly thread: ThreadSource | null
  /** Its handler, if that takes several jobs at once. */
  readonly batch: BatchDefinition | null
  /** What hosts its machine, if the job is one. */
  readonly machine: MachineRunner | null
  /** Never there at run time; carries the types. */
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly machine: Machine }
}

/** Is it what is listed, or one of the versions of a machine that are listed together? */
export const isDefinition = (listed: JobDefinition | undefined, job: JobDefinition): boolean =>
  listed !== undefined && (listed === job || (job.machine !== null && listed.machine?.knows(job.machine) === true))

// ── machines ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How a child ended, as its parent hears of it. */
export type ChildEnd = Omit<Extract<InboxMessage, { readonly kind: 'ended' }>, 'kind'>

/** One attempt of a job, as the host of its machine sees it. */
export interface MachineRunContext {
  readonly id: string
  readonly type: string
  /** Goes up when the job is sent through again after its end. */
  readonly generation: number
  /** Validated again, as for a handler. */
  readonly input: unknown
  /** Where the machine stood when it was last at rest. */
  readonly checkpoint: Checkpoint | null
  /** Messages it has not read. More come to `mail`. */
  readonly inbox: readonly InboxEntry[]
  /** Has an attempt of the job failed before? */
  readonly hasFailed: () => boolean
  readonly signal: AbortSignal
  readonly logger: Logger
  /** ms since the epoch, by the store's clock. */
  readonly now: () => number
  readonly after: (delayMs: number, run: () => void) => Timer
  /** From now on calls the listener with messages that arrive, in order. */
  readonly onMessages: (listener: (messages: readonly InboxEntry[]) => void) => void
  /**
   * Writes a checkpoint; gives the messages that have not been read.
   * @throws JobchartError LEASE_LOST if the job is no longer this attempt's; STORE_UNAVAILABLE
   */
  readonly commit: (checkpoint: NewCheckpoint) => Promise<readonly InboxEntry[]>
  /** Results of finished steps, by name, as they were at the claim. */
  readonly steps: Readonly<Record<string, Json>> | null
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  readonly saveStep: (name: string, result: Json) => Promise<void>
  /** Why no more work may begin, if so: the attempt has ended, was asked to end, or its lease may have run out. */
  readonly refusal: () => JobchartError | null
  readonly random: Random
  /** Keeps a line with the job. */
  readonly log: (message: string) => void
  /** Tells an event that the machine has emitted. */
  readonly emitted: (event: Json) => void
  /** Enqueues a job as a child of this one. Its end comes as a message; if it has ended before, it is the answer. */
  readonly enqueueChild: (
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    checkins: boolean,
  ) => Promise<ChildEnd | null>
  /** Cancels a child that is left. */
  readonly cancelChild: (id: string) => Promise<unknown>
}

/** How an attempt of a machine ends, if it does not fail: at its final state, or parked until a message or a time. */
export type RunResult =
  | {
      readonly kind: 'done'
      readonly output: unknown
      readonly checkpoint: NewCheckpoint | null
      /** Has the machine taken the cancel that it was sent? Then its job is cancelled, else the cancel came too late. */
      readonly cancelTaken: boolean
    }
  | {
      readonly kind: 'parked'
      readonly checkpoint: NewCheckpoint | null
      /** ms since the epoch; null: until a message. */
      readonly wakeAt: number | null
      readonly gather?: Gather
    }
  | UnsupportedRest

/** None of the versions known here can begin or go on with the job; nothing of it has been run. */
export interface UnsupportedRest {
  readonly kind: 'unsupported'
  /** The version that the job needs. */
  readonly version: string
  readonly reason: string
  readonly error: unknown
}

/** A job whose machine is to run: where it stands, or else with which version and input it is to begin. */
export type MachineJob = Pick<JobRecord, 'checkpoint' | 'version' | 'input'>

/**
 * Where the machine of a job stands at a time (ms since the epoch), messages that it has not read and timers that are due
 * included.
 * @throws JobchartError UNSUPPORTED; NOT_ACCEPTED if the machine throws
 */
export type MachineViewer = <Machine extends MachineTypes>(record: JobRecord, now: number) => MachineView<Machine>

/** The machine of a job type, hosted. */
export interface MachineRunner {
  /**
   * Finds the version that goes on with a job. What it gives brings the machine from where it stands to its next rest, and
   * throws what its actors and actions throw, and why it was asked to end.
   */
  readonly prepare: (job: MachineJob) => UnsupportedRest | ((seat: MachineRunContext) => Promise<RunResult>)
  /** The version that jobs enqueued here begin with. */
  readonly version: string
  /** Looks at jobs of one store. */
  readonly viewer: () => MachineViewer
  /** Was the machine of a waiting job defined otherwise, so that it has to go on before it waits for the right things? */
  readonly isOutdated: (record: JobRecord) => boolean
  /** Its versions, for other processes to compare. */
  readonly definitions: string
  /** Its charts, for pictures; the current one last. */
  readonly charts: readonly { readonly version: string; readonly machine: AnyStateMachine }[]
  /** Where it stood at a checkpoint. */
  readonly viewAt: <Machine extends MachineTypes>(state: Json) => MachineView<Machine>
  /** Refuses a name that is no state and no tag of any of its versions. @throws JobchartError INVALID_OPTION, hinting at the nearest */
  readonly checkName: (name: string) => void
  /** The jobs that its actors enqueue. */
  readonly invokes: ReadonlySet<JobDefinition>
  /** The same, and knows this other version of the machine as well. */
  readonly withVersionsOf: (other: MachineRunner) => MachineRunner
  /** Is the other one of its versions? */
  readonly knows: (other: MachineRunner) => boolean
}
