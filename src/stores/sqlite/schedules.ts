/** The schedules of the file: a row each, with columns for the indexes and the rest as JSON. */
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { DueSchedules, DueSchedulesRequest, FireSchedule, StoredSchedule } from '../../core/schedule-record.ts'
import type { Hints } from './hints.ts'
import type { JobToInsert } from '../../core/job-row.ts'
import { packJob } from './insert.ts'
import type { Statements } from './statements.ts'

const parsed = (text: string): StoredSchedule => JSON.parse(text) as StoredSchedule

export const packFire = (requests: readonly FireSchedule[]): FireSchedule<JobToInsert>[] =>
  requests.map(({ name, ticks, advance }) => ({
    name,
    advance,
    ticks: ticks.map(({ at, job }) => ({ at, job: packJob(job) })),
  }))

export class ScheduleTable implements ScheduleUnit {
  private readonly sql: Statements
  private readonly hints: Hints
  now = 0
  /** The first tick of all schedules when another process had written last; null if there is none. */
  private knownTickAt: number | null = null

  constructor(sql: Statements, hints: Hints) {
    this.sql = sql
    this.hints = hints
  }

  schedule(name: string): StoredSchedule | undefined {
    const text = this.sql.get('schedule', name)?.[0]
    return text === undefined ? undefined : parsed(text)
  }

  saveSchedule(schedule: StoredSchedule): void {
    const { name, paused, nextAt, computed } = schedule
    const dueAt = paused ? null : nextAt
    this.sql.run('writeSchedule', name, dueAt, computed ? 1 : 0, JSON.stringify(schedule))
    if (dueAt !== null) this.hints.scheduled(dueAt)
  }

  removeSchedule(name: string): boolean {
    return this.sql.changes('removeSchedule', name)
  }

  /** By name; without names all of them. */
  list(names?: readonly string[]): StoredSchedule[] {
    if (names === undefined) return this.sql.all('schedules').map(([text]) => parsed(text))
    return [...new Set(names)].flatMap((name) => this.schedule(name) ?? [])
  }

  due({ computed, limit }: DueSchedulesRequest): DueSchedules {
    const own = JSON.stringify(computed)
    const due = this.sql.all('dueSchedules', this.now, own, limit)
    const nextAt = this.sql.get('nextTick', own)?.[0] ?? null
    return { schedules: due.map(([text]) => parsed(text)), nextAt, more: due.length === limit }
  }

  /** Another process has written: gives a hint if the first tick has changed. */
  catchUp(): void {
    const at = this.sql.get('firstTick')?.[0] ?? null
    if (at !== null && at !== this.knownTickAt) this.hints.scheduled(at)
    this.knownTickAt = at
  }
}
