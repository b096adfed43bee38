/** The options of a client and a runtime: their defaults, limits and checks. */
import {
  boolean,
  is,
  isObject,
  required,
  byDefault,
  fn,
  integer,
  listOf,
  orNull,
  syncFn,
  table,
  text,
  where,
  withMethods,
  type Checked,
  type Rule,
  type RulesOf,
} from '../core/checks.ts'
import { clockOption, randomOption, systemClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import type { JobDefinition, Middleware } from '../core/definition.ts'
import { isDefinition } from '../core/definition-copy.ts'
import type { EnqueueMiddleware } from '../core/enqueue-call.ts'
import type { ScheduleDefinition } from '../core/schedule-options.ts'
import { selectionOption, type ClientSettings, type RuntimeSettings, type SelectionOption } from '../core/settings.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { checkId } from '../core/call-options.ts'
import { handOverHint, mayDelay } from '../core/hand-over.ts'
import { uniqueIds } from '../core/ids.ts'
import type { Inspect } from '../core/inspection.ts'
import { limits } from '../core/limits.ts'
import { nodeModule, notHere } from '../core/platform.ts'
import { storeAt } from '../open/store-at.ts'
import { consoleLogger, guarded, type Logger } from '../core/logger.ts'
import { guardedTelemetry } from '../core/guarded-telemetry.ts'
import type { Telemetry } from '../core/telemetry.ts'
import type { OpenTransaction, Store } from '../store.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { retentionOption, retentionPolicies, type StatesRetention } from './retention.ts'

export interface ClientOptions {
  /**
   * The known definitions. A machine job may be listed in several versions, the current one last. Default: none. Calls
   * that name jobs by ids or types (`list`, `queue`, `cancel`, `retry`, `discard`, `enqueueByName`, `send` with
   * `accept: 'always'`) need no definitions.
   */
  readonly jobs?: readonly JobDefinition[]
  /**
   * Where jobs are stored: a store, or its address as of `openStore`: `redis://…`, `postgres://…`, the path of a SQLite
   * file, or `memory:`. Default: `memoryStore()`.
   * @example createRuntime({ jobs, store: process.env.JOBS ?? 'jobs.db' })
   */
  readonly store?: Store | string
  /**
   * Limit of the backlog: scheduled, queued and retrying jobs together; enqueue waits for room. 0 = hand-over of every
   * type: see `capacity` of `defineJob`. Default: no limit.
   */
  readonly capacity?: number
  /**
   * Called for every job that this runtime or client enqueues, before it is checked and inserted, the first one
   * outermost: also for children of machines, jobs of `ctx.enqueue` and ticks of schedules. It may change the options
   * of the call. Synchronous. Default: none.
   * @example createClient({ jobs, enqueueMiddleware: [withTenant] })
   */
  readonly enqueueMiddleware?: readonly EnqueueMiddleware[]
  /**
   * Traces and metrics: `otel()` of `jobchart/otel`. Default: none.
   * @example createRuntime({ jobs, telemetry: otel() })
   */
  readonly telemetry?: Telemetry
  /**
   * `console`, a logger of pino or winston as it is, or an object with any of the four methods `(message, fields)`.
   * Default: warnings and errors to stderr.
   * @example createRuntime({ jobs, logger: pino() })
   */
  readonly logger?: Partial<Logger>
  /** Replaces the system clock in tests. */
  readonly clock?: Clock
  /** Replaces Math.random (jitter, random selection) in tests. */
  readonly random?: Random
  /**
   * Generates the id of the runtime, and those of jobs that are enqueued without one, 1…200 characters each. No two
   * calls in any process of the store may give the same: the second job would be taken for the first. Default: the time
   * and 84 random bits, so that ids sort by time.
   */
  readonly newId?: () => string
  /**
   * Gives the transaction that calls join which name none (`{ tx }`), or null: for libraries that keep the transaction
   * of the present request, for example in an `AsyncLocalStorage`. Called in the turn of each call of `enqueue`,
   * `enqueueMany`, `tryEnqueue`, `send`, `cancel` and `schedule`. `tx: null` of a call joins none. Handlers are called
   * in the asynchronous context in which the runtime was made. Default: none.
   * @example createClient({ store, jobs, tx: () => current.getStore() })
   */
  readonly tx?: () => OpenTransaction | null | undefined
}

export interface RuntimeOptions extends ClientOptions {
  /** The definitions to run. A machine job may be listed in several versions, the current one last. */
  readonly jobs: readonly JobDefinition[]
  /**
   * Types of child jobs (`fromJob`) that other processes run. Default: none. All other child jobs of the machines in
   * `jobs` must be listed in `jobs`: a machine would wait endlessly for a child job that no process runs.
   */
  readonly jobsElsewhere?: readonly string[]
  /** Schedules, made by `schedule`, that the runtime declares when it starts. Their names must differ. */
  readonly schedules?: readonly ScheduleDefinition[]
  /** Name of the application that declares the schedules, if several share a store. Default 'app'. */
  readonly scheduleOwner?: string
  /**
   * Removes at the start the schedules of the same `scheduleOwner` that are not in `schedules`. Default false: a
   * schedule that is no longer declared stays until it is removed.
   */
  readonly retireSchedules?: boolean
  /** Slots: the number of jobs that may run at once in this process. Default 10. */
  readonly concurrency?: number
  /** How a pick chooses among the queues with work. Default 'weighted'. */
  readonly selection?: SelectionOption
  /** Wraps every run, the first outermost. */
  readonly middleware?: readonly Middleware[]
  /**
   * Called with the inspection events of the machines that run in this process, in the format of Stately Inspector.
   * What it throws is logged. Default: none.
   * @example inspect: (event) => socket.send(JSON.stringify(event))
   */
  readonly inspect?: Inspect
  /** Time after the last heartbeat until another process may claim a running job. 1 s at least, default 30 s. */
  readonly lease?: Duration
  /** Name of this runtime in the list of workers. Default: host name and pid. */
  readonly name?: string
  /** Time for a cancelled or stopped handler to end. Default 5 s. */
  readonly grace?: Duration
  /**
   * How long ended jobs are kept, each type for itself: the default for types whose definition does not say it.
   * Default: done and cancelled jobs one day, dead jobs 30 days; at most 10,000 of each type and state. Every job is
   * kept for at least a minute, unless more than `count` + 100,000 jobs of its type and state (memory store: `count` +
   * 5,000) would be kept. Ids, and the keys of events, deduplicate as long as the job is kept.
   */
  readonly retention?: StatesRetention
}

// ── rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the methods of a logger are called on is the logger itself: a copy of its members is none. */
const loggerMethods = table(
  { debug: fn(), info: fn(), warn: fn(), error: fn() },
  {
    open: true,
    nameOf: (key, name) => `${name}.${key}`,
    hint: 'Leave it out for warnings and errors on stderr, or pass {} for none.',
  },
)

const loggerOption: Rule<Logger> = (value, name) => {
  loggerMethods(value, name)
  return guarded(value as Partial<Logger>)
}

/** Tells a store from another value. The conformance suite is the full check of a third-party store. */
const storeObject = withMethods<Store>(
  ['open', 'close', 'now', 'insert', 'claim', 'settle', 'extend', 'watch'],
  'a store',
  "Pass memoryStore(), or an address such as 'jobs.db', 'redis://localhost:6379' or 'postgres://localhost/app'.",
)

const storeOption: Rule<Store> = (value, name) =>
  typeof value === 'string' ? storeAt(value, name) : storeObject(value, name)

const telemetryOption = withMethods<Telemetry>(
  ['observe', 'send', 'claimed', 'attempt', 'batch'],
  'what otel() of jobchart/otel gives',
  'Pass telemetry: otel(), or leave it out.',
)

const functions = <F>(rule: Rule<F>) =>
  byDefault(
    [],
    listOf('a list of functions', rule, Infinity, (name, i) => `${name}[${i}]`),
  )

const definition = is(
  'a job definition made by defineJob',
  (value): value is JobDefinition =>
    isObject(value) && typeof value.type === 'string' && typeof value.limits === 'object',
  'Pass the result of defineJob({ type, run }).',
)

const jobTypeCount = integer(0, limits.jobTypesMax)

/** Definitions by their types, the hooks of dead jobs among them. */
const definitions =
  (maker: string): Rule<ReadonlyMap<string, JobDefinition>> =>
  (value, name) => {
    if (!Array.isArray(value)) {
      const hint = `List the results of defineJob: ${maker}({ jobs: [sendEmail] }).`
      throw invalidOption(name, 'a list of job definitions', value, hint)
    }
    const byType = new Map<string, JobDefinition>()
    value.forEach((each: unknown, i) => {
      const job = definition(each, `${name}[${i}]`)
      byType.set(job.type, withVersionsOf(job, byType.get(job.type), i))
    })
    // Those that are added have no hook themselves.
    for (const { type, onDead } of byType.values()) {
      if (onDead === null) continue
      if (byType.has(onDead.type)) {
        const hint = `Rename it: the hook onDead of ${type} runs as jobs of this type.`
        throw invalidOption(name, `no definition of the type ${onDead.type}`, onDead.type, hint)
      }
      byType.set(onDead.type, onDead)
    }
    jobTypeCount(byType.size, 'number of job types')
    return byType
  }

/** Combines definitions of one type: several versions of a machine may share it, and the last one is current. */
function withVersionsOf(job: JobDefinition, other: JobDefinition | undefined, i: number): JobDefinition {
  if (other === undefined) return job
  if (job.machine === null || other.machine === null) {
    const hint = 'Give each definition its own type; only versions of a machine may share one.'
    throw invalidOption(`type of jobs[${i}]`, 'a type that no earlier definition has', job.type, hint)
  }
  return { ...job, machine: job.machine.withVersionsOf(other.machine) }
}

const scheduleDefinition = is(
  "the result of schedule('nightly', '@daily', sendEmail, { to })",
  (value): value is ScheduleDefinition =>
    isObject(value) && typeof value.name === 'string' && typeof value.spec === 'string',
)

const commonRules = (maker: string) => ({
  jobs: required(definitions(maker)),
  store: storeOption,
  capacity: orNull(integer(0, limits.capacityMax)),
  enqueueMiddleware: functions(syncFn<EnqueueMiddleware>()),
  telemetry: orNull(telemetryOption),
  logger: byDefault(consoleLogger, loggerOption),
  clock: byDefault(systemClock, clockOption),
  random: byDefault(systemRandom, randomOption),
  newId: fn<() => string>(),
  tx: orNull(syncFn<() => OpenTransaction | null | undefined>()),
})

const makerHint = (maker: string): string => `Pass at least the jobs: ${maker}({ jobs: [sendEmail] }).`

const clientRules = {
  ...commonRules('createClient'),
  jobs: byDefault([], definitions('createClient')),
} satisfies RulesOf<ClientOptions>

const runtimeRules = {
  ...commonRules('createRuntime'),
  schedules: byDefault([], listOf('a list of results of schedule(…)', scheduleDefinition)),
  scheduleOwner: byDefault('app', text(limits.idCharsMax)),
  retireSchedules: byDefault(false, boolean),
  jobsElsewhere: byDefault([], listOf('a list of job types', text(limits.idCharsMax))),
  concurrency: byDefault(10, integer(0, limits.slotsMax)),
  selection: byDefault('weighted', selectionOption),
  middleware: functions(fn<Middleware>()),
  inspect: orNull(fn<Inspect>()),
  lease: byDefault(
    '30s',
    where(
      durationMs,
      (ms) => ms >= 1_000,
      'a duration of at least 1 s',
      'A shorter lease runs out while the event loop is busy; the default is 30 s.',
    ),
  ),
  name: orNull(text(limits.idCharsMax)),
  grace: byDefault('5s', durationMs),
  retention: byDefault({}, retentionOption),
} satisfies RulesOf<RuntimeOptions>

const clientOptions = table(clientRules, { hint: makerHint('createClient') })
const runtimeOptions = table(runtimeRules, { hint: makerHint('createRuntime') })

// ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Settings, and the store that they are for. */
type WithStore<Settings> = Settings & { readonly store: Store }

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export const clientSettings = (options: ClientOptions): WithStore<ClientSettings> =>
  commonSettings(clientOptions(options, 'options of createClient'))

function commonSettings(checked: Checked<typeof clientRules>): WithStore<ClientSettings> {
  const { jobs, store, capacity, enqueueMiddleware, telemetry, logger, clock, random, newId, tx } = checked
  const delayed = capacity === 0 ? [...jobs.values()].find((job) => mayDelay(job.limits)) : undefined
  if (delayed !== undefined) {
    const must = `no 0 with job type ${delayed.type}, which has a rate limit or a limit per key`
    throw invalidOption('capacity', must, capacity, handOverHint)
  }
  return {
    jobs,
    capacity,
    enqueueMiddleware,
    telemetry: telemetry === null ? null : guardedTelemetry(telemetry, logger),
    logger,
    clock,
    random,
    tx,
    newId: newId === undefined ? uniqueIds(clock) : () => checkId(newId()),
    // An address is opened by the clock of the client, like the store that is the default.
    store: store ?? memoryStore({ clock }),
  }
}

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function runtimeSettings(options: RuntimeOptions): WithStore<RuntimeSettings> {
  const checked = runtimeOptions(options, 'options of createRuntime')
  const settings = commonSettings(checked)
  const { schedules, scheduleOwner, retireSchedules, concurrency, selection, middleware, inspect, name } = checked
  checkChildJobs(settings.jobs, checked.jobsElsewhere)
  checkThreads(settings.jobs)
  checkSchedules(schedules, settings.jobs)
  return {
    ...settings,
    schedules,
    scheduleOwner,
    retireSchedules,
    concurrency,
    selection,
    middleware,
    name,
    inspect: inspect === null ? null : guardedInspect(inspect, settings.logger),
    leaseMs: checked.lease,
    graceMs: checked.grace,
    retention: retentionPolicies(checked.retention, settings.jobs, settings.store.capabilities),
  }
}

function guardedInspect(inspect: Inspect, logger: Logger): Inspect {
  return (event) => {
    try {
      inspect(event)
    } catch (error) {
      logger.error('inspect threw', { error, job: event.rootId })
    }
  }
}

/**
 * @throws JobchartError INVALID_OPTION if the module of a handler that runs in a thread does not exist; UNSUPPORTED
 * where there are no threads
 */
function checkThreads(jobs: ReadonlyMap<string, JobDefinition>): void {
  for (const { type, thread } of jobs.values()) {
    if (thread === null) continue
    const fs = nodeModule('node:fs')
    if (fs === undefined)
      throw notHere(`thread of job ${type}`, 'Run its jobs in a process of Node.js; a client may enqueue them.')
    if (fs.existsSync(new URL(thread.url))) continue
    const hint =
      'Pass the URL of the JavaScript file as the build emits it. Clients that only enqueue need no such file: use createClient.'
    throw invalidOption(`thread of job ${type}`, 'the URL of a file that exists', thread.url, hint)
  }
}

function checkSchedules(schedules: readonly ScheduleDefinition[], jobs: ReadonlyMap<string, JobDefinition>): void {
  const names = new Set<string>()
  for (const { name, job } of schedules) {
    if (names.has(name)) throw invalidOption('schedules', 'names that differ', name)
    names.add(name)
    if (isDefinition(jobs.get(job.type), job)) continue
    const hint = `Add the definition of ${job.type} to \`jobs\`.`
    throw invalidOption(`job of schedule ${name}`, 'one that is listed in `jobs`', job.type, hint)
  }
}

/** A missing definition is refused here: at run time the machine would take it for a failure of the child job. */
function checkChildJobs(jobs: ReadonlyMap<string, JobDefinition>, elsewhere: readonly string[]): void {
  for (const { type, machine } of jobs.values()) {
    for (const child of machine?.invokes ?? []) {
      const listed = jobs.get(child.type)
      if (isDefinition(listed, child) || (listed === undefined && elsewhere.includes(child.type))) continue
      const why = listed === undefined ? 'which is not listed in jobs' : 'of which jobs lists another definition'
      throw new JobchartError('INVALID_OPTION', `jobs: the machine of ${type} enqueues the job ${child.type}, ${why}`, {
        hint: `List the definition that is passed to fromJob(${child.type}). If another process runs it: jobsElsewhere: ['${child.type}'].`,
      })
    }
  }
}
