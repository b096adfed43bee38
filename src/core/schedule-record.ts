/** Stored schedules, and the requests and answers of `Store.schedules`: values of the contract in `store.ts`. */
import type { ErrorRecord } from './failure.ts'
import type { InsertAnswer, WrittenTransition, NewJob } from './values.ts'

/**
 * Which missed ticks are fired late, if no process was running when they were due: `skip`: none · `last`: the last one
 * ·
 * `{ all: n }`: the last n.
 */
export type CatchUp = 'skip' | 'last' | { readonly all: number }

/**
 * What a tick does while the job of an earlier tick has not ended: `allow`: it creates one more job · `skip`: it
 * creates none ·
 * `supersede`: it cancels the earlier job, and its own job runs when that one has ended · `queue-one`: its job waits
 * for the end of the earlier one; while one waits, further ticks create none.
 */
export type Overlap = 'allow' | 'skip' | 'supersede' | 'queue-one'

/** Template of the job of each tick, without id and time. */
export type ScheduledJob = Omit<NewJob, 'id' | 'runAt' | 'delayMs' | 'parent' | 'checkpoint'>

/** The declaration of a schedule. */
export interface ScheduleTerms {
  readonly name: string
  /** The spec, normalized. */
  readonly spec: string
  readonly timezone: string
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly jitterMs: number
  readonly job: ScheduledJob
  /**
   * Is the input computed by a function? Then only the processes that declare the schedule have it, and fire the
   * schedule.
   */
  readonly computed: boolean
  /** The application that declared it in code; null if it was created by a call. */
  readonly owner: string | null
}

export interface StoredSchedule extends ScheduleTerms {
  readonly paused: boolean
  /** Grows with every change; a change names the revision it is based on. */
  readonly revision: number
  readonly createdAt: number
  /** Its next tick, ms since the epoch; null if there is none. */
  readonly nextAt: number | null
  /** The last tick that created a job, and the id of that job. */
  readonly last: { readonly at: number; readonly jobId: string } | null
  /** Ids of the latest jobs, which a tick checks for overlap; two at most, none if overlaps are allowed. */
  readonly recent: readonly string[]
  /** Number of jobs created, by ticks and by manual triggers. */
  readonly fired: number
  /** Ticks that were missed and not caught up. Of one outage of all processes, 1,000 are counted at most. */
  readonly missed: number
  /** Ticks without a job because of `overlap`. */
  readonly skipped: number
}

export interface PutSchedule {
  readonly terms: ScheduleTerms
  /** Is a new schedule paused from the start? Has no effect on an existing schedule. */
  readonly paused: boolean
  /** The next tick of a new schedule, or of one whose spec or time zone changes; ms since the epoch. */
  readonly nextAt: number | null
}

export interface PutScheduleAnswer {
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'failed'
  /** The schedule after the call; null if `failed`. */
  readonly schedule: StoredSchedule | null
  readonly error?: ErrorRecord
}

export interface PauseSchedule {
  readonly name: string
  readonly revision: number
  readonly paused: boolean
  /** The next tick of a schedule that is resumed. */
  readonly nextAt: number | null
}

/**
 * Which schedules a process may fire: those with a stored input, and those named in `computed`, whose input function it
 * has.
 */
export interface DueSchedulesRequest {
  readonly computed: readonly string[]
  readonly limit: number
}

export interface DueSchedules {
  /** Schedules whose tick is due, earliest first. */
  readonly schedules: readonly StoredSchedule[]
  /** The next tick of all schedules that the process may fire, ms since the epoch; null if there is none. */
  readonly nextAt: number | null
  /** Was the limit reached? Then the caller calls again. */
  readonly more: boolean
}

export interface ScheduleTick<New = NewJob> {
  /** ms since the epoch. */
  readonly at: number
  readonly job: New
}

export interface FireSchedule<New = NewJob> {
  readonly name: string
  /** Oldest first. */
  readonly ticks: readonly ScheduleTick<New>[]
  /**
   * Sets the next tick, if the schedule has this revision and is not paused; null: a manual trigger, which leaves the
   * next tick.
   */
  readonly advance: { readonly revision: number; readonly nextAt: number | null; readonly missed: number } | null
}

/** `skipped`: no job was created, because the job with this id has not ended. */
export type TickAnswer = InsertAnswer | { readonly outcome: 'skipped'; readonly id: string }

export interface FireScheduleAnswer {
  /**
   * `stale`: another process has fired, changed or paused it · `gone`: it does not exist · `failed`: because of
   * `error`.
   */
  readonly outcome: 'fired' | 'stale' | 'gone' | 'failed'
  /** One answer per tick if `fired`, otherwise none. */
  readonly ticks: readonly TickAnswer[]
  /** Transitions of earlier jobs: their cancels, and what followed from them. */
  readonly transitions: readonly WrittenTransition[]
  readonly error?: ErrorRecord
}
