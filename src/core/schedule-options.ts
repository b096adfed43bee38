/** What schedules are declared with, and what is told of them. Everything is checked here, at the door. */
import { checkUnique, type UniqueOption } from './call-options.ts'
import { missedMax } from './catch-up.ts'
import { checkBoolean, checkEnum, checkInteger, checkKeys, checkText } from './checks.ts'
import type { JobDefinition } from './definition.ts'
import { durationMs, type Duration } from './duration.ts'
import { describe, invalidOption, JobchartError } from './errors.ts'
import type { JobHandle } from './handle.ts'
import { limits } from './limits.ts'
import type { MachineTypes } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { JobMeta } from './record.ts'
import type { CatchUp, Overlap } from './schedule-record.ts'
import { tickTimes, type ScheduleSpec } from './tick-times.ts'
import { TimeZones } from './time-zone.ts'

export interface ScheduleOptions {
  /** IANA time zone in which the spec is read. Default 'UTC'. */
  readonly timezone?: string
  /**
   * What becomes of ticks that are more than 10 s late, because no process was running: `skip`: nothing · `last` (default): the
   * last of them is fired, unless a newer tick is · `{ all: n }`: the last n of them are; 0…100.
   */
  readonly catchUp?: CatchUp
  /**
   * What a tick does while the job of an earlier tick has not ended: `allow` (default): one more job · `skip`: none ·
   * `supersede`: the earlier job is cancelled, and the new one runs when it has ended · `queue-one`: one more job waits for its
   * end, and no further one. Not beside `unique`.
   */
  readonly overlap?: Overlap
  /** Each job waits for a part of this time, the same part whoever fires its tick. Default 0. */
  readonly jitter?: Duration
  /** Is it paused from the start? What is there already keeps what it is. Default false. */
  readonly paused?: boolean
  /** Of its jobs; default 0. */
  readonly priority?: number
  /** Of its jobs; 20 at most. */
  readonly tags?: readonly string[]
  /** Data of your own, kept with each of its jobs; see `enqueue`. */
  readonly meta?: JobMeta
  /** Of its jobs; default: that of the job's definition. */
  readonly unique?: UniqueOption
}

/** What an input function is told. */
export interface Tick {
  /** Of the schedule. */
  readonly name: string
  /** When the tick was to come; of one by hand: now. */
  readonly at: Date
  /** Was it triggered by hand? */
  readonly triggered: boolean
}

/** The input of each job, or what makes it of a tick: at once, not async. */
export type ScheduleInput<Input> = Input | ((tick: Tick) => Input)

/** `(input, options?)`, or `(input?, options?)` for jobs without an input. */
export type ScheduleArguments<Input> = undefined extends Input
  ? [input?: ScheduleInput<Input>, options?: ScheduleOptions]
  : [input: ScheduleInput<Input>, options?: ScheduleOptions]

/** A schedule that was declared and checked; made by `schedule`. */
export interface ScheduleDefinition {
  readonly name: string
  /** The spec in one form. */
  readonly spec: string
  readonly timezone: string
  readonly job: JobDefinition
  readonly input: unknown
  readonly options: ScheduleOptions
}

/** A schedule as it is now. Times are ms since the epoch. */
export interface ScheduleRecord {
  readonly name: string
  readonly spec: string
  readonly timezone: string
  /** Of its jobs. */
  readonly type: string
  /** Of its jobs; undefined if a function makes it. */
  readonly input: Json | undefined
  /** Does a function make the input? Only processes that declare the schedule fire it then. */
  readonly computed: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly jitterMs: number
  /** Of a schedule that `createRuntime` declared: `scheduleOwner`; null of one that was made by a call. */
  readonly owner: string | null
  readonly paused: boolean
  readonly createdAt: number
  /** Its next ticks, as many as were asked for; none while it is paused. */
  readonly nextRuns: readonly number[]
  /** The last tick that made a job, and the id of that job. */
  readonly last: { readonly at: number; readonly jobId: string } | null
  /** Jobs made so far, by ticks and by hand. */
  readonly fired: number
  /** Ticks that were left out because they were too late; of one pause of all processes 1,000 are counted at most. */
  readonly missed: number
  /** Ticks that were left out because of the job of an earlier tick. */
  readonly skipped: number
}

