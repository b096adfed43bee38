/**
 * Claims by the core: which jobs of a type are claimed under its pause, caps, rates and shares, and why there are fewer
 * than asked for. What was claimed of a type with limits is kept in a small value of it (`claims`), on which each such
 * claim depends: so two claims at once do not both take the last free place.
 */
import { claimJob, claimRoom, shortfallOf, type ClaimSource } from '../../core/claim.ts'
import type { Changes } from '../../core/changes.ts'
import type { JobRow } from '../../core/job-row.ts'
import { demandUnder, termsAfter, type HeldTerms } from '../../core/key-terms.ts'
import { isLeased, statesTagged } from '../../core/lifecycle.ts'
import { clockAfter, finishOf, startAfter } from '../../core/shares.ts'
import type { ClaimAnswer, ClaimedJob, ClaimRequest, Demand, RateLimit, Shortfall } from '../../store.ts'
import { encodeRow, movedAt, numberedDocument, recordOfDocument, type JobDocument } from './document.ts'
import { NotLoaded, type HeadsNeed, type Need } from './needs.ts'
import { claimedOf } from './record.ts'
import type { Transaction } from './transaction.ts'
import { byTurn, type QueuedJob, type QueueGroup, type WorkingSet } from './working-set.ts'

/** What is kept of the claims of a type. */
interface ClaimBook {
  readonly terms: HeldTerms | null
  /** Times of claims under a rate limit of the type, and under one per key. */
  readonly times: readonly number[]
  readonly keyTimes: Readonly<Record<string, readonly number[]>>
  /** See `core/shares.ts`: the virtual clock, and the starts of keys. */
  readonly clock: number
  readonly starts: Readonly<Record<string, number>>
  /** How many claims have been written here: each differs from the one before. */
  readonly claims: number
}

const noBook: ClaimBook = { terms: null, times: [], keyTimes: {}, clock: 0, starts: {}, claims: 0 }

/** What is kept of the claims of a type under no limit but that of the type, as text: it begins with this. */
export const countedClaims = JSON.stringify(noBook).slice(0, -'0}'.length)

/** What a claim needs, as far as it is known beforehand. */
export const claimNeeds = ({ demand }: ClaimRequest): Need[] =>
  demand.flatMap((each): Need[] => [
    { kind: 'cell', cells: 'claims', field: each.type },
    { kind: 'cell', cells: 'paused', field: each.type },
    headsNeed(each),
  ])

/** Under shares or rates of keys the next job is of any key. */
function headsNeed({ type, max, keyShares, limits }: Demand): HeadsNeed {
  const isOfAny = keyShares === true || limits.keyRate !== undefined
  const told = isOfAny ? ({ told: 'keys' } as const) : ({ told: 'first', perKey: limits.perKey } as const)
  return { kind: 'heads', type, limit: max, ...told }
}

export function claimAll(transaction: Transaction, request: ClaimRequest): ClaimAnswer {
  // All that is needed of all types is loaded together: first what claims depend on, then what they choose from.
  const books = transaction.each(request.demand, ({ type }) => bookOf(transaction, type), rethrow)
  const missing = new Set<string>()
  for (;;) {
    const queues = transaction.each(
      request.demand,
      (demand) =>
        new GroupedQueue(transaction, demand, books[request.demand.indexOf(demand)] ?? noBook, request, missing),
      rethrow,
    )
    const ids = queues.flatMap(({ chosen }) => chosen)
    const rows = transaction.source.findAll(ids)
    forgetClaimed(transaction, request, rows)
    if (rows.length === ids.length) return claimChosen(transaction, request, queues, rows)
    // An index has named jobs that are not there: others are chosen.
    const there = new Set(rows.map(({ id }) => id))
    for (const id of ids) if (!there.has(id)) missing.add(id)
  }
}

function claimChosen(
  transaction: Transaction,
  request: ClaimRequest,
  queues: readonly GroupedQueue[],
  rows: readonly JobRow[],
): ClaimAnswer {
  let next = 0
  const shortfalls: Shortfall[] = []
  const jobs = queues.flatMap((queue) => {
    const own = rows.slice(next, (next += queue.chosen.length))
    const claimed = own.map((row) => claimRow(transaction, row, queue.demand, request))
    queue.save()
    if (claimed.length < queue.demand.max) shortfalls.push(shortfallOf(queue.demand, queue))
    return claimed
  })
  return { jobs, shortfalls }
}

/**
 * A job that others have claimed after the heads were read hides those behind it: there would be too few, and no reason
 * for it. Heads and such jobs are loaded anew.
 */
function forgetClaimed({ set }: Transaction, { demand }: ClaimRequest, rows: readonly JobRow[]): void {
  const claimed = rows.filter(({ state }) => state !== 'queued')
  if (claimed.length === 0) return
  set.forget(claimed.map(({ id }) => `row ${id}`))
  throw new NotLoaded(demand.map(headsNeed))
}

function rethrow(error: { readonly message: string }): never {
  throw new TypeError(error.message)
}

