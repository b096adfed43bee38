/** Options and records of schedules, and the checks of these options. */
import { jobRules, transaction, type UniqueOption } from './call-options.ts'
import { missedMax } from './catch-up.ts'
import {
  boolean,
  byDefault,
  integer,
  object,
  oneOf,
  required,
  table,
  text,
  type Checked,
  type Rule,
  type RulesOf,
} from './checks.ts'
import type { JobDefinition } from './definition.ts'
import { durationMs, type Duration } from './duration.ts'
import { describe, invalidOption, JobchartError } from './errors.ts'
import type { JobHandle } from './handle.ts'
import { limits } from './limits.ts'
import type { MachineTypes } from './machine-record.ts'
import type { OpenTransaction } from './open-transaction.ts'
import type { Json } from './payload.ts'
import type { JobMeta } from './record.ts'
import type { CatchUp, Overlap } from './schedule-record.ts'
import { tickTimes, type ScheduleSpec } from './tick-times.ts'
import { TimeZones } from './time-zone.ts'

export interface ScheduleOptions {
  /** IANA time zone in which the spec is read. Default 'UTC'. */
  readonly timezone?: string
  /**
   * Which missed ticks are fired: ticks that are more than 10 s late, because no process was running. `skip`: none ·
   * `last` (default): the last one, unless a newer tick is fired · `{ all: n }`: the last n, 0…100.
   */
  readonly catchUp?: CatchUp
  /**
   * What a tick does while the job of an earlier tick has not ended: `allow` (default): it creates one more job ·
   * `skip`: it creates none · `supersede`: it cancels the earlier job, and its own job runs when that one has ended ·
   * `queue-one`: its job waits for the end of the earlier one; while one waits, further ticks create none. Cannot be
   * combined with `unique`.
   */
  readonly overlap?: Overlap
  /** Delays each job by a random part of this time; the part depends only on the tick. Default 0. */
  readonly jitter?: Duration
  /** Is a new schedule paused from the start? Has no effect on an existing one. Default false. */
  readonly paused?: boolean
  /** Priority of its jobs; default 0. */
  readonly priority?: number
  /** Tags of its jobs; 20 at most. */
  readonly tags?: readonly string[]
  /** Your own data, kept with each of its jobs; see `enqueue`. */
  readonly meta?: JobMeta
  /** Unique key of its jobs; default: as the job's definition specifies. */
  readonly unique?: UniqueOption
}

/** The argument of an input function. */
export interface Tick {
  /** Name of the schedule. */
  readonly name: string
  /** The time of the tick; of a manual trigger the current time. */
  readonly at: Date
  /** Was it triggered manually? */
  readonly triggered: boolean
}

/** The input of each job, or a synchronous function that computes it from a tick. */
export type ScheduleInput<Input> = Input | ((tick: Tick) => Input)

/** `(input, options?)`, or `(input?, options?)` for jobs without an input. */
export type ScheduleArguments<Input, Options = ScheduleOptions> = undefined extends Input
  ? [input?: ScheduleInput<Input>, options?: Options]
  : [input: ScheduleInput<Input>, options?: Options]

/** Options of a call that declares a schedule. */
export interface ScheduleCallOptions extends ScheduleOptions {
  /** Your open transaction, as at an enqueue: the schedule is declared right after its commit. */
  readonly tx?: OpenTransaction | null
}

/** A checked declaration of a schedule, created by `schedule`. */
export interface ScheduleDefinition {
  readonly name: string
  /** The spec, normalized. */
  readonly spec: string
  readonly timezone: string
  readonly job: JobDefinition
  readonly input: unknown
  readonly options: CheckedScheduleOptions
}

/** A snapshot of a schedule. Times are ms since the epoch. */
export interface ScheduleRecord {
  readonly name: string
  readonly spec: string
  readonly timezone: string
  /** Type of its jobs. */
  readonly type: string
  /** Input of its jobs; undefined if a function computes it. */
  readonly input: Json | undefined
  /** Does a function compute the input? Then only processes that declare the schedule fire it. */
  readonly computed: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly jitterMs: number
  /** `scheduleOwner` of the runtime that declared it; null if it was created by a call. */
  readonly owner: string | null
  readonly paused: boolean
  readonly createdAt: number
  /** Its next ticks, as many as requested; none while it is paused. */
  readonly nextRuns: readonly number[]
  /** The last tick that created a job, and the id of that job. */
  readonly last: { readonly at: number; readonly jobId: string } | null
  /** Number of jobs created, by ticks and by manual triggers. */
  readonly fired: number
  /** Ticks that were missed and not caught up. Of one outage of all processes, 1,000 are counted at most. */
  readonly missed: number
  /** Ticks without a job because of `overlap`. */
  readonly skipped: number
}

/**
 * Handle of a schedule. Every method throws NOT_FOUND if the schedule does not exist any more, and STORE_UNAVAILABLE.
 */
