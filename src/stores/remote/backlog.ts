/** How many jobs wait to run, of all types (null) and by type: as it was loaded, and as the unit changes it. */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { InsertAnswer } from '../../store.ts'
import type { WorkingSet } from './working-set.ts'

const backlog = statesTagged('backlog')

type Type = string | null

type Saved = Pick<Backlog, 'rooms' | 'full' | 'slots' | 'fullSlots'> & { readonly changes: ReadonlyMap<Type, number> }

export class Backlog {
  /** The backlog before this unit that its inserts leave room for; the commit compares it. */
  rooms: ReadonlyMap<Type, number> = new Map()
  /** Where an insert was refused for want of room. */
  full: ReadonlySet<Type> = new Set()
  /** The free slots that its hand-overs were based on, by type; the commit compares them. */
  slots: ReadonlyMap<string, number> = new Map()
  /** How many free slots an insert has found that was refused because it needed more, by type. */
  fullSlots: ReadonlyMap<string, number> = new Map()
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

  /** Jobs that were handed over must find as many free slots at the commit as the insert was based on. */
  needSlots(type: string, answers: readonly InsertAnswer[]): void {
    if (answers.some(({ outcome }) => outcome === 'inserted')) {
      this.slots = new Map([...this.slots, [type, this.set.handOverRoom(type)]])
    }
  }

  refusedHandOver(type: string): void {
    this.fullSlots = new Map([...this.fullSlots, [type, this.set.handOverRoom(type)]])
  }

  /** Its values; maps and sets are replaced, not changed. */
  save(): Saved {
    const { rooms, full, slots, fullSlots, changes } = this
    return { rooms, full, slots, fullSlots, changes }
  }

  restore({ changes, ...saved }: Saved): void {
    Object.assign(this, saved)
    this.changes = changes
  }
}
