/** Every option with its default, its limits and its check: what comes out of here needs no second look. */
import { checkFunction, knownKeys, oneOf, textOption, whole } from './checks.ts'
import { systemClock, systemRandom, type Clock, type Random } from './clock.ts'
import type { JobDefinition, Middleware } from './define-job.ts'
import { invalidOption } from './errors.ts'
import { durationMs, type Duration } from './job/duration.ts'
import type { PayloadLimits } from './job/payload.ts'
import { consoleLogger, guarded, type Logger } from './log.ts'
import { jobStates } from './job/lifecycle.ts'
import type { CancelRequest, JobFilter, RetentionPolicy, Selection, Store } from './store.ts'
import type { StopMode } from '../machines/runtime.machine.ts'
import type { SelectionOption } from './flow/select.ts'

/** The limits nobody may lift. */
export const limits = {
  slotsMax: 1_000_000,
  capacityMax: 1_000_000_000,
  jobTypesMax: 100_000,
  /** Jobs of one `enqueueMany`: they are one write. */
  enqueueManyMax: 10_000,
  idCharsMax: 200,
  tagsMax: 20,
  keyCharsMax: 500,
  reasonCharsMax: 500,
  priorityMax: 2 ** 31 - 1,
} as const

/** What a job's payloads and outputs may weigh. */
export const payloadLimits: PayloadLimits = { bytesMax: 1_048_576, depthMax: 100 }

// ── enqueue ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * At most one live job: `true` per type and input, or per own `key` within the type. A duplicate: `keep` (default) gives
 * the job that is there, `replace` also gives it the new input while it has not started, `supersede` cancels it and takes
 * its place.
 */
export type UniqueOption = boolean | { readonly key?: string; readonly onConflict?: 'keep' | 'replace' | 'supersede' }

export interface EnqueueOptions {
  /** Own id: enqueueing it twice is one job. 1…200 characters. Default: a nanoid. */
  readonly id?: string
  /** Not before this long from now. */
  readonly delay?: Duration
  /** Not before this time. */
  readonly runAt?: Date | number
  /** Higher goes first in its queue; equal ones first in, first out. A 32-bit integer, default 0. */
  readonly priority?: number
  readonly unique?: UniqueOption
  /** Words to find it by: 20 at most. */
  readonly tags?: readonly string[]
  /** Gives up waiting for room. */
  readonly signal?: AbortSignal
  /** Waits this long for room at most. */
  readonly timeout?: Duration
}

/** `(input, options?)`, or `(input?, options?)` for jobs without an input. */
export type EnqueueArguments<Input> = undefined extends Input
  ? [input?: Input, options?: EnqueueOptions]
  : [input: Input, options?: EnqueueOptions]

const enqueueKeys = ['id', 'delay', 'runAt', 'priority', 'unique', 'tags', 'signal', 'timeout'] as const

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function checkEnqueueOptions(options: EnqueueOptions): void {
  knownKeys('enqueue options', options, enqueueKeys)
  const { id, priority, tags, delay, runAt, signal } = options
  if (id !== undefined) textOption('id', id, limits.idCharsMax)
  if (priority !== undefined) whole('priority', priority, -limits.priorityMax, limits.priorityMax)
  if (tags !== undefined) {
    if (!Array.isArray(tags) || tags.length > limits.tagsMax) throw invalidOption('tags', 'a list of 20 at most', tags)
    for (const tag of tags) textOption('tags', tag, limits.idCharsMax)
  }
  if (delay !== undefined && runAt !== undefined) throw invalidOption('delay', 'either delay or runAt', 'both')
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalidOption('signal', 'an AbortSignal', signal)
  if (options.unique !== undefined) checkUnique(options.unique)
}

export function checkUnique(unique: UniqueOption): void {
  if (typeof unique === 'boolean') return
  knownKeys('unique', unique, ['key', 'onConflict'])
  if (unique.key !== undefined) textOption('unique.key', unique.key, limits.keyCharsMax)
  if (unique.onConflict !== undefined) oneOf('unique.onConflict', unique.onConflict, ['keep', 'replace', 'supersede'])
}

// ── cancel, stop ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CancelOptions {
  /** Why, for people; kept with the job. */
  readonly reason?: string
  /** How long a running handler may take to end. Default: the runtime's `grace`. */
  readonly grace?: Duration
  /** Among cancels asked at the same time, higher goes first. Default 0. */
  readonly priority?: number
}

/** What became of each job, by id, in the order in which they were cancelled: higher priority first. */
export interface CancelReport {
  /** Ended: they had not started. */
  readonly cancelled: readonly string[]
  /** Running: asked to end. */
  readonly cancelling: readonly string[]
  readonly notFound: readonly string[]
  /** Had ended before. */
  readonly finished: readonly string[]
}

/** Jobs by one id, several, or what they have in common. */
export type JobChoice = string | readonly string[] | JobFilter

const filterKeys = ['type', 'state', 'tag', 'key', 'concurrencyKey'] as const

/** @throws JobchartError INVALID_OPTION for an empty filter: it would mean every job there is */
export function selectionOf(choice: JobChoice): Selection {
  if (typeof choice === 'string') return { ids: [choice] }
  if (Array.isArray(choice)) return { ids: [...new Set(choice as readonly string[])] }
  const filter = choice as JobFilter
  checkFilter(filter)
  if (Object.values(filter).every((value) => value === undefined)) {
    throw invalidOption('filter', `at least one of ${filterKeys.join(', ')}`, filter)
  }
  return { filter }
}

export function checkFilter(filter: JobFilter, others: readonly string[] = []): void {
  knownKeys('filter', filter, [...filterKeys, ...others])
  const states = filter.state === undefined ? [] : [filter.state].flat()
  for (const state of states) oneOf('state', state, jobStates)
}

