/** Every option of a client and a runtime with its default, its limits and its check: what comes out needs no second look. */
import { checkBoolean, checkFunction, checkMethods, checkKeys, checkText, checkInteger } from '../core/checks.ts'
import { systemClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import { isDefinition, type JobDefinition, type Middleware } from '../core/definition.ts'
import type { ScheduleDefinition } from '../core/schedule-options.ts'
import type { ClientSettings, RuntimeSettings, SelectionOption } from '../core/settings.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { limits } from '../core/limits.ts'
import { consoleLogger, guarded, type Logger } from '../core/logger.ts'
import type { RetentionPolicy, Store } from '../store.ts'

export interface RetentionOptions {
  /** Kept this long, a minute at least … */
  readonly age?: Duration
  /** … and this many at most; of more, those that ended a minute ago or longer go. */
  readonly count?: number
}

export interface ClientOptions {
  /**
   * The types it knows; of a machine job several versions, the current one last. Default: none. What names jobs by their ids or
   * types (`list`, `queue`, `cancel`, `retry`, `discard`, `enqueueByName`, `send` with `accept: 'always'`) needs none.
   */
  readonly jobs?: readonly JobDefinition[]
  /** Where jobs rest. Default: `memoryStore()`. */
  readonly store?: Store
  /** Waiting jobs at most (scheduled, queued, retrying); enqueue waits for room. Default: no bound. */
  readonly capacity?: number
  /** Any of the four methods; default: warnings and errors to stderr. */
  readonly logger?: Partial<Logger>
  /** Time, for tests. Default: the system's. */
  readonly clock?: Clock
  /** Chance (jitter, random selection), for tests. Default: Math.random. */
  readonly random?: Random
}

export interface RuntimeOptions extends ClientOptions {
  /** The types it runs; of a machine job several versions, the current one last. */
  readonly jobs: readonly JobDefinition[]
  /**
   * Types of jobs that the machines among `jobs` enqueue (`fromJob`) and that other processes run. Default: none; each child
   * job must be listed in `jobs`, because one that nobody runs is waited for without an end.
   */
  readonly jobsElsewhere?: readonly string[]
  /** Declared when it starts: made by `schedule`, with names that differ. */
  readonly schedules?: readonly ScheduleDefinition[]
  /** The application that declares them, where several share a store. Default 'app'. */
  readonly scheduleOwner?: string
  /**
   * Are schedules removed at the start that the same `scheduleOwner` declared earlier, and that are not among `schedules`? Default
   * false: what is declared no longer stays until it is removed.
   */
  readonly retireSchedules?: boolean
  /** Slots: jobs at once in this process. Default 10. */
  readonly concurrency?: number
  /** How a pick chooses among the queues that have work. Default 'weighted'. */
  readonly selection?: SelectionOption
  /** Around every run, the first outermost. */
  readonly middleware?: readonly Middleware[]
  /** How long a job stays this process's without a sign of life. 1 s at least, default 30 s. */
  readonly lease?: Duration
  /** For people; default: host and pid. */
  readonly name?: string
  /** How long a cancelled or stopped handler may take to end. Default 5 s. */
  readonly grace?: Duration
  /**
   * How long ended jobs are kept. Default: done and cancelled a day, dead 30 days; 10,000 of each at most. Each is kept for
   * a minute, unless so many end in a minute that 100,000 more than `count` would be kept (in memory: 5,000).
   */
  readonly retention?: {
    readonly done?: RetentionOptions
    readonly dead?: RetentionOptions
    readonly cancelled?: RetentionOptions
  }
}

const clientKeys = ['jobs', 'store', 'capacity', 'logger', 'clock', 'random'] as const
const runtimeKeys = [
  ...clientKeys,
  ...(['schedules', 'scheduleOwner', 'retireSchedules'] as const),
  ...(['jobsElsewhere', 'concurrency', 'selection', 'middleware', 'lease', 'name', 'grace', 'retention'] as const),
]

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export const clientSettings = (options: ClientOptions): ClientSettings =>
  commonSettings('createClient', options, clientKeys, [])

/** @param noJobs what takes the place of `jobs` that are not given */
function commonSettings(
  maker: string,
  options: ClientOptions,
  known: readonly string[],
  noJobs?: readonly JobDefinition[],
): ClientSettings {
  checkKeys(`options of ${maker}`, options, known, `Pass at least the jobs: ${maker}({ jobs: [sendEmail] }).`)
  const { jobs = noJobs, store, capacity, logger = consoleLogger, clock = systemClock, random = systemRandom } = options
  const byType = definitions(jobs, maker)
  if (store !== undefined) checkStore(store)
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
  return {
    jobs: byType,
    capacity: capacity === undefined ? null : checkInteger('capacity', capacity, 1, limits.capacityMax),
    logger: guarded(logger),
    clock,
    random,
  }
}

const clockMethods: readonly (keyof Clock)[] = ['now', 'monotonic', 'timer', 'nextTurn']

function definitions(jobs: readonly JobDefinition[] | undefined, maker: string): Map<string, JobDefinition> {
  if (!Array.isArray(jobs)) {
    const hint = `List what defineJob gave: ${maker}({ jobs: [sendEmail] }).`
    throw invalidOption('jobs', 'a list of job definitions', jobs, hint)
  }
  const byType = new Map<string, JobDefinition>()
  jobs.forEach((job: JobDefinition | null | undefined, i) => {
    if (typeof job?.type !== 'string' || typeof job.limits !== 'object') {
      throw invalidOption(
        `jobs[${i}]`,
        'a job definition made by defineJob',
        job,
        'Pass what defineJob({ type, run }) gives.',
      )
    }
    byType.set(job.type, besides(job, byType.get(job.type), i))
  })
  checkInteger('number of job types', byType.size, 0, limits.jobTypesMax)
  return byType
}

const storeMethods: readonly (keyof Store)[] = ['open', 'close', 'now', 'insert', 'claim', 'settle', 'extend', 'watch']

/** Only what tells a store from what is none: a store of another make is proved by the conformance suite. */
function checkStore(store: unknown): void {
  const hint =
    typeof store === 'string'
      ? `For a file: sqliteStore({ path: ${JSON.stringify(store)} }), imported from 'jobchart/sqlite'.`
      : "Pass memoryStore(), or sqliteStore({ path: 'jobs.db' }), imported from 'jobchart/sqlite'."
  checkMethods('store', store, storeMethods, 'a store', hint)
}

/** Several versions of a machine may share a type: the last one is current, jobs of the others go on with theirs. */
function besides(job: JobDefinition, other: JobDefinition | undefined, i: number): JobDefinition {
  if (other === undefined) return job
  if (job.machine === null || other.machine === null) {
    const hint = 'Give each definition its own type; only versions of a machine may share one.'
    throw invalidOption(`type of jobs[${i}]`, 'one that no definition before it has', job.type, hint)
  }
  return { ...job, machine: job.machine.withVersionsOf(other.machine) }
}

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function runtimeSettings(options: RuntimeOptions): RuntimeSettings {
  const settings = commonSettings('createRuntime', options, runtimeKeys)
  const { concurrency = 10, selection = 'weighted', middleware = [], lease = '30s', name, grace = '5s' } = options
  checkChildJobs(settings.jobs, options.jobsElsewhere ?? [])
  const leaseMs = durationMs(lease, 'lease')
  if (leaseMs < 1_000) {
    const hint = 'A shorter lease runs out while the event loop is busy; the default is 30 s.'
    throw invalidOption('lease', 'a duration of at least 1 s', lease, hint)
  }
  if (!Array.isArray(middleware)) throw invalidOption('middleware', 'a list of functions', middleware)
  middleware.forEach((each, i) => checkFunction(`middleware[${i}]`, each))
  return {
    ...settings,
    schedules: checkedSchedules(options.schedules ?? [], settings.jobs),
    scheduleOwner: checkText('scheduleOwner', options.scheduleOwner ?? 'app', limits.idCharsMax),
    retireSchedules: checkBoolean('retireSchedules', options.retireSchedules),
    concurrency: checkInteger('concurrency', concurrency, 0, limits.slotsMax),
    selection,
    middleware,
    leaseMs,
    name: name === undefined ? null : checkText('name', name, limits.idCharsMax),
    graceMs: durationMs(grace, 'grace'),
    retention: retentionPolicy(options.retention ?? {}, options.store?.capabilities.durable === true),
  }
}

function checkedSchedules(
  schedules: readonly ScheduleDefinition[],
  jobs: ReadonlyMap<string, JobDefinition>,
): readonly ScheduleDefinition[] {
  const made = "what schedule gives: schedule('nightly', '@daily', sendEmail, { to })"
  if (!Array.isArray(schedules)) throw invalidOption('schedules', `a list of ${made}`, schedules)
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

/** A machine that enqueues what nobody runs would wait for it, or take a wiring error for a failure of the job. */
function checkChildJobs(jobs: ReadonlyMap<string, JobDefinition>, elsewhere: readonly string[]): void {
  if (!Array.isArray(elsewhere)) throw invalidOption('jobsElsewhere', 'a list of job types', elsewhere)
  for (const type of elsewhere) checkText('jobsElsewhere', type, limits.idCharsMax)
  for (const { type, machine } of jobs.values()) {
    for (const child of machine?.invokes ?? []) {
      const listed = jobs.get(child.type)
      if (isDefinition(listed, child) || (listed === undefined && elsewhere.includes(child.type))) continue
      const why = listed === undefined ? 'which is not listed in jobs' : 'of which jobs lists another definition'
      throw new JobchartError('INVALID_OPTION', `jobs: the machine of ${type} enqueues the job ${child.type}, ${why}`, {
        hint: `List the definition that it is given: fromJob(${child.type}). If another process runs it: jobsElsewhere: ['${child.type}'].`,
      })
    }
  }
}

function retentionPolicy(options: NonNullable<RuntimeOptions['retention']>, durable: boolean): RetentionPolicy {
  checkKeys('retention', options, ['done', 'dead', 'cancelled'])
  const of = (state: 'done' | 'dead' | 'cancelled', defaultAge: Duration) => {
    const { age = defaultAge, count = 10_000 } = options[state] ?? {}
    const minAgeMs = limits.retentionAgeMin
    return {
      ageMs: Math.max(durationMs(age, `retention.${state}.age`), minAgeMs),
      count: checkInteger(`retention.${state}.count`, count, 0, limits.capacityMax),
      minAgeMs,
      countMax: count + limits.retentionSurplusMax[durable ? 'durable' : 'memory'],
    }
  }
  return { done: of('done', '1d'), dead: of('dead', '30d'), cancelled: of('cancelled', '1d') }
}
