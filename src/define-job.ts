/** A type of job: what it takes, what it does, how it is limited and retried. Checked here, at definition. */
import type { Observable } from 'rxjs'
import type { AnyStateMachine, EventFromLogic, InputFrom, OutputFrom } from 'xstate'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { invalidOption } from './errors.ts'
import { checkBackoff, exponential, type Backoff } from './job/backoff.ts'
import { durationMs, type Duration } from './job/duration.ts'
import type { JobRecord } from './job/job.ts'
import type { Json } from './job/payload.ts'
import type { JobHandle } from './handle.ts'
import type { MachineHost } from './hosting.ts'
import { machineHost } from './machine-job/machine-host.ts'
import type { Migrate } from './machine-job/migration.ts'
import { checkFunction, checkSyncFunction, knownKeys, textOption, whole } from './checks.ts'
import { checkUnique, type EnqueueArguments, type RunEnqueueOptions, type UniqueOption } from './call-options.ts'
import { limits } from './limits.ts'
import type { TypeLimits } from './store.ts'

/**
 * What middleware puts on `ctx.values`. Empty here; your application declares its own members:
 * @example declare module 'jobchart' { interface ContextValues { user: User } }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- an interface, so that users can merge their members into it
export interface ContextValues {}

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
  readonly checkin: (value: unknown) => void
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

export interface RetryOptions {
  /** Attempts at most. Default 3; 1 = straight to dead. */
  readonly maxAttempts?: number
  /** Default: exponential from 1 s to 1 h with full jitter. */
  readonly backoff?: Backoff
  /** Is another attempt worth it after this error? Answers at once: an async function is refused. Default: yes. */
  readonly retryIf?: (error: unknown) => boolean
}

/** What every job has, whatever does its work. */
export interface CommonOptions<Input> {
  /** Its name, and its queue's. 1…200 characters. */
  readonly type: string
  /** Weight of its queue, 1…100000. Default 1. */
  readonly priority?: number
  /** Running at once, all processes together. Default, and 0: no cap. */
  readonly concurrency?: number
  /** Jobs with the same key share `perKey`. */
  readonly concurrencyKey?: (input: Input) => string | null | undefined
  /** Running at once per concurrencyKey. Default 1 where there is a key. */
  readonly perKey?: number
  /** Starts at most in any window of `per`, all processes together. */
  readonly rateLimit?: { readonly limit: number; readonly per: Duration }
  readonly retry?: RetryOptions
  /** Per attempt. Default: none. */
  readonly timeout?: Duration
  /** Default for its enqueues. */
  readonly unique?: UniqueOption
}

export interface JobOptions<Input, Parsed, Output> extends CommonOptions<Input> {
  readonly run: (input: Parsed, context: RunContext) => HandlerResult<Output>
}

export interface MachineJobOptions<Machine extends AnyStateMachine, Input> extends CommonOptions<Input> {
  /** The statechart that is the job. Its input is the job's, its output the job's output. */
  readonly machine: Machine
  /** Names this form of the machine: jobs stay with the version they began with. Default '1'. */
  readonly version?: string
  /**
   * Brings a persisted snapshot of another version to this one, and its timers: `(snapshot, from, { timers }) => snapshot` or
   * `{ snapshot, timers }`. Without it such a job waits for a process that knows its version.
   */
  readonly migrate?: Migrate
}

/** What a machine is sent. */
export interface MachineEvent {
  readonly type: string
}

/** A checked job type; made by `defineJob`. `Input` and `Output` are inferred from it wherever it is used. */
export interface JobDefinition<Input = unknown, Output = unknown, Event extends MachineEvent = MachineEvent> {
  readonly type: string
  readonly priority: number
  readonly limits: TypeLimits
  readonly schema: StandardSchemaV1 | null
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly retryIf: ((error: unknown) => boolean) | null
  readonly timeoutMs: number | null
  readonly unique: UniqueOption
  readonly keyOf: ((input: Json | undefined) => string | null) | null
  readonly run: (input: unknown, context: RunContext) => unknown
  /** What hosts its machine, if the job is one. */
  readonly machine: MachineHost | null
  /** Never there at run time; carries the types. */
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly event: Event }
}

