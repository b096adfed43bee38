/** Hints, collected during a transaction and sent when it is committed. */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { Hint } from '../../store.ts'
import type { Queue } from './queue.ts'
import { claimable } from './state-names.ts'

const [leasedStates, endedStates] = [statesTagged('leased'), statesTagged('ended')]

export class Hints {
  private readonly ready = new Set<Queue>()
  private readonly switchedQueues = new Set<Queue>()
  private cancelled: string[] = []
  private ended: string[] = []
  /** Running jobs that have messages. */
  private readonly messages = new Set<string>()
  private dueAt: number | null = null
  private tickAt: number | null = null
  /** Bulk operations that anyone may go on with. */
  private bulkIds: string[] = []
  /** Where an insert was refused: the backlog above which there is no room yet, by type; null = of all types. */
  private readonly full = new Map<string | null, number>()
  /** How many free slots an insert has found that needed more, by type. */
  private readonly fullSlots = new Map<string, number>()
  /** The types among them that have more now. */
  private freed: string[] = []

  moved(queue: Queue, id: string, from: JobState | null, to: JobState): void {
    if (to === claimable) this.ready.add(queue)
    else if (endedStates.has(to)) this.ended.push(id)
    // A checkpoint does not change the state.
    else if (from !== null && from !== to && leasedStates.has(from) && leasedStates.has(to)) this.cancelled.push(id)
    if (queue.capped && from !== null && leasedStates.has(from) && !leasedStates.has(to)) {
      queue.capped = false
      this.ready.add(queue)
    }
  }

  due(at: number): void {
    this.dueAt = Math.min(at, this.dueAt ?? at)
  }

  /** A schedule ticks then. */
  scheduled(at: number): void {
    this.tickAt = Math.min(at, this.tickAt ?? at)
  }

  bulk(id: string): void {
    this.bulkIds.push(id)
  }

  messagesArrived(id: string): void {
    this.messages.add(id)
  }

  /** Jobs of it may be claimable. */
  look(queue: Queue): void {
    this.ready.add(queue)
  }

  /** It was paused or resumed. */
  switched(queue: Queue): void {
    this.switchedQueues.add(queue)
    this.ready.add(queue)
  }

  /** @param type null: of all types */
  refused(type: string | null, backlog: number): void {
    this.full.set(type, backlog)
  }

  /** An insert has found too few free slots for jobs of this type. */
  refusedHandOver(type: string, free: number): void {
    this.fullSlots.set(type, free)
  }

  /** At the end of a transaction: for which types are there more free slots now? */
  checkSlots(handOverRoom: (type: string) => number): void {
    for (const [type, before] of this.fullSlots) {
      const now = handOverRoom(type)
      if (now > before) this.freed.push(type)
      else this.fullSlots.set(type, now)
    }
  }

  /** Returns and removes the collected hints. */
  take(backlog: (type: string | null) => number): Hint[] {
    const hints: Hint[] = []
    if (this.cancelled.length > 0) hints.push({ kind: 'cancelled', ids: this.cancelled })
    if (this.messages.size > 0) hints.push({ kind: 'messages', ids: [...this.messages] })
    for (const { type, paused } of this.switchedQueues) hints.push({ kind: 'queue', type, paused })
    for (const queue of this.ready) {
      if (!queue.paused && queue.queued > 0) hints.push({ kind: 'ready', type: queue.type, atMost: queue.queued })
    }
    if (this.dueAt !== null) hints.push({ kind: 'due', at: this.dueAt })
    if (this.tickAt !== null) hints.push({ kind: 'schedule', at: this.tickAt })
    for (const id of this.bulkIds) hints.push({ kind: 'bulk', id })
    for (const [type, before] of this.full) {
      const now = backlog(type)
      if (now >= before) this.full.set(type, now)
      else {
        this.full.delete(type)
        hints.push(type === null ? { kind: 'room' } : { kind: 'room', type })
      }
    }
    for (const type of this.freed) {
      this.fullSlots.delete(type)
      hints.push({ kind: 'room', type })
    }
    if (this.ended.length > 0) hints.push({ kind: 'ended', ids: this.ended })
    this.forget()
    return hints
  }

  forget(): void {
    this.ready.clear()
    this.switchedQueues.clear()
    this.cancelled = []
    this.messages.clear()
    this.ended = []
    this.freed = []
    this.bulkIds = []
    this.dueAt = this.tickAt = null
  }
}
