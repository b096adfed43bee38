/** What is kept of a schedule, and what goes into and comes out of `Store.schedules`: values of the contract in `store.ts`. */
import type { ErrorRecord } from './failure.ts'
import type { InsertAnswer, WrittenTransition, NewJob } from './values.ts'

/**
 * What becomes of the ticks that nobody fired in time, because no process was running: `skip`: nothing · `last`: the last of
 * them is fired · `{ all: n }`: the last n are.
 */
export type CatchUp = 'skip' | 'last' | { readonly all: number }

/**
 * What a tick does while the job of an earlier tick has not ended: `allow`: one more job · `skip`: none · `supersede`: the
 * earlier job is cancelled, and the new one runs when it has ended · `queue-one`: one more job waits for its end, and no
 * further one.
 */
export type Overlap = 'allow' | 'skip' | 'supersede' | 'queue-one'

/** What each tick's job is made of, beside its id and its time. */
export type ScheduledJob = Omit<NewJob, 'id' | 'runAt' | 'delayMs' | 'parent' | 'checkpoint'>

/** What a schedule is declared with. */
export interface ScheduleTerms {
  readonly name: string
  /** The spec in one form. */
  readonly spec: string
  readonly timezone: string
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly jitterMs: number
  readonly job: ScheduledJob
  /** Is the input made by a function? It is in the processes that declare the schedule, and only those fire it. */
  readonly computed: boolean
  /** The application that declared it in code; null of one that was made by a call. */
  readonly owner: string | null
}

export interface StoredSchedule extends ScheduleTerms {
  readonly paused: boolean
  /** Goes up with every change; whoever changes a schedule names the revision that it has seen. */
  readonly revision: number
  readonly createdAt: number
  /** Its next tick, ms since the epoch; null if there is none. */
  readonly nextAt: number | null
  /** The last tick that made a job, and that job. */
  readonly last: { readonly at: number; readonly jobId: string } | null
  /** Jobs that a tick must look at, unless overlaps are allowed; the last two at most. */
  readonly recent: readonly string[]
  /** Jobs made so far, by ticks and by hand. */
  readonly fired: number
  /** Ticks that nobody fired in time and `catchUp` left out; of one pause of all processes a thousand are counted at most. */
  readonly missed: number
  /** Ticks that `overlap` left out. */
  readonly skipped: number
}

export interface PutSchedule {
  readonly terms: ScheduleTerms
  /** Of a new schedule only: is it paused from the start? What is there keeps what it is. */
  readonly paused: boolean
  /** The next tick of a schedule that is new, or whose spec or time zone has changed. */
  readonly nextAt: number | null
}

export interface PutScheduleAnswer {
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'failed'
  /** As it is now; null if `failed`. */
  readonly schedule: StoredSchedule | null
  readonly error?: ErrorRecord
}

export interface PauseSchedule {
  readonly name: string
  readonly revision: number
  readonly paused: boolean
  /** When it goes on: its next tick. */
  readonly nextAt: number | null
}

/** Which schedules a process may fire: those whose input is kept, and of the others those that it has the function of. */
export interface DueSchedulesRequest {
  readonly computed: readonly string[]
  readonly limit: number
}

export interface DueSchedules {
  /** Those whose tick has come, earliest first. */
  readonly schedules: readonly StoredSchedule[]
  /** The next tick of all that the process may fire; null if there is none. */
  readonly nextAt: number | null
  /** Was the limit reached? Then call again. */
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
  /** Moves the schedule on, if it still has this revision and is not paused; null: a tick by hand, which moves nothing. */
  readonly advance: { readonly revision: number; readonly nextAt: number | null; readonly missed: number } | null
}

/** `skipped`: no job was made, because of the job with this id. */
export type TickAnswer = InsertAnswer | { readonly outcome: 'skipped'; readonly id: string }

export interface FireScheduleAnswer {
  /** `stale`: another process has fired or changed it · `gone`: there is no such schedule · `failed`: because of `error`. */
  readonly outcome: 'fired' | 'stale' | 'gone' | 'failed'
  /** One for each tick if `fired`, else none. */
  readonly ticks: readonly TickAnswer[]
  /** The moves of earlier jobs that were superseded. */
  readonly transitions: readonly WrittenTransition[]
  readonly error?: ErrorRecord
}