/**
 * Defines a type of job.
 *
 * Its work is done by `run`, or by `machine`: an XState machine that is checkpointed at each state it comes to rest in, waits
 * without a slot, and goes on after a crash where it stood.
 *
 * With `input`, any Standard Schema (zod, valibot, arktype, …), the input's types are inferred from it, and every input is
 * validated at enqueue and again before each run. Without it: `defineJob<Input, Output>({ … })`.
 *
 * @throws JobchartError INVALID_OPTION for an option that makes no sense, and for what a machine names and nobody has implemented;
 *   NOT_DURABLE for a machine that would be lost in a crash. All that is refused of a machine is named at once, with its place
 * @example
 * const sendEmail = defineJob({
 *   type: 'email.send',
 *   input: z.object({ to: z.string() }),
 *   retry: { maxAttempts: 5 },
 *   run: async ({ to }, { signal }) => ({ messageId: await send(to, signal) }),
 * })
 * @example
 * const order = defineJob({ type: 'order', machine: orderMachine, version: '2' })
 */
export function defineJob<Machine extends AnyStateMachine, Schema extends StandardSchemaV1>(
  options: MachineJobOptions<Machine, StandardSchemaV1.InferInput<Schema>> & { readonly input: Schema },
): JobDefinition<StandardSchemaV1.InferInput<Schema>, OutputFrom<Machine>, EventFromLogic<Machine>>
export function defineJob<Machine extends AnyStateMachine>(
  options: MachineJobOptions<Machine, InputFrom<Machine>> & { readonly input?: undefined },
): JobDefinition<InputFrom<Machine>, OutputFrom<Machine>, EventFromLogic<Machine>>
export function defineJob<Schema extends StandardSchemaV1, Output>(
  options: JobOptions<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, Output> & {
    readonly input: Schema
  },
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Output>
export function defineJob<Input = undefined, Output = unknown>(
  options: JobOptions<Input, Input, Output> & { readonly input?: undefined },
): JobDefinition<Input, Output>
export function defineJob<Input, Output>(
  options: Definition<Input, Output> & { readonly input?: StandardSchemaV1 | undefined },
): JobDefinition<Input, Output> {
  knownKeys('options of defineJob', options, jobKeys, 'Pass at least a type and a handler: defineJob({ type, run }).')
  const { type, priority = 1, concurrency, perKey, rateLimit, retry = {}, timeout, unique, input: schema } = options
  textOption('type', type, limits.idCharsMax)
  const of = (option: string): string => `${option} of job ${type}`
  checkWork(options, of)
  knownKeys(of('retry'), retry, ['maxAttempts', 'backoff', 'retryIf'])
  if (unique !== undefined) checkUnique(unique)
  const { concurrencyKey } = options
  if (concurrencyKey !== undefined) checkSyncFunction(of('concurrencyKey'), concurrencyKey)
  if (retry.retryIf !== undefined) checkSyncFunction(of('retry.retryIf'), retry.retryIf)
  if (perKey !== undefined && concurrencyKey === undefined) {
    const hint = 'Add concurrencyKey: it says which jobs share the limit.'
    throw invalidOption(of('perKey'), 'no perKey without concurrencyKey', perKey, hint)
  }
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    const hint = 'Pass a schema of zod, valibot, arktype or the like; for types alone: defineJob<Input, Output>({ … }).'
    throw invalidOption(of('input'), 'a Standard Schema', schema, hint)
  }
  return Object.freeze({
    type,
    priority: whole(of('priority'), priority, 1, 100_000),
    limits: Object.freeze({
      concurrency: concurrency === undefined ? null : whole(of('concurrency'), concurrency, 0, 1_000_000) || null,
      perKey: concurrencyKey === undefined ? null : whole(of('perKey'), perKey ?? 1, 1, 1_000_000),
      rate: rateLimit === undefined ? null : rateOf(rateLimit, of('rateLimit')),
    }),
    schema: schema ?? null,
    maxAttempts: whole(of('retry.maxAttempts'), retry.maxAttempts ?? 3, 1, 1_000_000),
    backoff: checkBackoff(retry.backoff ?? exponential()),
    retryIf: retry.retryIf ?? null,
    timeoutMs: timeout === undefined ? null : durationMs(timeout, of('timeout')),
    unique: unique ?? false,
    keyOf: concurrencyKey === undefined ? null : keyFunction(concurrencyKey as KeyFunction, of('concurrencyKey')),
    run: (options.run ?? noHandler) as (input: unknown, context: RunContext) => unknown,
    machine: options.machine === undefined ? null : machineOf(options, of),
  })
}

