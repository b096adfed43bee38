/**
 * The queue of a type: its queued jobs, its counts, who holds its unique keys, and which job is next.
 *
 * Jobs stand in a lane per concurrencyKey, those without one in a lane of their own. Lanes that have a job to give stand
 * in a heap; a lane at its cap is set aside, so that a claim never looks at jobs it may not take.
 */
import { Heap } from '../../core/heap.ts'
import { clockAfter, finishOf } from '../../core/shares.ts'
import type { Demand, NewJob } from '../../store.ts'
import { PriorityQueue, type QueueItem } from './priority-queue.ts'
import { readyPhase, heldPhases, noCounts, tally } from './phases.ts'
import { RateWindow } from './rate.ts'
import { Terms } from './terms.ts'

/** A job as its queue needs it. */
export interface QueuedJob<T> extends QueueItem<T> {
  readonly key: string | null
  readonly concurrencyKey: string | null
  readonly keyWeight: number
}

/** A live job that has given up its unique key, and what may go on when it has ended. */
interface Predecessor<T> {
  readonly row: T
  /** The holder of the key, if it waits for that end, and when it is due itself. */
  next: { readonly row: T; readonly dueAt: number } | null
}

class KeyGroup<T extends QueuedJob<T>> extends PriorityQueue<T> {
  heapIndex = -1
  readonly key: string | null
  /** Jobs of the key in the hands of workers; not counted for those without one, who have no cap. */
  held = 0
  /** On the virtual clock of the queue, see `core/shares.ts`. `finish` is 0 while the keys do not share by weight. */
  start = 0
  finish = 0

  constructor(key: string | null) {
    super()
    this.key = key
  }
}

function goesFirst<T extends QueuedJob<T>>(a: KeyGroup<T>, b: KeyGroup<T>): boolean {
  const left = a.first
  const right = b.first
  if (left === null || right === null) throw new TypeError('a lane without jobs has no order')
  if (a.finish !== b.finish) return a.finish < b.finish
  return left.priority === right.priority ? left.place < right.place : left.priority > right.priority
}

export class Queue<T extends QueuedJob<T>> {
  readonly type: string
  /** Jobs by the index of their phase. */
  readonly counts = noCounts()
  paused = false
  /** Was a claim answered `capped` since the last hint? */
  capped = false
  /** Is it in a list of hints to be sent? */
  hinted = false
  private readonly plain = new KeyGroup<T>(null)
  private readonly keyGroups = new Map<string, KeyGroup<T>>()
  private readonly open = new Heap<KeyGroup<T>>(goesFirst)
  private perKey = Infinity
  /** Do the keys share the claims by weight, and where is the virtual clock of that? */
  private shared = false
  private clock = 0
  private holders: Map<string, T> | null = null
  private predecessors: Map<string, Predecessor<T>> | null = null
  private window: RateWindow | null = null
  private terms: Terms | null = null

  constructor(type: string) {
    this.type = type
  }

  get queued(): number {
    return this.counts[readyPhase.index] as number
  }

  get leasedCount(): number {
    return tally(this.counts, heldPhases)
  }

  get rate(): RateWindow {
    return (this.window ??= new RateWindow())
  }

  /** The terms of a new job: those of the last one, if it was asked for alike. */
  termsOf(job: NewJob): Terms {
    if (this.terms === null || !this.terms.fit(job)) this.terms = new Terms(job)
    return this.terms
  }

  /** The next job to claim, if there is one under the caps of its key. */
  next({ limits: { perKey }, keyShares }: Pick<Demand, 'limits' | 'keyShares'>): T | null {
    const cap = perKey ?? Infinity
    if (cap !== this.perKey || (keyShares === true) !== this.shared) {
      this.perKey = cap
      this.shared = keyShares === true
      this.arrange(this.plain)
      for (const lane of this.keyGroups.values()) this.arrange(lane)
    }
    return this.open.peek()?.first ?? null
  }

  /** The job that came `next` is about to be claimed: its key has had its turn. */
  charge(row: T): void {
    if (!this.shared) return
    const lane = this.keyGroup(row)
    lane.start = this.clock = clockAfter(this.clock, lane.finish)
  }

  add(row: T): void {
    const lane = this.keyGroup(row)
    if (lane.first === null) lane.start = this.clock
    lane.add(row)
    if (lane.first === row) this.arrange(lane)
  }

  remove(row: T): void {
    const lane = this.keyGroup(row)
    lane.remove(row)
    this.arrange(lane)
  }

  hold(row: T): void {
    if (row.concurrencyKey === null) return
    const lane = this.keyGroup(row)
    lane.held++
    this.arrange(lane)
  }

  release(row: T): void {
    if (row.concurrencyKey === null) return
    const lane = this.keyGroup(row)
    lane.held--
    this.arrange(lane)
  }

  /** Who holds a unique key. */
  holder(key: string): T | undefined {
    return this.holders?.get(key)
  }

  takeKey(row: T): void {
    if (row.key !== null) (this.holders ??= new Map<string, T>()).set(row.key, row)
  }

  /** Frees the key of a row, unless another one has taken it over. */
  freeKey(row: T): void {
    if (row.key === null || this.holders?.get(row.key) !== row) return
    this.holders.delete(row.key)
    const leaving = this.predecessors?.get(row.key)
    if (leaving?.next?.row === row) leaving.next = null
  }

  /** Takes the key from a live row; whoever takes the key now must wait for the end of that row. */
  giveUpKey(row: T): void {
    if (row.key === null || this.holders?.get(row.key) !== row) return
    this.holders.delete(row.key)
    ;(this.predecessors ??= new Map<string, Predecessor<T>>()).set(row.key, { row, next: null })
  }

  /** Is a job live that has given up the key? */
  hasPredecessor(key: string): boolean {
    return this.predecessors?.has(key) === true
  }

  /** The holder of its key waits for the end of the one that is leaving. */
  awaitPredecessor(row: T, dueAt: number): void {
    const leaving = row.key === null ? undefined : this.predecessors?.get(row.key)
    if (leaving !== undefined) leaving.next = { row, dueAt }
  }

  /** A row has ended. What has waited for that, if anything has, and when it is due itself. */
  predecessorEnded(row: T): Predecessor<T>['next'] {
    const leaving = row.key === null ? undefined : this.predecessors?.get(row.key)
    if (leaving?.row !== row) return null
    this.predecessors?.delete(leaving.row.key as string)
    return leaving.next
  }

  private keyGroup(row: T): KeyGroup<T> {
    const key = row.concurrencyKey
    if (key === null) return this.plain
    let lane = this.keyGroups.get(key)
    if (lane === undefined) {
      lane = new KeyGroup<T>(key)
      this.keyGroups.set(key, lane)
    }
    return lane
  }

  /** Puts a lane where it belongs after any change to it: into the heap, aside, or away. */
  private arrange(lane: KeyGroup<T>): void {
    const { first, key } = lane
    if (first !== null) lane.finish = this.shared ? finishOf(lane.start, first.keyWeight) : 0
    if (first === null || lane.held >= this.perKey) this.open.remove(lane)
    else if (lane.heapIndex < 0) this.open.push(lane)
    else if (this.open.size > 1) this.open.update(lane)
    if (key !== null && first === null && lane.held === 0) this.keyGroups.delete(key)
  }
}
