/**
 * Schedules: declared, paused, fired. When a tick is due and what comes next is computed outside, from the calendar; here a
 * tick becomes a job by the same write that moves the schedule on, and that write is conditional on the revision. So of several
 * processes that fire the same tick one makes the job.
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
import type { InsertUnit, JobRow, JobToInsert } from './unit-of-work.ts'
import type { WrittenTransition } from './values.ts'
import { sameJson } from './unique.ts'
import type { Json } from './payload.ts'

/** The schedules of a store, as operations see them. */
export interface ScheduleUnit {
  readonly now: number
  schedule(name: string): StoredSchedule | undefined
  /** Writes a schedule, new or changed. */
  saveSchedule(schedule: StoredSchedule): void
}

/** A last tick that lies so far ahead was fired while the clock was wrong, ms. */
const clockErrorMs = 3_600_000

/** Declares a schedule. What is there keeps its next tick, its figures and its pause unless spec or time zone have changed. */
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
    // Jobs of another type are none of its business.
    recent: there.job.type === terms.job.type ? there.recent : [],
  }
  unit.saveSchedule(schedule)
  return { outcome: 'changed', schedule }
}

const termsOf = (schedule: StoredSchedule): unknown => {
  const { name, spec, timezone, catchUp, overlap, jitterMs, job, computed, owner } = schedule
  return { name, spec, timezone, catchUp, overlap, jitterMs, job, computed, owner }
}

/** Members that are undefined are left out, as they are where schedules are kept as JSON. */
const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

/** Pauses or resumes. Gives the schedule as it is then; null if it is gone, or has another revision by now. */
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

/** Makes the jobs of ticks and moves the schedule on. */
export function fireSchedule<Row extends JobRow, New extends JobToInsert>(
  unit: ScheduleUnit & InsertUnit<Row, New>,
  { name, ticks, advance }: FireSchedule<New>,
): FireScheduleAnswer {
  const there = unit.schedule(name)
  if (there === undefined) return { outcome: 'gone', ticks: [], transitions: [] }
  if (advance !== null && (there.paused || there.revision !== advance.revision)) {
    return { outcome: 'stale', ticks: [], transitions: [] }
  }
  const firing = new Firing(unit, there)
  const answers = ticks.map((tick) => firing.tick(tick))
  const { last, recent, fired, skipped } = firing
  const moved = advance === null ? {} : { nextAt: advance.nextAt, missed: there.missed + advance.missed }
  unit.saveSchedule({ ...there, ...moved, last, recent, fired, skipped, revision: there.revision + 1 })
  return { outcome: 'fired', ticks: answers, transitions: firing.transitions }
}

/** One firing: what becomes of the schedule while its ticks are made into jobs, one by one. */
class Firing<Row extends JobRow, New extends JobToInsert> {
  last: StoredSchedule['last']
  recent: readonly string[]
  fired: number
  skipped: number
  readonly transitions: WrittenTransition[] = []
  private readonly unit: InsertUnit<Row, New>
  private readonly schedule: StoredSchedule

  constructor(unit: InsertUnit<Row, New>, schedule: StoredSchedule) {
    this.unit = unit
    this.schedule = schedule
    this.last = schedule.last
    this.recent = schedule.recent
    this.fired = schedule.fired
    this.skipped = schedule.skipped
  }

  tick({ at, job }: ScheduleTick<New>): TickAnswer {
    const live = this.schedule.overlap === 'allow' ? [] : this.live(job)
    const answer = this.insert(job, live)
    if (answer.outcome === 'skipped') this.skipped++
    if (answer.outcome !== 'inserted') return answer
    this.fired++
    this.last = { at, jobId: answer.id }
    this.recent = this.schedule.overlap === 'allow' ? [] : [...live.map(({ id }) => id), answer.id].slice(-2)
    return answer
  }

  private insert(job: New, live: readonly Row[]): TickAnswer {
    const { unit } = this
    const { overlap } = this.schedule
    const [first] = live
    // The id of a tick that has its job already, because the schedule was made anew, is that job's.
    if (overlap === 'allow' || first === undefined || unit.find(job.id) !== undefined) return insertJob(unit, job)
    if (overlap === 'skip' || (overlap === 'queue-one' && live.length > 1)) {
      return { outcome: 'skipped', id: first.id }
    }
    for (const row of live) {
      const cancelled = overlap === 'supersede' ? cancelSuperseded(unit, row) : null
      if (cancelled !== null) this.transitions.push(cancelled)
      unit.giveUpKey(row)
    }
    // It waits for the end of the job that has given up the key.
    return insertNew(unit, job)
  }

  /** Jobs of earlier ticks that have not ended; one that was sent through again holds the key of the schedule. */
  private live(job: New): Row[] {
    const rows = this.recent.map((id) => this.unit.find(id))
    const holder = job.key === null ? undefined : this.unit.holder(job.type, job.key)
    const found = [...rows, holder].filter((row) => row !== undefined && !isEnded(row.state))
    return [...new Set(found)].filter((row) => row !== undefined)
  }
}
