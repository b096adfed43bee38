/** Hints for the watchers of the store: collected during a call, sent at its end. */
import type { Hint } from '../../store.ts'
import type { Queue } from './queue.ts'
import type { Row } from './row.ts'

/** What refused inserts wait for. */
interface RoomFigures {
  /** The backlog of a type; null: of all types. */
  readonly backlogOf: (type: string | null) => number
  readonly handOverRoom: (type: string) => number
}

const none: readonly never[] = []

export class Hints {
  private readonly listeners = new Set<(hint: Hint) => void>()
  private queues: Queue<Row>[] = []
  private switchedQueues: Queue<Row>[] = []
  private cancelledIds: string[] = []
  private messageIds: string[] = []
  private endedIds: string[] = []
  private dueAt: number | null = null
  private tickAt: number | null = null
  /** Bulk operations that anyone may go on with. */
  private bulkIds: string[] = []
  /** Where an insert was refused: the backlog above which there is no room yet, by type; null = of all types. */
  private readonly full = new Map<string | null, number>()
  /** How many free slots an insert has found that needed more, by type. */
  private readonly fullSlots = new Map<string, number>()

  watch(listener: (hint: Hint) => void): () => void {
    // A function of its own per call: the same listener may watch twice.
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    return () => {
      this.listeners.delete(own)
    }
  }

  ready(queue: Queue<Row>): void {
    if (this.listeners.size === 0 || queue.hinted) return
    queue.hinted = true
    this.queues.push(queue)
  }

  /** It was paused or resumed. */
  switched(queue: Queue<Row>): void {
    if (this.listeners.size > 0) this.switchedQueues.push(queue)
  }

  due(at: number): void {
    if (this.listeners.size > 0) this.dueAt = Math.min(at, this.dueAt ?? at)
  }

  /** A schedule ticks then. */
  scheduled(at: number): void {
    if (this.listeners.size > 0) this.tickAt = Math.min(at, this.tickAt ?? at)
  }

  bulk(id: string): void {
    if (this.listeners.size > 0) this.bulkIds.push(id)
  }

  cancelled(id: string): void {
    if (this.listeners.size > 0) this.cancelledIds.push(id)
  }

  messages(id: string): void {
    if (this.listeners.size > 0) this.messageIds.push(id)
  }

  ended(id: string): void {
    if (this.listeners.size > 0) this.endedIds.push(id)
  }

  /** @param type null: of all types */
  refused(type: string | null, backlog: number): void {
    this.full.set(type, backlog)
  }

  /** An insert has found too few free slots for jobs of this type. */
  refusedHandOver(type: string, free: number): void {
    this.fullSlots.set(type, free)
  }

  /** Sends the collected hints, at the end of a call: a listener may call the store. */
  send(figures: RoomFigures): void {
    const shrunk = this.full.size === 0 ? none : this.shrunk(figures)
    const freed = this.fullSlots.size === 0 ? none : this.freed(figures)
    if (this.listeners.size === 0) return
    const { queues, cancelledIds, messageIds: mailIds, endedIds, dueAt, tickAt, switchedQueues, bulkIds } = this
    this.dueAt = this.tickAt = null
    if (queues.length > 0) this.queues = []
    if (switchedQueues.length > 0) this.switchedQueues = []
    if (cancelledIds.length > 0) this.cancelledIds = []
    if (mailIds.length > 0) this.messageIds = []
    if (endedIds.length > 0) this.endedIds = []
    if (bulkIds.length > 0) this.bulkIds = []
    for (const queue of queues) queue.hinted = false
    for (const { type, paused } of switchedQueues) this.notify({ kind: 'queue', type, paused })
    if (cancelledIds.length > 0) this.notify({ kind: 'cancelled', ids: cancelledIds })
    if (mailIds.length > 0) this.notify({ kind: 'messages', ids: mailIds })
    for (const queue of queues) {
      if (!queue.paused && queue.queued > 0) this.notify({ kind: 'ready', type: queue.type, atMost: queue.queued })
    }
    if (dueAt !== null) this.notify({ kind: 'due', at: dueAt })
    if (tickAt !== null) this.notify({ kind: 'schedule', at: tickAt })
    for (const id of bulkIds) this.notify({ kind: 'bulk', id })
    for (const type of shrunk) this.notify(type === null ? { kind: 'room' } : { kind: 'room', type })
    for (const type of freed) this.notify({ kind: 'room', type })
    if (endedIds.length > 0) this.notify({ kind: 'ended', ids: endedIds })
  }

  private freed({ handOverRoom }: RoomFigures): string[] {
    const freed: string[] = []
    for (const [type, before] of this.fullSlots) {
      const now = handOverRoom(type)
      if (now <= before) this.fullSlots.set(type, now)
      else {
        this.fullSlots.delete(type)
        freed.push(type)
      }
    }
    return freed
  }

  private shrunk({ backlogOf: backlog }: RoomFigures): (string | null)[] {
    const shrunk: (string | null)[] = []
    for (const [type, before] of this.full) {
      const now = backlog(type)
      if (now >= before) this.full.set(type, now)
      else {
        this.full.delete(type)
        shrunk.push(type)
      }
    }
    return shrunk
  }

  private notify(hint: Hint): void {
    for (const listener of this.listeners) listener(hint)
  }
}
