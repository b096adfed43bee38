/** Defines a type of job, and checks its options. */
import type { AnyStateMachine, EventFromLogic, InputFrom, OutputFrom, SnapshotFrom, TagsFrom } from 'xstate'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { hookAttempts, hookSuffix, hookTypeOf, type DeadJob, type Death } from '../core/death.ts'
import { attemptTimeoutKeys, attemptTimeoutOf, type AttemptTimeoutOptions } from '../core/attempt-timeout.ts'
import { invalidOption } from '../core/errors.ts'
import { checkBackoff, exponential } from '../core/backoff.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import type { Json, JsonOf } from '../core/payload.ts'
import type {
  BatchContext,
  BatchDefinition,
  BatchItem,
  BatchResult,
  HandlerResult,
  JobDefinition,
  RetryOptions,
  RunContext,
} from '../core/definition.ts'
import { machineRunner } from '../machine-job/machine-runner.ts'
import type { MigrateSnapshot, PersistedSnapshotFrom } from '../machine-job/migration.ts'
import { checkFunction, checkSyncFunction, checkKeys, checkText, checkInteger } from '../core/checks.ts'
import { checkUnique, type UniqueOption } from '../core/call-options.ts'
import { defaultMaxAttempts, limits } from '../core/limits.ts'
import { handOverHint, mayDelay } from '../core/hand-over.ts'
import { keyWeightMax } from '../core/shares.ts'
import { threadModule, type ThreadModule } from '../core/thread-module.ts'
import { isTyped } from '../core/typed.ts'
import type { TypeLimits } from '../store.ts'
import { ownRetention, type StatesRetention } from './retention.ts'

/** Options of jobs with a handler and of machine jobs. */
interface CommonOptions<Input> extends AttemptTimeoutOptions {
  /** The name of the type and of its queue. 1…200 characters. */
  readonly type: string
  /** Share of its queue in the picks, relative to the weights of the other queues, 1…100000. Default 1. */
  readonly weight?: number
  /** Limit of running jobs, all processes together. Default, and 0: no limit. */
  readonly concurrency?: number
  /** Jobs with the same key share the limit `perKey`. */
  readonly concurrencyKey?: (input: Input) => string | null | undefined
  /**
   * Share of a key in the starts of the type, relative to the weights of the other keys that have work, 1…100000. Asked
   * for at each enqueue and kept with its job. Without it jobs start by priority, first in, first out, whatever their
   * keys; with it that order holds within a key.
   * @example keyWeight: (tenant) => (premium.has(tenant) ? 3 : 1)
   */
  readonly keyWeight?: (key: string) => number
  /**
   * Limit of running jobs per key, all processes together. Default 1 if there is a `concurrencyKey`, and none if there
   * is also a `keyWeight` or a `keyRateLimit`.
   */
  readonly perKey?: number
  /** Limit of starts in any window of `per`, all processes together. */
  readonly rateLimit?: { readonly limit: number; readonly per: Duration }
  /**
   * Limit of starts per key in any window of `per`, all processes together. Jobs without a key are not limited by it.
   */
  readonly keyRateLimit?: { readonly limit: number; readonly per: Duration }
  /**
   * The backlog of the type at most: its `scheduled`, `queued` and `retrying` jobs together. A full queue refuses or
   * delays its own enqueues only, those of other types go on. 0 = hand-over: a job is stored only when a worker has a
   * free slot for it, that is, a slot that no queued job will take; not together with `delay`, `runAt`, `perKey` or
   * rate limits. Applies to enqueues in processes that list the definition. 0…1,000,000,000. Default: none but the
   * `capacity` of the runtime.
   */
  readonly capacity?: number
  readonly retry?: RetryOptions
  /** Default for its enqueues. */
  readonly unique?: UniqueOption
  /**
   * How long ended jobs of the type are kept, by state: `{ done: { age, count }, dead: …, cancelled: … }`. What it
   * leaves out is as the `retention` of the runtime says. Ids, and the keys of events, deduplicate as long as the job
   * is kept. The jobs of one type never cause the removal of another's.
   * @example retention: { done: { age: '7d', count: 1_000_000 } }
   */
  readonly retention?: StatesRetention
  /**
   * Dead jobs of the type that are kept, the newest; 0 = none. The same as `retention: { dead: { count } }`, but those
   * beyond it go within seconds, not after a minute. Default: as `retention` says.
   */
  readonly keepDead?: number
  /**
   * Called once when a job of the type dies: no attempt is left, the error is fatal, or the last lease ran out, in
   * whichever process. The write that makes the job dead inserts a job of the type `<type>:dead`, which runs the hook:
   * at least once, by default with 10 attempts and the default backoff. What is called is the hook of the process that
   * claimed the job last. A dead job that is retried and dies again calls it again.
   * @example onDead: async ({ id, input, error }) => alert(`email ${id} to ${input.to}: ${error.message}`)
   */
  readonly onDead?: DeadHook<Input> | DeadHookOptions<Input>
}

