/** The options of a client and a runtime: their defaults, limits and checks. */
import { existsSync } from 'node:fs'
import {
  checkBoolean,
  checkFunction,
  checkSyncFunction,
  checkMethods,
  checkKeys,
  checkText,
  checkInteger,
} from '../core/checks.ts'
import { systemClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import type { JobDefinition, Middleware } from '../core/definition.ts'
import { isDefinition } from '../core/definition-copy.ts'
import type { EnqueueMiddleware } from '../core/enqueue-call.ts'
import type { ScheduleDefinition } from '../core/schedule-options.ts'
import type { ClientSettings, RuntimeSettings, SelectionOption } from '../core/settings.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { checkId } from '../core/call-options.ts'
import { handOverHint, mayDelay } from '../core/hand-over.ts'
import { uniqueIds } from '../core/ids.ts'
import type { Inspect } from '../core/inspection.ts'
import { limits } from '../core/limits.ts'
import { storeAt } from '../open/store-at.ts'
import { consoleLogger, guarded, type Logger } from '../core/logger.ts'
import type { Store } from '../store.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { retentionPolicies, type StatesRetention } from './retention.ts'

export interface ClientOptions {
  /**
   * The known definitions. A machine job may be listed in several versions, the current one last. Default: none. Calls
   * that name jobs by ids or types (`list`, `queue`, `cancel`, `retry`, `discard`, `enqueueByName`, `send` with
   * `accept: 'always'`) need no definitions.
   */
  readonly jobs?: readonly JobDefinition[]
  /**
   * Where jobs are stored: a store, or its address as of `openStore`: `redis://…`, the path of a SQLite file, or
   * `memory:`. Default: `memoryStore()`.
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

const clientKeys = ['jobs', 'store', 'capacity', 'enqueueMiddleware', 'logger', 'clock', 'random', 'newId'] as const
const runtimeKeys = [
  ...clientKeys,
  ...(['schedules', 'scheduleOwner', 'retireSchedules'] as const),
  ...([
    'jobsElsewhere',
    'concurrency',
    'selection',
    'middleware',
    'inspect',
    'lease',
    'name',
    'grace',
    'retention',
  ] as const),
]

/** Settings, and the store that they are for. */
type WithStore<Settings> = Settings & { readonly store: Store }

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export const clientSettings = (options: ClientOptions): WithStore<ClientSettings> =>
  commonSettings('createClient', options, clientKeys, [])

/** @param noJobs what takes the place of `jobs` that are not given */
function commonSettings(
  maker: string,
  options: ClientOptions,
  known: readonly string[],
  noJobs?: readonly JobDefinition[],
): WithStore<ClientSettings> {
  checkKeys(`options of ${maker}`, options, known, `Pass at least the jobs: ${maker}({ jobs: [sendEmail] }).`)
  const { jobs = noJobs, store, capacity, enqueueMiddleware = [], newId } = options
  const { logger = consoleLogger, clock = systemClock, random = systemRandom } = options
  const byType = definitions(jobs, maker)
  if (store !== undefined && typeof store !== 'string') checkStore(store)
  checkKeys(
    'logger',
    logger,
    Object.keys(logger ?? {}),
    'Leave it out for warnings and errors on stderr, or pass {} for none.',
  )
  for (const method of ['debug', 'info', 'warn', 'error'] as const) {
    if (logger[method] !== undefined) checkFunction(`logger.${method}`, logger[method])
  }
  checkMethods('clock', clock, clockMethods, 'a Clock', 'Leave it out, or pass a VirtualClock of jobchart/testing.')
  checkFunction('random', random)
  if (newId !== undefined) checkFunction('newId', newId)
  checkFunctions('enqueueMiddleware', enqueueMiddleware, checkSyncFunction)
  return {
    jobs: byType,
    capacity: capacity === undefined ? null : capacityOf(capacity, byType),
    enqueueMiddleware: [...enqueueMiddleware],
    logger: guarded(logger),
    clock,
    random,
    newId: newId === undefined ? uniqueIds(clock) : () => checkId(newId()),
    // An address is opened by the clock of the client, like the store that is the default.
    store: typeof store === 'string' ? storeAt(store, 'store') : (store ?? memoryStore({ clock })),
  }
}

function checkFunctions(
  option: string,
  list: readonly unknown[],
  check: (option: string, each: unknown) => void,
): void {
  if (!Array.isArray(list)) throw invalidOption(option, 'a list of functions', list)
  list.forEach((each, i) => check(`${option}[${i}]`, each))
}

function capacityOf(capacity: number, jobs: ReadonlyMap<string, JobDefinition>): number {
  const delayed = capacity === 0 ? [...jobs.values()].find((job) => mayDelay(job.limits)) : undefined
  if (delayed !== undefined) {
    const must = `no 0 with job type ${delayed.type}, which has a rate limit or a limit per key`
    throw invalidOption('capacity', must, capacity, handOverHint)
  }
  return checkInteger('capacity', capacity, 0, limits.capacityMax)
}

/** @throws JobchartError INVALID_OPTION if the module of a handler that runs in a thread does not exist */
function checkThreads(jobs: ReadonlyMap<string, JobDefinition>): void {
  for (const { type, thread } of jobs.values()) {
    if (thread === null || existsSync(new URL(thread.url))) continue
    const hint =
      'Pass the URL of the JavaScript file as the build emits it. Clients that only enqueue need no such file: use createClient.'
    throw invalidOption(`thread of job ${type}`, 'the URL of a file that exists', thread.url, hint)
  }
}

const clockMethods: readonly (keyof Clock)[] = ['now', 'monotonic', 'timer', 'nextTurn']

function definitions(jobs: readonly JobDefinition[] | undefined, maker: string): Map<string, JobDefinition> {
  if (!Array.isArray(jobs)) {
    const hint = `List the results of defineJob: ${maker}({ jobs: [sendEmail] }).`
    throw invalidOption('jobs', 'a list of job definitions', jobs, hint)
  }
  const byType = new Map<string, JobDefinition>()
  jobs.forEach((job: JobDefinition | null | undefined, i) => {
    if (typeof job?.type !== 'string' || typeof job.limits !== 'object') {
      throw invalidOption(
        `jobs[${i}]`,
        'a job definition made by defineJob',
        job,
        'Pass the result of defineJob({ type, run }).',
      )
    }
    byType.set(job.type, withVersionsOf(job, byType.get(job.type), i))
  })
  // Those that are added have no hook themselves.
  for (const { type, onDead } of byType.values()) {
    if (onDead === null) continue
    if (byType.has(onDead.type)) {
      const hint = `Rename it: the hook onDead of ${type} runs as jobs of this type.`
      throw invalidOption('jobs', `no definition of the type ${onDead.type}`, onDead.type, hint)
    }
    byType.set(onDead.type, onDead)
  }
  checkInteger('number of job types', byType.size, 0, limits.jobTypesMax)
  return byType
}

const storeMethods: readonly (keyof Store)[] = ['open', 'close', 'now', 'insert', 'claim', 'settle', 'extend', 'watch']

/** Tells a store from another value. The conformance suite is the full check of a third-party store. */
function checkStore(store: unknown): void {
  const hint = "Pass memoryStore(), or an address such as 'jobs.db' or 'redis://localhost:6379'."
  checkMethods('store', store, storeMethods, 'a store', hint)
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

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function runtimeSettings(options: RuntimeOptions): WithStore<RuntimeSettings> {
  const settings = commonSettings('createRuntime', options, runtimeKeys)
  const { concurrency = 10, selection = 'weighted', middleware = [], lease = '30s', name, grace = '5s' } = options
  checkChildJobs(settings.jobs, options.jobsElsewhere ?? [])
  checkThreads(settings.jobs)
  const leaseMs = durationMs(lease, 'lease')
  if (leaseMs < 1_000) {
    const hint = 'A shorter lease runs out while the event loop is busy; the default is 30 s.'
    throw invalidOption('lease', 'a duration of at least 1 s', lease, hint)
  }
  checkFunctions('middleware', middleware, checkFunction)
  return {
    ...settings,
    schedules: checkedSchedules(options.schedules ?? [], settings.jobs),
    scheduleOwner: checkText('scheduleOwner', options.scheduleOwner ?? 'app', limits.idCharsMax),
    retireSchedules: checkBoolean('retireSchedules', options.retireSchedules),
    concurrency: checkInteger('concurrency', concurrency, 0, limits.slotsMax),
    selection,
    middleware,
    inspect: options.inspect === undefined ? null : guardedInspect(options.inspect, settings.logger),
    leaseMs,
    name: name === undefined ? null : checkText('name', name, limits.idCharsMax),
    graceMs: durationMs(grace, 'grace'),
    retention: retentionPolicies(options.retention ?? {}, settings.jobs, settings.store.capabilities),
  }
}

function guardedInspect(inspect: Inspect, logger: Logger): Inspect {
  checkFunction('inspect', inspect)
  return (event) => {
    try {
      inspect(event)
    } catch (error) {
      logger.error('inspect threw', { error, job: event.rootId })
    }
  }
}

function checkedSchedules(
  schedules: readonly ScheduleDefinition[],
  jobs: ReadonlyMap<string, JobDefinition>,
): readonly ScheduleDefinition[] {
  const made = "the result of schedule('nightly', '@daily', sendEmail, { to })"
  if (!Array.isArray(schedules)) throw invalidOption('schedules', 'a list of results of schedule(…)', schedules)
  const names = new Set<string>()
  for (const each of schedules as readonly ScheduleDefinition[]) {
    if (typeof each?.name !== 'string' || typeof each.spec !== 'string') throw invalidOption('schedules', made, each)
    if (names.has(each.name)) throw invalidOption('schedules', 'names that differ', each.name)
    names.add(each.name)
    if (isDefinition(jobs.get(each.job.type), each.job)) continue
    const hint = `Add the definition of ${each.job.type} to \`jobs\`.`
    throw invalidOption(`job of schedule ${each.name}`, 'one that is listed in `jobs`', each.job.type, hint)
  }
  return schedules
}

/** A missing definition is refused here: at run time the machine would take it for a failure of the child job. */
function checkChildJobs(jobs: ReadonlyMap<string, JobDefinition>, elsewhere: readonly string[]): void {
  if (!Array.isArray(elsewhere)) throw invalidOption('jobsElsewhere', 'a list of job types', elsewhere)
  for (const type of elsewhere) checkText('jobsElsewhere', type, limits.idCharsMax)
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
