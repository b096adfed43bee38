/**
 * One run of an operation: a unit of the core over what was loaded, the changes that come out of it, and what must hold
 * when they are committed. The commit gives transitions their numbers: until then they count from `pending`, so that
 * they are later than all others.
 */
import { Changes } from '../../core/changes.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import { Unit } from '../../core/unit.ts'
import type { Hint, InsertAnswer, QueueChange } from '../../store.ts'
import { cellName, type CellKind } from './cells.ts'
import { heldByOthers } from './held.ts'
import { NotLoaded, type Need } from './needs.ts'
import { LoadedSource, type Given } from './source.ts'
import type { WorkingSet } from './working-set.ts'

/** The first of the numbers that the commit replaces: beyond all that are given, and exact as a number. */
export const pending = 9e15

/** Thrown when an item has failed after it had changed something: everything is done again without it. */
export class ItemFailed extends Error {
  override readonly name = 'ItemFailed'
}

/** An ended job, and the number of the transition that has ended it. */
interface EndedJob {
  readonly id: string
  readonly endedBy: number
}

export class Transaction implements ScheduleUnit {
  readonly now: number
  readonly set: WorkingSet
  readonly changes = new Changes<JobRow>()
  readonly source: LoadedSource
  readonly unit: Unit
  /** Small values that were written, by `cellName`. */
  readonly cells = new Map<string, string | null>()
  readonly hints: Hint[] = []
  /** The number that its first transition has got by the commit. */
  base = pending
  /** The backlog before it that its inserts leave room for, of all types (null) and by type. */
  readonly rooms = new Map<string | null, number>()
  /** The free slots that its hand-overs were based on, by type. */
  readonly slots = new Map<string, number>()

  /** @param given what a selection finds; null = what was loaded */
  constructor(set: WorkingSet, now: number, given: Given | null = null) {
    this.set = set
    this.now = now
    this.source = new LoadedSource(set, this.changes, now, given)
    this.unit = new Unit(this.source, this.changes)
    this.unit.now = now
    this.unit.seq = pending - 1
  }

  /**
   * Acts on each item: one that throws, or changes a job that is left out, fails alone. What any item needs is loaded
   * together.
   */
  each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
    const { changes, set } = this
    const needs: Need[] = []
    const answers = items.map((item) => {
      const failure = set.failures.get(item)
      if (failure !== undefined) return failed(failure, item)
      const { writes } = changes
      try {
        const answer = act(item)
        if (needs.length === 0) this.checkHeld()
        return answer
      } catch (error) {
        if (error instanceof NotLoaded) needs.push(...error.needs)
        // What is thrown after that may follow from what an item has left undone: this run is discarded.
        if (needs.length > 0) return null
        const failure = recordError(error)
        if (changes.writes === writes) return failed(failure, item)
        set.failures.set(item, failure)
        throw new ItemFailed()
      }
    })
    if (needs.length > 0) throw new NotLoaded(needs)
    return answers as A[]
  }

  private checkHeld(): void {
    const { held } = this.set
    if (held === null || held.size === 0) return
    const ids = this.changes.rows.map(({ id }) => id).filter((id) => held.has(id))
    if (ids.length > 0) throw heldByOthers(ids)
  }

  // ── what must hold ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Inserts that leave no more than `capacity` jobs waiting must find that much room at the commit. */
  needRoom(type: string | null, capacity: number, growthBefore: number): void {
    const growth = this.changes.backlogOf(type)
    if (growth <= growthBefore) return
    this.rooms.set(type, Math.min(this.rooms.get(type) ?? Infinity, capacity - growth))
  }

  /** Jobs that were handed over must find as many free slots at the commit as the insert was based on. */
  needSlots(type: string, answers: readonly InsertAnswer[]): void {
    if (answers.some(({ outcome }) => outcome === 'inserted')) this.slots.set(type, this.set.handOverRoom(type))
  }

  // ── small values ─────────────────────────────────────────────────────────────────────────────────────────────────

  cell(kind: CellKind, field: string): string | null {
    const written = this.cells.get(cellName(kind, field))
    return written === undefined ? this.set.cell(kind, field) : written
  }

  setCell(kind: CellKind, field: string, value: string | null): void {
    // The write is conditional on the loaded value.
    this.set.cell(kind, field)
    this.changes.writes++
    this.cells.set(cellName(kind, field), value)
  }

  schedule(name: string): StoredSchedule | undefined {
    const text = this.cell('schedules', name)
    return text === null ? undefined : (JSON.parse(text) as StoredSchedule)
  }

  saveSchedule(schedule: StoredSchedule): void {
    const { name, paused, nextAt } = schedule
    this.setCell('schedules', name, JSON.stringify(schedule))
    if (!paused && nextAt !== null) this.hints.push({ kind: 'schedule', at: nextAt })
  }

  removeSchedule(name: string): boolean {
    if (this.cell('schedules', name) === null) return false
    this.setCell('schedules', name, null)
    return true
  }

  changeQueue(type: string, { paused }: QueueChange): void {
    if ((this.cell('paused', type) === '1') !== paused) this.hints.push({ kind: 'queue', type, paused })
    this.setCell('paused', type, paused ? '1' : '0')
    if (!paused) this.hints.push({ kind: 'ready', type })
  }

  /** Removes ended jobs, each if it is still the one that the transition of this number has ended. */
  removeEnded(jobs: readonly EndedJob[]): void {
    const endedBy = new Map(jobs.map((job) => [job.id, job.endedBy]))
    for (const row of this.source.findAll([...endedBy.keys()])) {
      if (row.ended !== null && row.lastSeq === endedBy.get(row.id)) this.unit.remove(row)
    }
  }
}

/**
 * Where answers carry the numbers of transitions: nowhere else is looked, because payloads are none of our business.
 */
const carriers = ['jobs', 'transitions', 'transition', 'woken', 'successor', 'hook', 'superseded', 'ticks'] as const

/** An answer with the numbers that the commit has given. */
export function numbered<T>(answer: T, base: number): T {
  if (Array.isArray(answer)) for (const item of answer) numbered(item, base)
  else if (typeof answer === 'object' && answer !== null) {
    const fields = answer as Record<string, unknown>
    if (typeof fields.seq === 'number' && fields.seq >= pending) fields.seq = fields.seq - pending + base
    for (const name of carriers) if (fields[name] !== undefined) numbered(fields[name], base)
  }
  return answer
}