type DeadHook<Input> = (job: DeadJob<Input>, context: RunContext) => unknown

/** A hook of dead jobs with settings of its own. */
export interface DeadHookOptions<Input = unknown> extends AttemptTimeoutOptions {
  readonly run: DeadHook<Input>
  /** Default: 10 attempts, the default backoff. */
  readonly retry?: RetryOptions
}

export interface JobOptions<Input, Parsed, Output> extends CommonOptions<Input> {
  readonly run: (input: Parsed, context: RunContext) => HandlerResult<Output>
  readonly thread?: undefined
  readonly batch?: undefined
}

export interface ThreadJobOptions<Input, Parsed, Output> extends CommonOptions<Input> {
  /**
   * The module whose default export, a `threadHandler`, does the work in a thread: for work that computes, and would
   * block the event loop. A handler that does not end within its grace after a cancel or timeout is ended with its
   * thread.
   */
  readonly thread: URL | ThreadModule<Parsed, Output>
  readonly run?: undefined
  readonly batch?: undefined
}

export interface BatchOptions<Parsed, Output> {
  /**
   * Jobs of one call at most, 1…10,000. Each of them holds a slot, so a batch is never larger than the `concurrency` of
   * the runtime, or that of the type.
   */
  readonly size: number
  /**
   * How long a batch that is not full waits for more jobs, counted from its first one. Default 0: it takes what has
   * started in the same turn of the event loop. A pause, a drain or a stop ends the wait.
   */
  readonly wait?: Duration
  /**
   * Gives the results in the order of the items, or nothing if all are done and none has an output. What it throws
   * fails every item.
   * @example async (items) => (await insertAll(items.map(({ input }) => input))).map(({ id, error }) => error ?? id)
   */
  readonly run: (
    items: readonly BatchItem<Parsed>[],
    context: BatchContext,
  ) => PromiseLike<readonly BatchResult<Output>[] | void> | readonly BatchResult<Output>[] | void
}

export interface BatchJobOptions<Input, Parsed, Output> extends CommonOptions<Input> {
  /** A handler that takes several jobs at once: for a bulk insert, or an interface that charges per call. */
  readonly batch: BatchOptions<Parsed, Output>
  readonly run?: undefined
  readonly thread?: undefined
}

type HandlerOptions<Input, Parsed, Output> =
  JobOptions<Input, Parsed, Output> | ThreadJobOptions<Input, Parsed, Output> | BatchJobOptions<Input, Parsed, Output>

export interface MachineJobOptions<
  Machine extends AnyStateMachine,
  Input,
  From = unknown,
> extends CommonOptions<Input> {
  /** The statechart that does the work. Its input and output are those of the job. */
  readonly machine: Machine
  /**
   * Schemas of its events, by their type: each sees the event without `type`. `send` refuses with INVALID_INPUT what
   * does not match; what the machine reads is the event as it was sent. A process that does not list the definition
   * sends unchecked.
   */
  readonly events?: EventSchemas<EventFromLogic<Machine>>
  /** Name of this version of the machine. A job stays with the version it started with. Default '1'. */
  readonly version?: string
  /**
   * Converts a persisted snapshot of another version, and its timers, to this version: `(snapshot, from, { timers }) =>
   * snapshot` or `{ snapshot, timers }`. Without it, a job of another version waits for a process that knows that
   * version. `Migrate` types it by both versions.
   * @example const migrate: Migrate<typeof orderV1, typeof orderV2> = (old) => ({ ...old, context: { lines:
   * [old.context.line] } })
   */
  readonly migrate?: MigrateSnapshot<From, unknown extends From ? unknown : PersistedSnapshotFrom<Machine>>
}

/** A Standard Schema for the data of each event that is to be checked. */
type EventSchemas<Event extends { readonly type: string }> = {
  readonly [Type in Event['type']]?: StandardSchemaV1<DataOf<Extract<Event, { readonly type: Type }>>, unknown>
}

type DataOf<Event> = { [Name in keyof Event as Exclude<Name, 'type'>]: Event[Name] }

/**
 * Refuses, by its type, a handler whose output is not JSON: a Date, a Map, a function, at whatever depth. The compiler
 * then says that this member is missing. Errors among the results of a batch are failures, not outputs.
 */
