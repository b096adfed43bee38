/**
 * The queue of a type: its queued jobs, its counts, the holders of its unique keys, and the next job to claim.
 *
 * Jobs are grouped by their concurrencyKey; those without one form a group of their own. A heap holds the groups from
 * which a job may be claimed; a group at its cap is not in it, so that a claim never looks at jobs that it may not
 * claim.
 */
import { Heap, type HeapItem } from '../../core/heap.ts'
import { Terms, type JobToInsert } from '../../core/job-row.ts'
import type { HeldTerms } from '../../core/key-terms.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import { clockAfter, finishOf, startAfter } from '../../core/shares.ts'
import type { Demand, QueueChange, RateLimit } from '../../store.ts'
import type { LinkedList, LinkedItem } from './linked-list.ts'
import { PriorityQueue, type QueueItem } from './priority-queue.ts'
import { leasedPhases, noCounts, readyPhase, tally } from './phases.ts'
import { FailureGroups } from './failure-groups.ts'
import { Heat } from './heat.ts'
import { RateWindow } from './rate.ts'
import { Series } from './series.ts'

/** The properties of a job that its queue depends on. */
export interface QueuedJob<T> extends QueueItem<T>, LinkedItem<T> {
  readonly key: string | null
  readonly holdsKey: boolean
  readonly concurrencyKey: string | null
  readonly keyWeight: number
}

class KeyGroup<T extends QueuedJob<T>> extends PriorityQueue<T> {
  heapIndex = -1
  readonly key: string | null
  /** Leased jobs of the key; not counted for jobs without a key, which have no cap. */
  leasedCount = 0
  /** null while keys neither share by weight nor have a rate limit, and this one was not at its cap. */
  account: KeyAccount<T> | null = null

  constructor(key: string | null) {
    super()
    this.key = key
  }
}

/**
 * What a key has used: its place on the virtual clock (`core/shares.ts`), and its claims under a rate limit per key.
 */
class KeyAccount<T extends QueuedJob<T>> implements HeapItem {
  readonly group: KeyGroup<T>
  /** Its index among the groups that the open ones do not tell the first job of. */
  heapIndex = -1
  start = 0
  /** 0 while the keys do not share by weight. */
  finish = 0
  /** null until the first claim under a rate limit per key. */
  window: RateWindow | null = null
  /** When the key may be claimed from again, if it was found without a free claim. */
  limitedUntil: number | null = null
  /** When its last claim leaves the window. */
  lapsesAt = 0
  /** The heap that the group is in, once there is a window. */
  heap: Heap<KeyGroup<T>> | null = null

  constructor(group: KeyGroup<T>) {
    this.group = group
  }
}

function goesFirst<T extends QueuedJob<T>>(a: KeyGroup<T>, b: KeyGroup<T>): boolean {
  const left = firstOf(a)
  const right = firstOf(b)
  const finish = a.account === null ? 0 : a.account.finish
  const otherFinish = b.account === null ? 0 : b.account.finish
  if (finish !== otherFinish) return finish < otherFinish
  return isBefore(left, right)
}

function firstOf<T extends QueuedJob<T>>({ first }: KeyGroup<T>): T {
  if (first === null) throw new TypeError('a group without jobs has no order')
  return first
}

const isBefore = <T>(a: QueueItem<T>, b: QueueItem<T>): boolean =>
  a.priority === b.priority ? a.place < b.place : a.priority > b.priority

const limitedUntilOf = <T extends QueuedJob<T>>({ account }: KeyGroup<T>): number => account?.limitedUntil ?? 0
const lapsesAtOf = <T extends QueuedJob<T>>({ account }: KeyGroup<T>): number => account?.lapsesAt ?? 0