/** A schedule in the caller's hand. Every method throws NOT_FOUND once the schedule is gone, and STORE_UNAVAILABLE. */
export interface ScheduleHandle<Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly name: string
  /** No ticks until `resume()`, also across restarts. */
  pause(): Promise<void>
  /** Goes on with the first tick after now: those that passed in the pause are neither fired nor missed. */
  resume(): Promise<void>
  /**
   * A job now, paused or not; the ticks to come stay as they are. `overlap` holds as for a tick: where that leaves the tick out, the
   * handle is that of the job in the way, and `deduplicated` is true.
   * @throws JobchartError NOT_ACCEPTED if a function makes the input, and this process does not declare the schedule
   */
  trigger(): Promise<JobHandle<Output, Machine>>
  /** Its next ticks, 1…1,000; of a paused schedule those that it would have. */
  nextRuns(count: number): Promise<Date[]>
  record(): Promise<ScheduleRecord>
  /** Removes it. Its jobs stay. False if it was gone. */
  remove(): Promise<boolean>
}

const optionKeys = ['timezone', 'catchUp', 'overlap', 'jitter', 'paused', 'priority', 'tags', 'meta', 'unique']
/** The id of a job is made of the name of its schedule, the time of the tick, and nine characters if it was triggered. */
const nameCharsMax = 150
const catchUpMax = 100

/**
 * Declares a schedule for `createRuntime({ schedules })`.
 * @param name 1…150 characters; the ids of its jobs begin with it
 * @param spec five or six fields of cron (seconds first when six), `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`,
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
  checkText('name of the schedule', name, nameCharsMax)
  if (typeof job?.type !== 'string') {
    const hint = "Pass the definition after the spec, then the input: schedule('nightly', '@daily', sendEmail, { to })."
    throw invalidOption(`job of schedule ${name}`, 'a job definition made by defineJob', job, hint)
  }
  checkKeys(`options of schedule ${name}`, options, optionKeys)
  checkCatchUp(options.catchUp ?? 'last')
  checkOverlap(name, job, options)
  checkBoolean('paused', options.paused)
  const timezone = options.timezone ?? 'UTC'
  const times = tickTimes(spec, checkText('timezone', timezone, limits.idCharsMax), new TimeZones())
  durationMs(options.jitter ?? 0, 'jitter')
  if (options.unique !== undefined) checkUnique(options.unique)
  if (Object.prototype.toString.call(input) === '[object AsyncFunction]') {
    const hint = 'Make the input at once, of the tick; do what takes time in the handler.'
    throw invalidOption(`input of schedule ${name}`, 'an input, or a function that is not async', input, hint)
  }
  return Object.freeze({ name, spec: times.spec, timezone, job, input, options: Object.freeze({ ...options }) })
}

function checkCatchUp(catchUp: CatchUp): void {
  if (typeof catchUp !== 'object' || catchUp === null) return void checkEnum('catchUp', catchUp, ['skip', 'last'])
  checkKeys('catchUp', catchUp, ['all'])
  checkInteger('catchUp.all', catchUp.all, 0, catchUpMax)
}

function checkOverlap(
  name: string,
  job: JobDefinition,
  { overlap = 'allow', unique = job.unique }: ScheduleOptions,
): void {
  checkEnum('overlap', overlap, ['allow', 'skip', 'supersede', 'queue-one'])
  if (overlap === 'allow' || unique === false) return
  const hint =
    'A schedule whose jobs do not overlap holds a unique key of its own: pass unique: false, or leave overlap out.'
  throw invalidOption(`overlap of schedule ${name}`, `'allow' beside unique`, overlap, hint)
}

/** @throws JobchartError INVALID_OPTION */
export const checkRunCount = (count: number): number => checkInteger('number of runs', count, 1, missedMax)

export const noSchedule = (name: string): JobchartError =>
  new JobchartError('NOT_FOUND', `schedule ${describe(name)} is not in the store`, {
    hint: 'It was removed or retired, or never declared; schedules() lists those that are there.',
  })