const jobKeys = [
  ...(['type', 'input', 'run', 'machine', 'version', 'migrate', 'priority', 'retry', 'timeout', 'unique'] as const),
  ...(['concurrency', 'concurrencyKey', 'perKey', 'rateLimit'] as const),
]

/** Either a handler or a machine. */
type Definition<Input, Output> = CommonOptions<Input> &
  Partial<JobOptions<Input, Input, Output>> &
  Partial<Pick<MachineJobOptions<AnyStateMachine, Input>, 'machine' | 'version' | 'migrate'>>

function checkWork(
  { run, machine, version, migrate }: Definition<never, unknown>,
  of: (option: string) => string,
): void {
  if (machine === undefined) {
    checkHandler(of('run'), run)
    if (version !== undefined)
      throw invalidOption(of('version'), 'no version without a machine', version, 'Add machine, or leave version out.')
    if (migrate !== undefined)
      throw invalidOption(of('migrate'), 'no migrate without a machine', migrate, 'Add machine, or leave migrate out.')
    return
  }
  if (run !== undefined) throw invalidOption(of('run'), 'no run beside machine', run, 'Leave one of the two out.')
  if (typeof machine !== 'object' || typeof machine?.provide !== 'function') {
    throw invalidOption(of('machine'), 'an XState machine', machine, 'Pass what createMachine of XState 5 gives.')
  }
  if (migrate !== undefined) checkFunction(of('migrate'), migrate)
}

function machineOf({ machine, version = '1', migrate }: Definition<never, unknown>, of: (option: string) => string) {
  textOption(of('version'), version, limits.idCharsMax)
  return machineHost({ machine: machine as AnyStateMachine, version, migrate: migrate ?? null })
}

function checkHandler(option: string, run: unknown): void {
  if (typeof run === 'function') return
  throw invalidOption(option, 'a function', run, 'Pass run: async (input, ctx) => output, or a machine instead.')
}

function noHandler(): never {
  throw new TypeError('a machine is hosted, not run')
}

function rateOf(rate: { readonly limit: number; readonly per: Duration }, option: string) {
  knownKeys(option, rate, ['limit', 'per'])
  const { limit, per } = rate
  const perMs = durationMs(per, `${option}.per`)
  if (perMs === 0) throw invalidOption(`${option}.per`, 'a window longer than 0 ms', per)
  return Object.freeze({ limit: whole(`${option}.limit`, limit, 1, 1_000_000), perMs })
}

type KeyFunction = (input: unknown) => string | null | undefined

function keyFunction(keyOf: KeyFunction, option: string) {
  return (input: Json | undefined): string | null => {
    const key = keyOf(input) ?? null
    if (key === null || (typeof key === 'string' && key.length <= limits.keyCharsMax && key.isWellFormed())) return key
    throw invalidOption(option, `a function that gives text of at most ${limits.keyCharsMax} characters, or null`, key)
  }
}