export class Queue<T extends QueuedJob<T>> implements HeapItem {
  readonly type: string
  /**
   * Its ended jobs by the index of their phase, in the order of their end; absent for phases that no job has entered.
   */
  readonly ended: LinkedList<T>[] = []
  /** When they are looked at to remove some, ms since the epoch; Infinity = not before something changes. */
  lookAt = Infinity
  heapIndex = -1
  /** Jobs by the index of their phase. */
  readonly counts = noCounts()
  /** Its jobs by the states, tags and ends of their machines. */
  readonly machineTally = new MachineTally()
  readonly activity = new Series()
  readonly failures = new FailureGroups()
  readonly heat = new Heat()
  paused = false
  /** The limits per key that hold for all claims; null if none had any. */
  keyTerms: HeldTerms | null = null
  /** Was a claim answered with `capped` since the last hint? */
  capped = false
  /** Is a hint of it already in the list to be sent? */
  hinted = false
  private readonly plain = new KeyGroup<T>(null)
  private readonly keyGroups = new Map<string, KeyGroup<T>>()
  private readonly open = new Heap<KeyGroup<T>>(goesFirst)
  /**
   * Groups with queued jobs that `open` does not hold by their first jobs: those that may not be claimed from, and all
   * while the keys share by weight. Most groups are in `open`, and take no memory for this.
   */
  private readonly aside = new Heap<KeyAccount<T>>((a, b) => isBefore(firstOf(a.group), firstOf(b.group)))
  /** Groups whose keys have no free claim, the first to have one first. */
  private readonly limited = new Heap<KeyGroup<T>>((a, b) => limitedUntilOf(a) < limitedUntilOf(b))
  /** Groups without jobs that are kept for the claims of their keys, the first that may go first. */
  private readonly idle = new Heap<KeyGroup<T>>((a, b) => lapsesAtOf(a) < lapsesAtOf(b))
  private keyRate: RateLimit | undefined = undefined
  private ratedAt = 0
  private perKey = Infinity
  /** Do the keys share the claims by weight, and where is the virtual clock of that? */
  private shared = false
  private clock = 0
  private holders: Map<string, T> | null = null
  /** Live jobs that have given up their keys. */
  private predecessors: Map<string, T> | null = null
  private window: RateWindow | null = null
  private terms: Terms | null = null

  constructor(type: string) {
    this.type = type
  }

  get queued(): number {
    return this.counts[readyPhase.index] as number
  }

  get leasedCount(): number {
    return tally(this.counts, leasedPhases)
  }

  get rate(): RateWindow {
    return (this.window ??= new RateWindow())
  }

  /** The terms of a new job: the object of the last job, if they are equal. */
  termsOf(job: JobToInsert): Terms {
    if (this.terms === null || !this.terms.fit(job)) this.terms = new Terms(job)
    return this.terms
  }

  /** The first queued job, whatever its key. */
  get first(): T | null {
    const open = this.shared ? this.plain.first : (this.open.peek()?.first ?? null)
    const aside = this.aside.peek()?.group.first ?? null
    if (open === null || aside === null) return open ?? aside
    return isBefore(aside, open) ? aside : open
  }

  /** The next job to claim, if there is one under the caps and the rate of its key. */
  next({ limits: { perKey, keyRate }, keyShares }: Pick<Demand, 'limits' | 'keyShares'>, now: number): T | null {
    const cap = perKey ?? Infinity
    if (cap !== this.perKey || (keyShares === true) !== this.shared) {
      this.perKey = cap
      this.shared = keyShares === true
      this.arrange(this.plain)
      for (const group of this.keyGroups.values()) this.arrange(group)
    }
    if (keyRate === undefined && this.keyRate === undefined) return this.open.peek()?.first ?? null
    this.refreshRates(keyRate, now)
    for (let group = this.open.peek(); group !== undefined; group = this.open.peek()) {
      const { account } = group
      const window = account?.window ?? null
      if (keyRate === undefined || account === null || window === null) return group.first
      if (window.free(keyRate, now) > 0) return group.first
      account.limitedUntil = window.freeAt(keyRate, now)
      this.arrange(group)
    }
    return null
  }

  /** When the first key that only its rate limit keeps back may be claimed from; null if there is none. */
  get limitedUntil(): number | null {
    return this.limited.peek()?.account?.limitedUntil ?? null
  }

  /** Called before the job that `next` has returned is claimed: counts the claim for its key. */
  charge(row: T, now: number): void {
    const isRated = this.keyRate !== undefined && row.concurrencyKey !== null
    if (!this.shared && !isRated) return
    const group = this.keyGroup(row)
    const account = (group.account ??= new KeyAccount(group))
    if (this.shared) {
      this.clock = clockAfter(this.clock, account.finish)
      account.start = startAfter(this.clock, account.finish, row.keyWeight)
    }
    if (this.keyRate === undefined || row.concurrencyKey === null) return
    if (account.window === null) {
      account.window = new RateWindow()
      account.heap = group.heapIndex < 0 ? null : this.open
    }
    account.window.spend(now)
    account.lapsesAt = now + this.keyRate.perMs
  }