/** @throws JobchartError INVALID_OPTION */
export function cancelRequest(choice: JobChoice, options: CancelOptions, graceMs: number): CancelRequest {
  knownKeys('cancel options', options, ['reason', 'grace', 'priority'])
  const { reason, grace, priority = 0 } = options
  whole('priority', priority, -limits.priorityMax, limits.priorityMax)
  return {
    selection: selectionOf(choice),
    reason: reason === undefined ? null : textOption('reason', reason, limits.reasonCharsMax),
    graceMs: grace === undefined ? graceMs : durationMs(grace, 'grace'),
  }
}

export interface StopOptions {
  /**
   * `drain`: no new jobs, all that is queued runs · `finish` (default): what runs ends, the rest stays in the store ·
   * `abort`: signals abort, and what has not ended after `grace` is released, its attempt not spent.
   */
  readonly mode?: StopMode
  /** The longest the stop may take. Default 30 s. What is left then is aborted and released. */
  readonly timeout?: Duration
  /** Default: the runtime's `grace`. */
  readonly grace?: Duration
}

export interface StopReport {
  /** Did all end that the mode waits for, in time? */
  readonly completed: boolean
  /** Handlers that still go on; nobody waits for them. */
  readonly running: number
  /** Jobs that are lost with the process, because the store is not durable. */
  readonly dropped: number
}

export interface DrainOptions {
  readonly timeout?: Duration
  readonly signal?: AbortSignal
}

// ── runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface RetentionOptions {
  /** Kept this long … */
  readonly age?: Duration
  /** … and this many at most. */
  readonly count?: number
}

export interface ClientOptions {
  /** The types it knows. */
  readonly jobs: readonly JobDefinition[]
  /** Where jobs rest. Default: `memoryStore()`. */
  readonly store?: Store
  /** Waiting jobs at most (scheduled, queued, retrying); enqueue waits for room. Default: no bound. */
  readonly capacity?: number
  readonly logger?: Logger
  /** Time, for tests. Default: the system's. */
  readonly clock?: Clock
  /** Chance (jitter, random selection), for tests. Default: Math.random. */
  readonly random?: Random
}

export interface RuntimeOptions extends ClientOptions {
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
  /** How long ended jobs are kept. Default: done and cancelled a day, dead 30 days; 10,000 of each at most. */
  readonly retention?: {
    readonly done?: RetentionOptions
    readonly dead?: RetentionOptions
    readonly cancelled?: RetentionOptions
  }
}

export interface ClientSettings {
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly capacity: number | null
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

export interface RuntimeSettings extends ClientSettings {
  readonly concurrency: number
  readonly selection: SelectionOption
  readonly middleware: readonly Middleware[]
  readonly leaseMs: number
  readonly name: string | null
  readonly graceMs: number
  readonly retention: RetentionPolicy
}

const clientKeys = ['jobs', 'store', 'capacity', 'logger', 'clock', 'random'] as const
const runtimeKeys = [
  ...clientKeys,
  ...(['concurrency', 'selection', 'middleware', 'lease', 'name', 'grace', 'retention'] as const),
]

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function clientSettings(options: ClientOptions, known: readonly string[] = clientKeys): ClientSettings {
  knownKeys('options', options, known)
  const { jobs, capacity, logger = consoleLogger, clock = systemClock, random = systemRandom } = options
  if (!Array.isArray(jobs)) throw invalidOption('jobs', 'a list of job definitions', jobs)
  const byType = new Map<string, JobDefinition>()
  for (const job of jobs as readonly JobDefinition[]) {
    if (typeof job?.type !== 'string' || job.limits === undefined) {
      throw invalidOption('jobs', 'job definitions made by defineJob', job)
    }
    if (byType.has(job.type)) throw invalidOption('jobs', 'each type once', job.type)
    byType.set(job.type, job)
  }
  whole('number of jobs', byType.size, 0, limits.jobTypesMax)
  for (const method of ['debug', 'info', 'warn', 'error'] as const) checkFunction(`logger.${method}`, logger[method])
  checkFunction('random', random)
  return {
    jobs: byType,
    capacity: capacity === undefined ? null : whole('capacity', capacity, 1, limits.capacityMax),
    logger: guarded(logger),
    clock,
    random,
  }
}

/** @throws JobchartError INVALID_OPTION for anything that is not as documented */
export function runtimeSettings(options: RuntimeOptions): RuntimeSettings {
  const settings = clientSettings(options, runtimeKeys)
  const { concurrency = 10, selection = 'weighted', middleware = [], lease = '30s', name, grace = '5s' } = options
  const leaseMs = durationMs(lease, 'lease')
  if (leaseMs < 1_000) throw invalidOption('lease', 'at least one second', lease)
  for (const each of middleware) checkFunction('middleware', each)
  return {
    ...settings,
    concurrency: whole('concurrency', concurrency, 0, limits.slotsMax),
    selection,
    middleware,
    leaseMs,
    name: name === undefined ? null : textOption('name', name, limits.idCharsMax),
    graceMs: durationMs(grace, 'grace'),
    retention: retentionPolicy(options.retention ?? {}),
  }
}

function retentionPolicy(options: NonNullable<RuntimeOptions['retention']>): RetentionPolicy {
  knownKeys('retention', options, ['done', 'dead', 'cancelled'])
  const of = (state: 'done' | 'dead' | 'cancelled', defaultAge: Duration) => {
    const { age = defaultAge, count = 10_000 } = options[state] ?? {}
    return {
      ageMs: durationMs(age, `retention.${state}.age`),
      count: whole(`retention.${state}.count`, count, 0, limits.capacityMax),
    }
  }
  return { done: of('done', '1d'), dead: of('dead', '30d'), cancelled: of('cancelled', '1d') }
}