type JsonOutput<Output> = [Exclude<Output, Error>] extends [JsonOf<Exclude<Output, Error>>]
  ? unknown
  : { readonly output: 'the output of the handler must be JSON: no Date, Map, Set, bigint or function' }

/** What the types of handles know of a machine. */
interface TypesOf<Machine extends AnyStateMachine> {
  readonly event: EventFromLogic<Machine>
  readonly value: SnapshotFrom<Machine>['value']
  readonly context: SnapshotFrom<Machine>['context']
  readonly tag: TagsFrom<Machine>
}

/**
 * Defines a type of job.
 *
 * The work is done by `run`; by `thread`, a handler in a module of its own that runs in a thread; by `batch`, a handler
 * that takes several jobs at once; or by `machine`: an XState machine that is checkpointed after each step, takes no
 * slot while it waits, and resumes from its last checkpoint after a crash.
 *
 * With `input`, any Standard Schema (zod, valibot, arktype, …), the types of the input are inferred from the schema,
 * and every input is validated at the enqueue and again before each run. `typed<Input>()` is a schema that only types;
 * without a schema: `defineJob<Input, Output>({ … })`.
 *
 * @throws JobchartError INVALID_OPTION for an invalid option, or a name in a machine that is not implemented;
 * NOT_DURABLE if a
 *   part of a machine would be lost in a crash. The message lists all problems of a machine, with their places
 * @example
 * const sendEmail = defineJob({
 *   type: 'email.send',
 *   input: z.object({ to: z.string() }),
 *   retry: { maxAttempts: 5 },
 *   run: async ({ to }, { signal }) => ({ messageId: await send(to, signal) }),
 * })
 * @example
 * const order = defineJob({ type: 'order', machine: orderMachine, version: '2' })
 * @example
 * const resize = defineJob<{ path: string }, number>({ type: 'resize', thread: new URL('./resize.ts', import.meta.url)
 * })
 */
