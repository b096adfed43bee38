/**
 * Operations on schedules: declare, pause, fire. The caller computes the ticks. One write creates the job of a tick and
 * sets the next tick; the write is conditional on the revision, so that of several processes that fire the same tick
 * one creates the job.
 */
import { cancelSuperseded } from './cancel.ts'
import { insertJob, insertNew } from './insert.ts'
import { isEnded } from './lifecycle.ts'
import type {
  FireSchedule,
  FireScheduleAnswer,
  PauseSchedule,
  PutSchedule,
  PutScheduleAnswer,
  ScheduleTick,
  StoredSchedule,
  TickAnswer,
} from './schedule-record.ts'
import type { JobRow, JobToInsert } from './job-row.ts'
import type { Unit } from './unit.ts'
import type { WrittenTransition } from './values.ts'
import { sameJson } from './unique.ts'
import type { Json } from './payload.ts'

/** Access to the schedules of a store. */
export interface ScheduleUnit {
  readonly now: number
  schedule(name: string): StoredSchedule | undefined
  /** Writes a schedule, new or changed. */
  saveSchedule(schedule: StoredSchedule): void
}

/** A last tick further in the future than this, ms, was fired while the clock was wrong. */
const clockErrorMs = 3_600_000

/**
 * Declares a schedule. An existing one keeps its counters and its pause, and, unless spec or time zone change, its next
 * tick.
 */
export function putSchedule(unit: ScheduleUnit, { terms, paused, nextAt }: PutSchedule): PutScheduleAnswer {
  const there = unit.schedule(terms.name)
  if (there === undefined) {
    const fresh = { last: null, recent: [], fired: 0, missed: 0, skipped: 0 }
    const schedule = { ...terms, paused, revision: 1, createdAt: unit.now, nextAt, ...fresh }
    unit.saveSchedule(schedule)
    return { outcome: 'created', schedule }
  }
  const sameTimes = there.spec === terms.spec && there.timezone === terms.timezone
  const hasNewTicks = !sameTimes || (there.last !== null && there.last.at > unit.now + clockErrorMs)
  if (!hasNewTicks && sameJson(asJson(termsOf(there)), asJson(terms))) return { outcome: 'unchanged', schedule: there }
  const schedule: StoredSchedule = {
    ...there,
    ...terms,
    revision: there.revision + 1,
    nextAt: hasNewTicks ? nextAt : there.nextAt,
    // The overlap rule compares jobs of one type.
    recent: there.job.type === terms.job.type ? there.recent : [],
  }
  unit.saveSchedule(schedule)
  return { outcome: 'changed', schedule }
}

const termsOf = (schedule: StoredSchedule): unknown => {
  const { name, spec, timezone, catchUp, overlap, jitterMs, job, computed, owner } = schedule
  return { name, spec, timezone, catchUp, overlap, jitterMs, job, computed, owner }
}

/** Removes members that are undefined, as storing as JSON does. */
const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

/** Pauses or resumes. @returns the schedule after the call; null if it does not exist or has another revision */
export function pauseSchedule(
  unit: ScheduleUnit,
  { name, revision, paused, nextAt }: PauseSchedule,
): StoredSchedule | null {
  const there = unit.schedule(name)
  if (there?.revision !== revision) return null
  if (there.paused === paused) return there
  const schedule = { ...there, paused, revision: revision + 1, nextAt: paused ? there.nextAt : nextAt }
  unit.saveSchedule(schedule)
  return schedule
}

/** Creates the jobs of ticks and sets the next tick. */
export function fireSchedule(
  unit: Unit,
  table: ScheduleUnit,
  { name, ticks, advance }: FireSchedule<JobToInsert>,
): FireScheduleAnswer {
  const there = table.schedule(name)
  if (there === undefined) return { outcome: 'gone', ticks: [], transitions: [] }
  if (advance !== null && (there.paused || there.revision !== advance.revision)) {
    return { outcome: 'stale', ticks: [], transitions: [] }
  }
  const firing = new Firing(unit, there)
  const answers = ticks.map((tick) => firing.tick(tick))
  const { last, recent, fired, skipped } = firing
  const moved = advance === null ? {} : { nextAt: advance.nextAt, missed: there.missed + advance.missed }
  table.saveSchedule({ ...there, ...moved, last, recent, fired, skipped, revision: there.revision + 1 })
  return { outcome: 'fired', ticks: answers, transitions: firing.transitions }
}

/** One firing: creates the jobs of the ticks one by one, and collects the new fields of the schedule. */
class Firing {
  last: StoredSchedule['last']
  recent: readonly string[]
  fired: number
  skipped: number
  readonly transitions: WrittenTransition[] = []
  private readonly unit: Unit
  private readonly schedule: StoredSchedule

  constructor(unit: Unit, schedule: StoredSchedule) {
    this.unit = unit
    this.schedule = schedule
    this.last = schedule.last
    this.recent = schedule.recent
    this.fired = schedule.fired
    this.skipped = schedule.skipped
  }

  tick({ at, job }: ScheduleTick<JobToInsert>): TickAnswer {
    const live = this.schedule.overlap === 'allow' ? [] : this.live(job)
    const answer = this.insert(job, live)
    if (answer.outcome === 'skipped') this.skipped++
    if (answer.outcome !== 'inserted') return answer
    this.fired++
    this.last = { at, jobId: answer.id }
    this.recent = this.schedule.overlap === 'allow' ? [] : [...live.map(({ id }) => id), answer.id].slice(-2)
    return answer
  }

  private insert(job: JobToInsert, live: readonly JobRow[]): TickAnswer {
    const { unit } = this
    const { overlap } = this.schedule
    const [first] = live
    // Job ids are derived from ticks: after the schedule was removed and declared again, the job of a tick may exist.
    if (overlap === 'allow' || first === undefined || unit.find(job.id) !== undefined) return insertJob(unit, job)
    if (overlap === 'skip' || (overlap === 'queue-one' && live.length > 1)) {
      return { outcome: 'skipped', id: first.id }
    }
    for (const row of live) {
      const cancelled = overlap === 'supersede' ? cancelSuperseded(unit, row) : null
      if (cancelled !== null) this.transitions.push(cancelled)
      unit.giveUpKey(row)
    }
    // The new job waits for the end of the job that has given up the key.
    return insertNew(unit, job)
  }

  /** Live jobs of earlier ticks, including a retried one, which holds the unique key of the schedule. */
  private live(job: JobToInsert): JobRow[] {
    const rows = this.recent.map((id) => this.unit.find(id))
    const holder = job.key === null ? undefined : this.unit.holder(job.type, job.key)
    const found = [...rows, holder].filter((row) => row !== undefined && !isEnded(row.state))
    return [...new Set(found)].filter((row) => row !== undefined)
  }
}