function bookOf(transaction: Transaction, type: string): ClaimBook {
  const text = transaction.cell('claims', type)
  return text === null ? noBook : (JSON.parse(text) as ClaimBook)
}

const keyOf = (key: string | null): string => (key === null ? '' : `=${key}`)

/** The free claims of a window of time. A clock that was set back counts later claims as claims now. */
const within = (times: readonly number[], { perMs }: RateLimit, now: number): number[] =>
  times.map((at) => Math.min(at, now)).filter((at) => at > now - perMs)

const freeAtOf = (times: readonly number[], { limit, perMs }: RateLimit, now: number): number =>
  (times.at(-limit) ?? now) + perMs

/** A group as it is while jobs are chosen of it. */
interface Group extends Omit<QueueGroup, 'first'> {
  readonly first: QueuedJob[]
  queued: number
  leased: number
}

const leasedOf = (set: WorkingSet, type: string): number =>
  [...statesTagged('leased')].reduce((sum, state) => sum + set.count(`${state}:${type}`), 0)

/** Jobs of a type whose leases have ended in this transaction, which what was loaded does not know. */
const endedOf = (changes: Changes<JobRow>, type: string): readonly JobRow[] =>
  changes.rows.filter(({ type: own, state, change }) => {
    const before = change?.state ?? null
    return own === type && before !== null && isLeased(before) && !isLeased(state)
  })

/** How many of each concurrency key. */
function countedByKey(rows: readonly JobRow[]): ReadonlyMap<string | null, number> {
  const counts = new Map<string | null, number>()
  for (const { concurrencyKey } of rows) counts.set(concurrencyKey, (counts.get(concurrencyKey) ?? 0) + 1)
  return counts
}

class GroupedQueue implements ClaimSource {
  readonly queue: { readonly paused: boolean; queued: number; leasedCount: number; capped: boolean }
  readonly demand: Demand
  private readonly transaction: Transaction
  private readonly book: ClaimBook
  private readonly terms: HeldTerms | null
  private readonly now: number
  private readonly groups: readonly Group[]
  /** See `QueueHeads`. */
  private readonly upto: QueuedJob | null
  private times: number[]
  private readonly keyTimes: Map<string, readonly number[]>
  private clock: number
  private readonly starts: Map<string, number>
  /** The ids of the jobs that are claimed, in their order. */
  readonly chosen: readonly string[]

  /**
   * @param missing jobs that are not there
   * @throws NotLoaded
   */
  constructor(
    transaction: Transaction,
    own: Demand,
    book: ClaimBook,
    { startedAt }: ClaimRequest,
    missing: ReadonlySet<string>,
  ) {
    const { set, now, source, changes } = transaction
    const { type } = own
    const paused = source.isPaused(type)
    this.transaction = transaction
    this.book = book
    this.now = now
    this.terms = paused ? book.terms : termsAfter(book.terms, own, startedAt, now)
    this.demand = demandUnder(this.terms, own)
    const { groups, upto } = set.headsOf(headsNeed(own))
    this.upto = upto
    // By the terms of another worker the next job may be of any key, or one of those of a key that were not told.
    const need = headsNeed(this.demand)
    const isTold = need.told === 'first' && (need.perKey ?? Infinity) <= (own.limits.perKey ?? Infinity)
    if (upto !== null && !isTold) throw this.tooFew('keys')
    const ended = endedOf(changes, type)
    const endedByKey = countedByKey(ended)
    this.groups = groups.map((group) => {
      const first = group.first.filter(({ id }) => !missing.has(id))
      const leased = group.leased - (endedByKey.get(group.key) ?? 0)
      return { ...group, first, leased, queued: group.queued - group.first.length + first.length }
    })
    // Counts are a look of their own: only a limit of the type depends on them.
    const isCounted = this.demand.limits.concurrency !== null
    const leasedCount = isCounted ? leasedOf(set, type) - ended.length : 0
    const queued = this.groups.reduce((sum, group) => sum + group.queued, 0)
    // Of such a key there may be any number more.
    const isPart = this.groups.some((group) => group.queued > group.first.length)
    this.queue = { paused, queued: isPart ? queued + own.max : queued, leasedCount, capped: false }
    const { rate, keyRate } = this.demand.limits
    this.times = rate === null ? [...book.times] : within(book.times, rate, now)
    const keyTimes = Object.entries(book.keyTimes).map(
      ([key, times]) => [key, keyRate === undefined ? times : within(times, keyRate, now)] as const,
    )
    this.keyTimes = new Map(keyTimes.filter(([, times]) => times.length > 0))
    this.clock = book.clock
    this.starts = new Map(Object.entries(book.starts))
    this.chosen = this.choose(missing.size === 0)
  }

  freeClaims({ limit }: RateLimit): number {
    return Math.max(0, limit - this.times.length)
  }

  freeAt(rate: RateLimit): number {
    return freeAtOf(this.times, rate, this.now)
  }

  hasOpenKey(): boolean {
    return this.next() !== null
  }

  keysFreeAt(): number | null {
    const { keyRate } = this.demand.limits
    const limited = this.groups.filter((group) => group.queued > 0 && !this.isCapped(group))
    if (keyRate === undefined || limited.length === 0) return null
    return Math.min(...limited.map(({ key }) => freeAtOf(this.keyTimes.get(keyOf(key)) ?? [], keyRate, this.now)))
  }