export interface ScheduleHandle<Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly name: string
  /** No ticks until `resume()`, also across restarts. */
  pause(): Promise<void>
  /** Goes on with the first tick after now: those that passed in the pause are neither fired nor missed. */
  resume(): Promise<void>
  /**
   * A job now, paused or not; the ticks to come stay as they are. `overlap` holds as for a tick: where that leaves the
   * tick out, the handle is that of the job in the way, and `deduplicated` is true.
   * @throws JobchartError NOT_ACCEPTED if a function makes the input, and this process does not declare the schedule
   */
  trigger(): Promise<JobHandle<Output, Machine>>
  /** Its next ticks, 1…1,000; of a paused schedule those that it would have. */
  nextRuns(count: number): Promise<Date[]>
  record(): Promise<ScheduleRecord>
  /** Removes it. Its jobs stay. False if it was gone; with `tx` that is not known, and the answer is true. */
  remove(options?: RemoveScheduleOptions): Promise<boolean>
}

/** Options of `ScheduleHandle.remove`. */
export interface RemoveScheduleOptions {
  /** Your open transaction, as at an enqueue: the schedule is removed right after its commit. */
  readonly tx?: OpenTransaction | null
}

export const removeOptions = table({ tx: transaction } satisfies RulesOf<RemoveScheduleOptions>)

/**
 * The id of a job is made of the name of its schedule, the time of the tick, and nine characters if it was triggered.
 */
export const scheduleName = text(150)

const catchUpNumber = object({ all: required(integer(0, 100)) })
const catchUpName = oneOf('skip', 'last')

const catchUp: Rule<CatchUp> = (value, name) =>
  typeof value === 'object' && value !== null ? catchUpNumber(value, name) : catchUpName(value, name)

export const scheduleRules = {
  timezone: byDefault('UTC', text(limits.idCharsMax)),
  catchUp: byDefault('last', catchUp),
  overlap: byDefault('allow', oneOf<Overlap>('allow', 'skip', 'supersede', 'queue-one')),
  jitter: byDefault(0, durationMs),
  paused: byDefault(false, boolean),
  ...jobRules,
} satisfies RulesOf<ScheduleOptions>

const scheduleOptions = table(scheduleRules)

/** The options of a schedule, checked, with their defaults: `jitter` in ms. */
type CheckedScheduleOptions = Checked<typeof scheduleRules>

/**
 * Declares a schedule for `createRuntime({ schedules })`.
 * @param name 1…150 characters; the ids of its jobs begin with it
 * @param spec five or six fields of cron (seconds first when six), `@hourly`, `@daily`, `@weekly`, `@monthly`,
 * `@yearly`,
 *   `@every 90s`, or `{ every: '90s' }`
 * @param args the input of each job, or a function that makes it of the tick; and options
 * @throws JobchartError INVALID_OPTION
 * @example createRuntime({ jobs: [report], schedules: [schedule('nightly', '0 3 * * *', report, { kind: 'sales' })] })
 */
export const schedule = <Input, Output, Machine extends MachineTypes>(
  name: string,
  spec: ScheduleSpec,
  job: JobDefinition<Input, Output, Machine>,
  ...args: ScheduleArguments<NoInfer<Input>>
): ScheduleDefinition => checkedSchedule(name, spec, job, args[0], args[1])

/** @throws JobchartError INVALID_OPTION */
export function checkedSchedule(
  name: string,
  spec: ScheduleSpec,
  job: JobDefinition,
  input: unknown,
  options: ScheduleOptions = {},
): ScheduleDefinition {
  scheduleName(name, 'name of the schedule')
  if (typeof job?.type !== 'string') {
    const hint = "Pass the definition after the spec, then the input: schedule('nightly', '@daily', sendEmail, { to })."
    throw invalidOption(`job of schedule ${name}`, 'a job definition made by defineJob', job, hint)
  }
  const checked = scheduleOptions(options, `options of schedule ${name}`)
  const { timezone, overlap, unique = job.unique } = checked
  if (overlap !== 'allow' && unique !== false) {
    const hint =
      'With this overlap the schedule sets a unique key for its jobs: pass `unique: false`, or omit `overlap`.'
    throw invalidOption(`overlap of schedule ${name}`, `'allow' beside unique`, overlap, hint)
  }
  const times = tickTimes(spec, timezone, new TimeZones())
  if (Object.prototype.toString.call(input) === '[object AsyncFunction]') {
    const hint = 'Make the input at once, of the tick; do what takes time in the handler.'
    throw invalidOption(`input of schedule ${name}`, 'an input, or a function that is not async', input, hint)
  }
  return Object.freeze({ name, spec: times.spec, timezone, job, input, options: Object.freeze(checked) })
}

/** How many ticks to come are asked for. */
export const runCount = integer(1, missedMax)

export const noSchedule = (name: string): JobchartError =>
  new JobchartError('NOT_FOUND', `schedule ${describe(name)} is not in the store`, {
    hint: 'It was never declared, or it was removed; schedules() lists the existing ones.',
  })