export function defineJob<Machine extends AnyStateMachine, Schema extends StandardSchemaV1, From = unknown>(
  options: MachineJobOptions<Machine, StandardSchemaV1.InferInput<Schema>, From> & { readonly input: Schema },
): JobDefinition<StandardSchemaV1.InferInput<Schema>, OutputFrom<Machine>, TypesOf<Machine>>
export function defineJob<Machine extends AnyStateMachine, From = unknown>(
  options: MachineJobOptions<Machine, InputFrom<Machine>, From> & { readonly input?: undefined },
): JobDefinition<InputFrom<Machine>, OutputFrom<Machine>, TypesOf<Machine>>
export function defineJob<Schema extends StandardSchemaV1, Output>(
  options: HandlerOptions<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, Output> & {
    readonly input: Schema
  } & JsonOutput<Output>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Output>
export function defineJob<Input = undefined, Output = unknown>(
  options: HandlerOptions<Input, Input, Output> & { readonly input?: undefined } & JsonOutput<Output>,
): JobDefinition<Input, Output>
export function defineJob<Input, Output>(
  options: Definition<Input, Output> & { readonly input?: StandardSchemaV1 | undefined },
): JobDefinition<Input, Output> {
  refusePriority(options)
  checkKeys('options of defineJob', options, jobKeys, 'Pass at least a type and a handler: defineJob({ type, run }).')
  const { type, concurrency, perKey, rateLimit, retry = {}, unique, keepDead, input: schema } = options
  checkText('type', type, limits.idCharsMax - (options.onDead === undefined ? 0 : hookSuffix.length))
  const of = (option: string): string => `${option} of job ${type}`
  checkWork(options, of)
  checkKeys(of('retry'), retry, ['maxAttempts', 'backoff', 'retryIf'])
  if (unique !== undefined) checkUnique(unique)
  const { concurrencyKey } = options
  if (concurrencyKey !== undefined) checkSyncFunction(of('concurrencyKey'), concurrencyKey)
  if (retry.retryIf !== undefined) checkSyncFunction(of('retry.retryIf'), retry.retryIf)
  const { keyWeight, keyRateLimit } = options
  if (keyWeight !== undefined) checkSyncFunction(of('keyWeight'), keyWeight)
  for (const [option, value] of Object.entries({ perKey, keyWeight, keyRateLimit })) {
    if (value === undefined || concurrencyKey !== undefined) continue
    const hint = 'Add concurrencyKey, which says which key a job has.'
    throw invalidOption(of(option), `no ${option} without concurrencyKey`, value, hint)
  }
  if (schema !== undefined) {
    checkSchema(of('input'), schema, 'for types alone: input: typed<Input>()')
  }
  const own: TypeLimits = Object.freeze({
    concurrency: concurrency === undefined ? null : checkInteger(of('concurrency'), concurrency, 0, 1_000_000) || null,
    perKey: perKeyOf(options, of),
    rate: rateLimit === undefined ? null : rateOf(rateLimit, of('rateLimit')),
    ...(keyRateLimit !== undefined && { keyRate: rateOf(keyRateLimit, of('keyRateLimit')) }),
  })
  return Object.freeze({
    type,
    weight: checkInteger(of('weight'), options.weight ?? 1, 1, 100_000),
    limits: own,
    schema: schema === undefined || isTyped(schema) ? null : schema,
    eventSchemas: options.events === undefined ? null : eventSchemasOf(options.events, of('events')),
    maxAttempts: checkInteger(of('retry.maxAttempts'), retry.maxAttempts ?? defaultMaxAttempts, 1, limits.attemptsMax),
    backoff: checkBackoff(retry.backoff ?? exponential()),
    retryIf: retry.retryIf ?? null,
    attemptTimeoutMs: attemptTimeoutOf(options, of),
    unique: unique ?? false,
    retention: ownRetention(options.retention, keepDead, of),
    capacity: capacityOf(options.capacity, own, of('capacity')),
    onDead: options.onDead === undefined ? null : hookOf(type, options.onDead as DeadHookOptions, of('onDead')),
    keyOf: concurrencyKey === undefined ? null : keyFunction(concurrencyKey as KeyFunction, of('concurrencyKey')),
    keyWeightOf:
      keyWeight === undefined ? null : (key: string) => checkInteger(of('keyWeight'), keyWeight(key), 1, keyWeightMax),
    run: (options.run ?? notRunnable) as (input: unknown, context: RunContext) => unknown,
    thread: options.thread === undefined ? null : threadModule(of('thread'), options.thread),
    batch: options.batch === undefined ? null : batchOf(options.batch, of),
    machine: options.machine === undefined ? null : machineOf(options, of),
  })
}

const jobKeys = [
  ...([
    'type',
    'input',
    'run',
    'thread',
    'batch',
    'machine',
    'version',
    'migrate',
    'events',
    'weight',
    'retry',
    ...attemptTimeoutKeys,
    'unique',
    'capacity',
    'retention',
    'keepDead',
    'onDead',
  ] as const),
  ...(['concurrency', 'concurrencyKey', 'keyWeight', 'perKey', 'rateLimit', 'keyRateLimit'] as const),
]

/** One of a handler, a handler in a thread, a handler of batches, and a machine. */
type Definition<Input, Output> = CommonOptions<Input> & {
  readonly run?: JobOptions<Input, Input, Output>['run'] | undefined
  readonly thread?: ThreadJobOptions<Input, Input, Output>['thread'] | undefined
  readonly batch?: BatchOptions<Input, Output> | undefined
  readonly events?: Readonly<Record<string, StandardSchemaV1 | undefined>>
} & Partial<Pick<MachineJobOptions<AnyStateMachine, Input>, 'machine' | 'version' | 'migrate'>>

function checkWork(
  { run, thread, batch, machine, version, migrate, events }: Definition<never, unknown>,
  of: (option: string) => string,
): void {
  const [first, second] = Object.entries({ machine, thread, batch, run }).filter(([, work]) => work !== undefined)
  if (first !== undefined && second !== undefined) {
    const hint = `Leave out \`${first[0]}\` or \`${second[0]}\`: one of them does the work.`
    throw invalidOption(of(second[0]), `no ${second[0]} beside ${first[0]}`, second[1], hint)
  }
  if (machine === undefined) {
    if (first === undefined || run !== undefined) checkHandler(of('run'), run)
    if (version !== undefined)
      throw invalidOption(of('version'), 'no version without a machine', version, 'Add machine, or leave version out.')
    if (migrate !== undefined)
      throw invalidOption(of('migrate'), 'no migrate without a machine', migrate, 'Add machine, or leave migrate out.')
    if (events !== undefined)
      throw invalidOption(of('events'), 'no events without a machine', events, 'Add machine, or leave events out.')
    return
  }
  if (typeof machine !== 'object' || typeof machine?.provide !== 'function') {
    throw invalidOption(of('machine'), 'an XState machine', machine, 'Pass the result of createMachine of XState 5.')
  }
  if (migrate !== undefined) checkFunction(of('migrate'), migrate)
}

function capacityOf(capacity: number | undefined, own: TypeLimits, option: string): number | null {
  if (capacity === undefined) return null
  if (capacity === 0 && mayDelay(own)) {
    throw invalidOption(option, 'no 0 beside a rate limit or a limit per key', capacity, handOverHint)
  }
  return checkInteger(option, capacity, 0, limits.capacityMax)
}

/** The job that runs a hook. What the hook returns is no output: it need not be JSON. */
function hookOf(type: string, onDead: DeadHook<unknown> | DeadHookOptions, option: string): JobDefinition {
  const hasOptions = typeof onDead === 'object' && onDead !== null
  if (hasOptions) checkKeys(option, onDead, ['run', 'retry', ...attemptTimeoutKeys])
  const { run, retry, ...others } = hasOptions ? onDead : { run: onDead }
  checkFunction(hasOptions ? `${option}.run` : option, run)
  return defineJob<Death, void>({
    type: hookTypeOf(type),
    ...others,
    retry: { maxAttempts: hookAttempts, ...retry },
    run: async (death, context) => {
      const { tags, meta } = context.job
      await run({ ...death, tags, meta }, context)
    },
  })
}

function batchOf(batch: BatchOptions<never, unknown>, of: (option: string) => string): BatchDefinition {
  checkKeys(of('batch'), batch, ['size', 'wait', 'run'])
  const { size, wait = 0, run } = batch
  checkFunction(of('batch.run'), run)
  return Object.freeze({
    size: checkInteger(of('batch.size'), size, 1, limits.batchSizeMax),
    waitMs: durationMs(wait, of('batch.wait')),
    run: run as BatchDefinition['run'],
  })
}

function machineOf({ machine, version = '1', migrate }: Definition<never, unknown>, of: (option: string) => string) {
  checkText(of('version'), version, limits.idCharsMax)
  return machineRunner({ machine: machine as AnyStateMachine, version, migrate: migrate ?? null })
}

function checkSchema(option: string, schema: StandardSchemaV1, otherwise: string): void {
  if (typeof schema?.['~standard']?.validate === 'function') return
  const hint = `Pass a schema of zod, valibot, arktype or the like; ${otherwise}.`
  throw invalidOption(option, 'a Standard Schema', schema, hint)
}

function eventSchemasOf(schemas: object, option: string): Readonly<Record<string, StandardSchemaV1>> {
  if (typeof schemas !== 'object' || schemas === null) throw invalidOption(option, 'schemas by event type', schemas)
  for (const [type, schema] of Object.entries(schemas)) {
    checkSchema(`${option}.${type}`, schema, 'leave out events that are not to be checked')
  }
  return Object.freeze({ ...schemas })
}

function checkHandler(option: string, run: unknown): void {
  if (typeof run === 'function') return
  throw invalidOption(option, 'a function', run, 'Pass run: async (input, ctx) => output, or a machine instead.')
}

function notRunnable(): never {
  throw new TypeError('the job has no handler of its own in this thread')
}

/** `priority` was a name of the weight: whoever passes it meant that, or the order inside the queue. */
function refusePriority(options: object): void {
  if (typeof options !== 'object' || options === null || !('priority' in options)) return
  const hint = 'The share of a queue is its `weight`; the order inside a queue is the `priority` of an enqueue.'
  throw invalidOption('options of defineJob', 'weight in place of priority', options.priority, hint)
}

function perKeyOf(options: Definition<never, unknown>, of: (option: string) => string): number | null {
  const { concurrencyKey, keyWeight, keyRateLimit, perKey } = options
  const hasOther = keyWeight !== undefined || keyRateLimit !== undefined
  if (concurrencyKey === undefined || (perKey === undefined && hasOther)) return null
  return checkInteger(of('perKey'), perKey ?? 1, 1, 1_000_000)
}

function rateOf(rate: { readonly limit: number; readonly per: Duration }, option: string) {
  checkKeys(option, rate, ['limit', 'per'])
  const { limit, per } = rate
  const perMs = durationMs(per, `${option}.per`)
  if (perMs === 0) throw invalidOption(`${option}.per`, 'a window longer than 0 ms', per)
  return Object.freeze({ limit: checkInteger(`${option}.limit`, limit, 1, 1_000_000), perMs })
}

type KeyFunction = (input: unknown) => string | null | undefined

function keyFunction(keyOf: KeyFunction, option: string) {
  return (input: Json | undefined): string | null => {
    const key = keyOf(input) ?? null
    if (key === null || (typeof key === 'string' && key.length <= limits.keyCharsMax && key.isWellFormed())) return key
    throw invalidOption(
      option,
      `a function that returns text of at most ${limits.keyCharsMax} characters, or null`,
      key,
    )
  }
}
