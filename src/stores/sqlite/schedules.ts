/** The schedules of the file: one row each, with what they are found by in columns and the rest as JSON. */
import { putScheduleFailed, fireScheduleFailed } from '../../core/failures.ts'
import type {
  DueSchedules,
  DueSchedulesRequest,
  FireSchedule,
  FireScheduleAnswer,
  PutSchedule,
  PutScheduleAnswer,
  StoredSchedule,
} from '../../core/schedule-record.ts'
import { fireSchedule, putSchedule } from '../../core/schedule.ts'
import { packJob, type PackedJob } from './insert.ts'
import type { FileUnit } from './unit.ts'

const parsed = (text: string): StoredSchedule => JSON.parse(text) as StoredSchedule

export function scheduleOf(unit: FileUnit, name: string): StoredSchedule | undefined {
  const text = unit.sql.get('schedule', name)?.[0]
  return text === undefined ? undefined : parsed(text)
}

export function saveSchedule(unit: FileUnit, schedule: StoredSchedule): void {
  const { name, paused, nextAt, computed } = schedule
  const dueAt = paused ? null : nextAt
  unit.sql.run('writeSchedule', name, dueAt, computed ? 1 : 0, JSON.stringify(schedule))
  if (dueAt !== null) unit.hints.scheduled(dueAt)
}

export const putSchedules = (unit: FileUnit, requests: readonly PutSchedule[]): PutScheduleAnswer[] =>
  unit.each(requests, (request) => putSchedule(unit, request), putScheduleFailed)

export const packFire = (requests: readonly FireSchedule[]): FireSchedule<PackedJob>[] =>
  requests.map(({ name, ticks, advance }) => ({ name, advance, ticks: ticks.map(({ at, job }) => ({ at, job: packJob(job) })) })) // prettier-ignore

export const fireSchedules = (unit: FileUnit, requests: readonly FireSchedule<PackedJob>[]): FireScheduleAnswer[] =>
  unit.each(requests, (request) => fireSchedule(unit, request), fireScheduleFailed)

export function listSchedules(unit: FileUnit, names?: readonly string[]): StoredSchedule[] {
  if (names === undefined) return unit.sql.all('schedules').map(([text]) => parsed(text))
  return [...new Set(names)].flatMap((name) => scheduleOf(unit, name) ?? [])
}

export const removeSchedules = (unit: FileUnit, names: readonly string[]): string[] =>
  names.filter((name) => unit.sql.changes('removeSchedule', name))

export function dueSchedules(unit: FileUnit, { computed, limit }: DueSchedulesRequest): DueSchedules {
  const own = JSON.stringify(computed)
  const due = unit.sql.all('dueSchedules', unit.now, own, unit.now, limit)
  const nextAt = unit.sql.get('nextTick', own)?.[0] ?? null
  return { schedules: due.map(([text]) => parsed(text)), nextAt, more: due.length === limit }
}

/** Another process has written: tells of a tick that comes before those that are known of. */
export function catchUpSchedules(unit: FileUnit): void {
  const at = unit.sql.get('firstTick')?.[0] ?? null
  if (at !== null && at !== unit.knownTickAt) unit.hints.scheduled(at)
  unit.knownTickAt = at
}
