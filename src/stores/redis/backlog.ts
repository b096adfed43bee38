/** How many jobs wait to run, of all types (null) and by type: as it was loaded, and as the unit changes it. */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { WorkingSet } from './working-set.ts'

const backlog = statesTagged('backlog')

type Type = string | null

export class Backlog {
  /** The backlog before this unit that its inserts leave room for; the commit compares it. */
  rooms: ReadonlyMap<Type, number> = new Map()
  /** Where an insert was refused for want of room. */
  full: ReadonlySet<Type> = new Set()
  private changes: ReadonlyMap<Type, number> = new Map()
  private readonly set: WorkingSet

  constructor(set: WorkingSet) {
    this.set = set
  }

  of(type: Type): number {
    let sum = this.changeOf(type)
    for (const state of backlog) sum += this.set.count(type === null ? state : `${state}:${type}`)
    return sum
  }

  changeOf(type: Type): number {
    return this.changes.get(type) ?? 0
  }

  /** A job of the type goes from one state to another; null: it is new. */
  moved(type: string, from: JobState | null, to: JobState): void {
    const by = Number(backlog.has(to)) - Number(from !== null && backlog.has(from))
    if (by === 0) return
    this.changes = new Map([...this.changes, [null, this.changeOf(null) + by], [type, this.changeOf(type) + by]])
  }

  /** Inserts that leave no more than `capacity` jobs waiting must find that much room at the commit. */
  needRoom(type: Type, capacity: number, changeBefore: number): void {
    const change = this.changeOf(type)
    if (change <= changeBefore) return
    this.rooms = new Map([...this.rooms, [type, Math.min(this.rooms.get(type) ?? Infinity, capacity - change)]])
  }

  refused(type: Type): void {
    this.full = new Set([...this.full, type])
  }

  /** Its values; maps and sets are replaced, not changed. */
  save(): Pick<Backlog, 'rooms' | 'full'> & { readonly changes: ReadonlyMap<Type, number> } {
    const { rooms, full, changes } = this
    return { rooms, full, changes }
  }

  restore({ rooms, full, changes }: ReturnType<Backlog['save']>): void {
    this.rooms = rooms
    this.full = full
    this.changes = changes
  }
}