  private isCapped({ key, leased }: Group): boolean {
    const { perKey } = this.demand.limits
    return key !== null && perKey !== null && leased >= perKey
  }

  /** Do the limits of its key allow to claim a job? */
  private isOpen(group: Group): boolean {
    const { keyRate } = this.demand.limits
    if (this.isCapped(group)) return false
    return group.key === null || keyRate === undefined || this.usedOf(group) < keyRate.limit
  }

  private usedOf({ key }: Group): number {
    return this.keyTimes.get(keyOf(key))?.length ?? 0
  }

  private finish({ key, first }: Group): number {
    if (this.demand.keyShares !== true) return 0
    return finishOf(this.starts.get(keyOf(key)) ?? this.book.clock, first[0]?.keyWeight ?? 1)
  }

  /** The group of the next job. */
  private next(): Group | null {
    let best: Group | null = null
    for (const group of this.groups) {
      if (group.first.length === 0 || !this.isOpen(group)) continue
      if (best === null || this.goesFirst(group, best)) best = group
    }
    return best
  }

  private goesFirst(a: Group, b: Group): boolean {
    const [left, right] = [a.first[0] as QueuedJob, b.first[0] as QueuedJob]
    return (this.finish(a) - this.finish(b) || byTurn(left, right)) < 0
  }

  private tooFew(told: 'keys' | 'all'): NotLoaded {
    const { type, max } = this.demand
    return new NotLoaded([{ kind: 'heads', type, limit: max, told }])
  }

  /**
   * Chooses what there is room for.
   * @param mayLoad may more of a key be loaded than was told?
   */
  private choose(mayLoad: boolean): string[] {
    const { demand, upto } = this
    const ids: string[] = []
    for (let room = claimRoom(demand, this); room > 0; room--) {
      const group = this.next()
      if (upto !== null && (group === null || byTurn(group.first[0] as QueuedJob, upto) > 0)) throw this.tooFew('keys')
      if (group === null) break
      const finish = this.finish(group)
      const { id, keyWeight } = group.first.shift() as QueuedJob
      ids.push(id)
      group.queued--
      group.leased++
      this.queue.queued--
      this.queue.leasedCount++
      this.charge(group, finish, keyWeight)
      const isToldAll = upto !== null || group.first.length > 0 || group.queued === 0 || !this.isOpen(group)
      if (mayLoad && !isToldAll && ids.length < demand.max) throw this.tooFew('all')
    }
    return ids
  }

  private charge({ key }: Group, finish: number, weight: number): void {
    const { rate, keyRate } = this.demand.limits
    if (rate !== null) this.times.push(this.now)
    const name = keyOf(key)
    if (keyRate !== undefined && key !== null) this.keyTimes.set(name, [...(this.keyTimes.get(name) ?? []), this.now])
    if (this.demand.keyShares !== true) return
    this.clock = clockAfter(this.clock, finish)
    this.starts.set(name, startAfter(this.clock, finish, weight))
  }

  /** Keeps what was claimed, if claims of the type depend on it. */
  save(): void {
    const { limits, keyShares } = this.demand
    const { concurrency, perKey, rate, keyRate } = limits
    const isLimited = concurrency !== null || perKey !== null || rate !== null || keyRate !== undefined
    const isCounted = this.chosen.length > 0 && (isLimited || keyShares === true)
    if (!isCounted && this.terms === this.book.terms) return
    // A key without jobs begins anew where the clock is.
    const starts = this.groups.flatMap(({ key, queued }) => {
      const start = this.starts.get(keyOf(key)) ?? (keyShares === true ? this.book.clock : undefined)
      return queued > 0 && start !== undefined ? [[keyOf(key), start] as const] : []
    })
    const book: ClaimBook = {
      terms: this.terms,
      times: this.times,
      keyTimes: Object.fromEntries(this.keyTimes),
      clock: this.clock,
      starts: Object.fromEntries(starts),
      claims: this.book.claims + 1,
    }
    this.transaction.setCell('claims', this.demand.type, JSON.stringify(book))
  }
}

function claimRow(transaction: Transaction, row: JobRow, demand: Demand, request: ClaimRequest): ClaimedJob {
  claimJob(transaction.unit, row, demand, movedAt(encodeRow(row)), request)
  return claimedJob(transaction, encodeRow(row), row)
}

const claimedJob = (transaction: Transaction, document: JobDocument, row: JobRow): ClaimedJob => {
  const { steps, checkpoints, input, meta } = document
  const last = checkpoints.at(-1)
  return claimedOf(row, {
    input: structuredClone(input),
    steps: Object.keys(steps).length === 0 ? null : structuredClone(steps),
    checkpoint: last === undefined ? null : { number: last.number, state: structuredClone(last.state) },
    inbox: structuredClone(document.inbox),
    meta: structuredClone(meta),
    record: () => recordOfDocument(structuredClone(numberedDocument(document, transaction.base))),
  })
}
