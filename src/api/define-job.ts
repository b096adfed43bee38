/** Defines a type of job, and checks its options. */
import type { AnyStateMachine, EventFromLogic, InputFrom, OutputFrom, SnapshotFrom, TagsFrom } from 'xstate'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { hookAttempts, hookSuffix, hookTypeOf, type DeadJob, type Death } from '../core/death.ts'
import { attemptTimeoutOf, attemptTimeoutRules, type AttemptTimeoutOptions } from '../core/attempt-timeout.ts'
import { invalidOption } from '../core/errors.ts'
import type { BackoffFunction } from '../core/backoff.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import type { Json, JsonOf } from '../core/payload.ts'
import {
  retryOption,
  type BatchContext,
  type BatchDefinition,
  type BatchItem,
  type BatchResult,
  type HandlerResult,
  type JobDefinition,
  type RetryOptions,
  type RunContext,
} from '../core/definition.ts'
import { machineRunner } from '../machine-job/machine-runner.ts'
import type { MigrateSnapshot, PersistedSnapshotFrom } from '../machine-job/migration.ts'
import {
  as,
  beforeOwner,
  is,
  isObject,
  required,
  byDefault,
  fn,
  given,
  integer,
  object,
  orNull,
  syncFn,
  table,
  text,
  where,
  type Checked,
  type Given,
  type Rule,
  type RulesOf,
} from '../core/checks.ts'
import { uniqueOption, type UniqueOption } from '../core/call-options.ts'
import { limits } from '../core/limits.ts'
import { handOverHint, mayDelay } from '../core/hand-over.ts'
import { keyWeightMax } from '../core/shares.ts'
import { threadOption, type ThreadModule } from '../core/thread-module.ts'
import { isTyped } from '../core/typed.ts'
import type { RateLimit, TypeLimits } from '../store.ts'
import { ownRetention, retentionOption, type StatesRetention } from './retention.ts'

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
type TypesOf<Machine extends AnyStateMachine> = {
  readonly event: EventFromLogic<Machine>
  readonly value: SnapshotFrom<Machine>['value']
  readonly context: SnapshotFrom<Machine>['context']
  // Of a machine whose type is `any`, XState gives `unknown`.
  readonly tag: TagsFrom<Machine> & string
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
  const checked = definitionOptions(options, 'options of defineJob')
  const { type, machine, version, migrate, concurrencyKey, keyWeight } = checked
  const of = ofJob(type)
  const limitsOfType = typeLimits(checked)
  const attemptTimeoutMs = attemptTimeoutOf(checked, options, of)
  if (checked.batch !== null && checked.batch.waitMs >= (attemptTimeoutMs ?? Infinity)) {
    throw invalidOption(of('batch.wait'), 'less than attemptTimeout, which counts it', checked.batch.waitMs)
  }
  if (checked.capacity === 0 && mayDelay(limitsOfType)) {
    throw invalidOption(of('capacity'), 'no 0 beside a rate limit or a limit per key', 0, handOverHint)
  }
  return Object.freeze({
    type,
    weight: checked.weight,
    limits: limitsOfType,
    schema: checked.input === undefined || isTyped(checked.input) ? null : checked.input,
    eventSchemas: checked.events,
    ...checked.retry,
    attemptTimeoutMs,
    unique: checked.unique,
    retention: ownRetention(checked.retention, checked.keepDead, of),
    capacity: checked.capacity,
    onDead: options.onDead === undefined ? null : hookOf(type, options.onDead as DeadHookOptions),
    keyOf: concurrencyKey === undefined ? null : keyFunction(concurrencyKey, of('concurrencyKey')),
    keyWeightOf: keyWeight === undefined ? null : (key: string) => keyWeightOption(keyWeight(key), of('keyWeight')),
    run: checked.run ?? notRunnable,
    thread: checked.thread,
    batch: checked.batch,
    machine: machine === null ? null : machineRunner({ machine, version, migrate }),
  })
}

// ── rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const standardSchema = (otherwise: string): Rule<StandardSchemaV1> =>
  is(
    'a Standard Schema',
    (value): value is StandardSchemaV1 =>
      typeof (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard']?.validate === 'function',
    `Pass a schema of zod, valibot, arktype or the like; ${otherwise}.`,
  )

const eventSchema = standardSchema('leave out events that are not to be checked')

const eventSchemas: Rule<Readonly<Record<string, StandardSchemaV1>>> = (value, name) => {
  if (typeof value !== 'object' || value === null) throw invalidOption(name, 'schemas by event type', value)
  const schemas: readonly (readonly [string, unknown])[] = Object.entries(value)
  const checked = schemas.map(([type, schema]) => [type, eventSchema(schema, `${name}.${type}`)] as const)
  return Object.freeze(Object.fromEntries(checked))
}

const handler = fn<JobDefinition['run']>('Pass run: async (input, ctx) => output, or a machine instead.')

const xstateMachine = is(
  'an XState machine',
  (value): value is AnyStateMachine => isObject(value) && typeof value.provide === 'function',
  'Pass the result of createMachine of XState 5.',
)

const batchRules = {
  size: required(integer(1, limits.batchSizeMax)),
  wait: byDefault(0, durationMs),
  run: required(fn<BatchDefinition['run']>()),
} satisfies RulesOf<BatchOptions<never, unknown>>

const batch = as(table(batchRules, { nameOf: beforeOwner }), ({ size, wait, run }): BatchDefinition =>
  Object.freeze({ size, waitMs: wait, run }),
)

const rateRules = {
  limit: required(integer(1, 1_000_000)),
  per: required(where(durationMs, (ms) => ms > 0, 'a window longer than 0 ms')),
} satisfies RulesOf<NonNullable<AnyDefinition['rateLimit']>>

const rate = as(object(rateRules), ({ limit, per }): RateLimit => Object.freeze({ limit, perMs: per }))

const keyWeightOption = integer(1, keyWeightMax)

/** `retry` and the limits of an attempt are checked as those of the definition that runs the hook. */
const hookOptions = object({
  run: required(fn()),
  retry: given,
  attemptTimeout: given,
  timeout: given,
} satisfies RulesOf<DeadHookOptions>)

const deadHook: Rule<unknown> = (value, name) =>
  typeof value === 'object' && value !== null ? hookOptions(value, name) : fn()(value, name)

type AnyDefinition = Definition<unknown, unknown> & { readonly input?: StandardSchemaV1 | undefined }

const ofJob =
  (type: string) =>
  (option: string): string =>
    `${option} of job ${type}`

const typeOption = text(limits.idCharsMax)

const definitionRules = {
  type: required(typeOption),
  input: standardSchema('for types alone: input: typed<Input>()'),
  run: orNull(handler),
  thread: orNull(threadOption),
  batch: orNull(batch),
  machine: orNull(xstateMachine),
  version: byDefault('1', text(limits.idCharsMax)),
  migrate: orNull(fn<MigrateSnapshot<unknown, unknown>>()),
  events: orNull(eventSchemas),
  weight: byDefault(1, integer(1, 100_000)),
  retry: byDefault({}, retryOption<BackoffFunction>()),
  ...attemptTimeoutRules,
  unique: byDefault(false, uniqueOption),
  capacity: orNull(integer(0, limits.capacityMax)),
  retention: byDefault({}, retentionOption),
  keepDead: integer(0, limits.capacityMax),
  onDead: deadHook,
  concurrency: byDefault(0, integer(0, 1_000_000)),
  concurrencyKey: syncFn<KeyFunction>(),
  keyWeight: syncFn<(key: string) => number>(),
  perKey: integer(1, 1_000_000),
  rateLimit: orNull(rate),
  keyRateLimit: rate,
} satisfies RulesOf<AnyDefinition>

const definitionOptions = table(definitionRules, {
  together: checkTogether,
  // The others are named after the type: if it is wrong, that is said first.
  nameOf: (option, _name, { type }) => (option === 'type' ? option : ofJob(typeOption(type, 'type'))(option)),
  hint: 'Pass at least a type and a handler: defineJob({ type, run }).',
})

/** One of a handler, a handler in a thread, a handler of batches, and a machine. */
type Definition<Input, Output> = CommonOptions<Input> & {
  readonly run?: JobOptions<Input, Input, Output>['run'] | undefined
  readonly thread?: ThreadJobOptions<Input, Input, Output>['thread'] | undefined
  readonly batch?: BatchOptions<Input, Output> | undefined
  readonly events?: Readonly<Record<string, StandardSchemaV1 | undefined>>
} & Partial<Pick<MachineJobOptions<AnyStateMachine, Input>, 'machine' | 'version' | 'migrate'>>

/** One of four does the work; only a machine has versions and events, and only a type with keys has limits per key. */
function checkTogether(options: Given): void {
  const of = ofJob(typeOption(options.type, 'type'))
  const [first, second] = ['machine', 'thread', 'batch', 'run'].filter((work) => options[work] !== undefined)
  if (first === undefined) handler(undefined, of('run'))
  if (first !== undefined && second !== undefined) {
    const hint = `Leave out \`${first}\` or \`${second}\`: one of them does the work.`
    throw invalidOption(of(second), `no ${second} beside ${first}`, options[second], hint)
  }
  for (const option of ['version', 'migrate', 'events']) {
    if (options[option] === undefined || options.machine !== undefined) continue
    const hint = `Add machine, or leave ${option} out.`
    throw invalidOption(of(option), `no ${option} without a machine`, options[option], hint)
  }
  for (const option of ['perKey', 'keyWeight', 'keyRateLimit']) {
    if (options[option] === undefined || options.concurrencyKey !== undefined) continue
    const hint = 'Add concurrencyKey, which says which key a job has.'
    throw invalidOption(of(option), `no ${option} without concurrencyKey`, options[option], hint)
  }
}

/** `priority` was a name of the weight: whoever passes it meant that, or the order inside the queue. */
function refusePriority(options: object): void {
  if (typeof options !== 'object' || options === null || !('priority' in options)) return
  const hint = 'The share of a queue is its `weight`; the order inside a queue is the `priority` of an enqueue.'
  throw invalidOption('options of defineJob', 'weight in place of priority', options.priority, hint)
}

function typeLimits(checked: Checked<typeof definitionRules>): TypeLimits {
  const { concurrency, concurrencyKey, keyWeight, perKey, rateLimit, keyRateLimit } = checked
  const perKeyDefault = concurrencyKey && keyWeight === undefined && keyRateLimit === undefined ? 1 : null
  return Object.freeze({
    concurrency: concurrency || null,
    perKey: perKey ?? perKeyDefault,
    rate: rateLimit,
    ...(keyRateLimit && { keyRate: keyRateLimit }),
  })
}

function notRunnable(): never {
  throw new TypeError('the job has no handler of its own in this thread')
}

const typeWithHook = text(limits.idCharsMax - hookSuffix.length)

/** The job that runs a hook. What the hook returns is no output: it need not be JSON. */
function hookOf(type: string, onDead: DeadHook<unknown> | DeadHookOptions): JobDefinition {
  typeWithHook(type, 'type')
  const { run, retry, ...others } = typeof onDead === 'object' ? onDead : { run: onDead }
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
