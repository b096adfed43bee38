/** The schedules of the store, by name, and in the order in which they are due. */
import { Heap, type HeapItem } from '../../core/heap.ts'
import type { DueSchedules, DueSchedulesRequest, StoredSchedule } from '../../core/schedule-record.ts'

/** A schedule with a stored input is in a heap while it has a next tick; the others are queried by name. */
class Entry implements HeapItem {
  heapIndex = -1
  schedule: StoredSchedule

  constructor(schedule: StoredSchedule) {
    this.schedule = schedule
  }

  get dueAt(): number {
    const { paused, nextAt } = this.schedule
    return paused || nextAt === null ? Infinity : nextAt
  }
}

const earlier = (a: Entry, b: Entry): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.schedule.name < b.schedule.name)

export class ScheduleTable {
  private readonly entries = new Map<string, Entry>()
  private readonly ticks = new Heap<Entry>(earlier)

  get(name: string): StoredSchedule | undefined {
    return this.entries.get(name)?.schedule
  }

  /** Returns when it is due; null for never. */
  save(schedule: StoredSchedule): number | null {
    const entry = this.entries.get(schedule.name) ?? new Entry(schedule)
    this.entries.set(schedule.name, entry)
    this.ticks.remove(entry)
    entry.schedule = schedule
    const { dueAt } = entry
    if (dueAt === Infinity) return null
    if (!schedule.computed) this.ticks.push(entry)
    return dueAt
  }

  remove(name: string): boolean {
    const entry = this.entries.get(name)
    if (entry === undefined) return false
    this.ticks.remove(entry)
    return this.entries.delete(name)
  }

  /** By name; without names all of them. */
  list(names?: readonly string[]): StoredSchedule[] {
    const wanted = names ?? [...this.entries.keys()].toSorted()
    return [...new Set(wanted)].flatMap((name) => this.get(name) ?? [])
  }

  due({ computed, limit }: DueSchedulesRequest, now: number): DueSchedules {
    const own = computed.flatMap((name) => this.entries.get(name) ?? []).filter(({ schedule }) => schedule.computed)
    const taken: Entry[] = []
    for (let next = this.ticks.peek(); next !== undefined && next.dueAt <= now; next = this.ticks.peek()) {
      if (taken.length === limit) break
      this.ticks.remove(next)
      taken.push(next)
    }
    const nextOfAll = Math.min(this.ticks.peek()?.dueAt ?? Infinity, ...taken.map(({ dueAt }) => dueAt))
    for (const entry of taken) this.ticks.push(entry)
    const due = [...taken, ...own.filter(({ dueAt }) => dueAt <= now)].toSorted((a, b) => (earlier(a, b) ? -1 : 1))
    const nextAt = Math.min(nextOfAll, ...own.map(({ dueAt }) => dueAt))
    return {
      schedules: due.slice(0, limit).map(({ schedule }) => schedule),
      nextAt: nextAt === Infinity ? null : nextAt,
      more: due.length >= limit,
    }
  }
}
