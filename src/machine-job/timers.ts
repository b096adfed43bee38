/**
 * The timers of a machine and its children: what XState would set on a clock is kept as data with an absolute deadline,
 * goes into each checkpoint, and is delivered when its time has come, in whichever process the machine lives then.
 */
import type { AnyActorRef, EventObject } from 'xstate'

/** A delayed event, as a checkpoint keeps it. Actors are named by their path from the root. */
export interface TimerRecord {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly event: EventObject
  /** ms since the epoch. */
  readonly at: number
}

/** The path of an actor from its root: '' of the root itself, 'child/grandchild' below. */
export function pathOf(actor: AnyActorRef): string {
  const names: string[] = []
  // oxlint-disable-next-line no-underscore-dangle -- typed and documented by XState, which has no other word for it
  for (let each = actor; each._parent !== undefined; each = each._parent) names.unshift(nameInPath(each.id))
  return names.join('/')
}

/** An id as part of a path. */
export const nameInPath = (id: string): string => id.replaceAll('%', '%25').replaceAll('/', '%2F')

/** Takes the place of an actor system's scheduler. */
export class DurableTimers {
  private readonly timers = new Map<string, TimerRecord>()
  private readonly now: () => number
  private readonly changed: () => void
  private unnamed = 0

  /** @param changed is called when a timer was set or cancelled */
  constructor(now: () => number, changed: () => void) {
    this.now = now
    this.changed = changed
  }

  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, delayMs: number, id?: string): void {
    const path = pathOf(source)
    this.add({ id: id ?? this.freshId(path), source: path, target: pathOf(target), event, at: this.now() + delayMs })
    this.changed()
  }

  cancel(source: AnyActorRef, id: string): void {
    if (this.timers.delete(keyOf(pathOf(source), id))) this.changed()
  }

  cancelAll(source: AnyActorRef): void {
    const path = pathOf(source)
    for (const [key, timer] of this.timers) {
      if (timer.source === path) {
        this.timers.delete(key)
        this.changed()
      }
    }
  }

  /** Sets again what a checkpoint has kept. */
  restore(records: readonly TimerRecord[]): void {
    for (const record of records) this.add(record)
  }

  /** All of them, the earliest first. */
  list(): TimerRecord[] {
    return [...this.timers.values()].toSorted((a, b) => a.at - b.at)
  }

  /** When the next one is due, ms since the epoch; null for none. */
  get nextAt(): number | null {
    return this.list()[0]?.at ?? null
  }

  /** Takes a timer that is still set. */
  take(timer: TimerRecord): boolean {
    const key = keyOf(timer.source, timer.id)
    if (this.timers.get(key) !== timer) return false
    this.timers.delete(key)
    this.changed()
    return true
  }

  private add(record: TimerRecord): void {
    this.timers.set(keyOf(record.source, record.id), record)
  }

  private freshId(path: string): string {
    let id: string
    do id = `#${++this.unnamed}`
    while (this.timers.has(keyOf(path, id)))
    return id
  }
}

const keyOf = (source: string, id: string): string => `${source}\n${id}`