  /**
   * Updates which keys have no free claim. All are checked again if the rate limit was changed or the clock was set
   * back.
   */
  private refreshRates(keyRate: RateLimit | undefined, now: number): void {
    const isSame = keyRate?.limit === this.keyRate?.limit && keyRate?.perMs === this.keyRate?.perMs
    if (!isSame || now < this.ratedAt) {
      for (const group of this.keyGroups.values()) {
        const { account } = group
        if (account === null || account.window === null) continue
        account.limitedUntil = null
        if (keyRate !== undefined) account.lapsesAt = Math.min(account.lapsesAt, now + keyRate.perMs)
        this.arrange(group)
      }
    }
    this.keyRate = keyRate
    this.ratedAt = now
    for (
      let group = this.limited.peek();
      group !== undefined && limitedUntilOf(group) <= now;
      group = this.limited.peek()
    ) {
      if (group.account !== null) group.account.limitedUntil = null
      this.arrange(group)
    }
    for (let group = this.idle.peek(); group !== undefined && lapsesAtOf(group) <= now; group = this.idle.peek()) {
      this.idle.remove(group)
      if (group.key !== null) this.keyGroups.delete(group.key)
    }
  }

  add(row: T): void {
    const group = this.keyGroup(row)
    if (group.first === null && this.clock > 0) (group.account ??= new KeyAccount(group)).start = this.clock
    group.add(row)
    if (group.first === row) this.arrange(group)
  }

  remove(row: T): void {
    const group = this.keyGroup(row)
    group.remove(row)
    this.arrange(group)
  }

  addLease(row: T): void {
    if (row.concurrencyKey === null) return
    const group = this.keyGroup(row)
    group.leasedCount++
    this.arrange(group)
  }

  removeLease(row: T): void {
    if (row.concurrencyKey === null) return
    const group = this.keyGroup(row)
    group.leasedCount--
    this.arrange(group)
  }

  /** @returns was it paused or resumed? */
  change({ paused }: QueueChange): boolean {
    if (paused === this.paused) return false
    this.paused = paused
    return true
  }

  /** The row that holds a unique key. */
  holder(key: string): T | undefined {
    return this.holders?.get(key)
  }

  /** A job has taken, freed or given up its key, or has ended. */
  keyMoved(row: T, was: { readonly holdsKey: boolean }, isLive: boolean): void {
    const { key, holdsKey } = row
    if (key === null) return
    if (isLive && holdsKey) (this.holders ??= new Map<string, T>()).set(key, row)
    else if (was.holdsKey && this.holders?.get(key) === row) this.holders.delete(key)
    if (isLive && !holdsKey) (this.predecessors ??= new Map<string, T>()).set(key, row)
    else if (this.predecessors?.get(key) === row) this.predecessors.delete(key)
  }

  /** Is there a live job that has given up the key? */
  hasPredecessor(key: string): boolean {
    return this.predecessors?.has(key) === true
  }

  private keyGroup(row: T): KeyGroup<T> {
    const key = row.concurrencyKey
    if (key === null) return this.plain
    let group = this.keyGroups.get(key)
    if (group === undefined) {
      group = new KeyGroup<T>(key)
      this.keyGroups.set(key, group)
    }
    return group
  }

  /** After any change to a group: adds it to the heap, moves it there, takes it out, or forgets it. */
  private arrange(group: KeyGroup<T>): void {
    const { first, key } = group
    if (first !== null && this.shared) {
      const account = (group.account ??= new KeyAccount(group))
      account.finish = finishOf(account.start, first.keyWeight)
    } else if (group.account !== null) group.account.finish = 0
    if (group.account !== null && group.account.window !== null) return this.arrangeRated(group, group.account)
    const isOpen = first !== null && group.leasedCount < this.perKey
    if (!isOpen) this.open.remove(group)
    else if (group.heapIndex < 0) this.open.push(group)
    else if (this.open.size > 1) this.open.update(group)
    this.setAside(group, isOpen)
    if (key !== null && first === null && group.leasedCount === 0) this.keyGroups.delete(key)
  }

  /** @param isOpen is it in `open`? */
  private setAside(group: KeyGroup<T>, isOpen: boolean): void {
    const isAside = group.first !== null && (this.shared || !isOpen)
    if (!isAside) {
      if (group.account !== null) this.aside.remove(group.account)
      return
    }
    const account = (group.account ??= new KeyAccount(group))
    if (account.heapIndex < 0) this.aside.push(account)
    else this.aside.update(account)
  }

  private arrangeRated(group: KeyGroup<T>, account: KeyAccount<T>): void {
    let heap: Heap<KeyGroup<T>> | null = null
    if (group.first === null) heap = group.leasedCount === 0 ? this.idle : null
    else if (group.leasedCount < this.perKey) heap = account.limitedUntil === null ? this.open : this.limited
    if (heap === account.heap) heap?.update(group)
    else {
      account.heap?.remove(group)
      heap?.push(group)
      account.heap = heap
    }
    this.setAside(group, heap === this.open)
  }
}
