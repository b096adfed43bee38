/**
 * Lanes: one per concurrency key of a type, with how many of its jobs are held and which of its queued ones is first. A
 * claim under a cap per key looks at the first of each open lane, and never at the jobs behind a key that is at its cap.
 *
 * Where keys share the claims by weight (`core/shares.ts`) a lane also has its start and its finish, and the jobs without a
 * key have a lane of their own, which no cap holds for.
 */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import { limits } from '../../core/limits.ts'
import { clockAfter, finishOf } from '../../core/shares.ts'
import type { Demand } from '../../store.ts'
import { KeyRates } from './key-rates.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import { keyWeightOf, type Row } from './row.ts'
import type { Rows } from './rows.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'

const held = statesTagged('leased')

/** The key of the lane of jobs without one: longer than any key that a job may have. */
export const keyless = '-'.repeat(limits.keyCharsMax + 1)

/** What its lane needs of a job. */
type LaneJob = Pick<Row, 'concurrencyKey' | 'priority' | 'place' | 'keyWeight'>

const laneOf = ({ concurrencyKey }: Pick<LaneJob, 'concurrencyKey'>): string => concurrencyKey ?? keyless

type Head = [priority: number, place: number]

/** `finish` is null where keys do not share by weight. */
interface FirstJob {
  readonly head: Head
  readonly finish: number | null
}

interface Lane {
  readonly held: number
  readonly first: FirstJob | null
  readonly start: number | null
}

/** Does the first stand before the second? */
export const before = (priority: number, place: number, other: Head): boolean =>
  priority > other[0] || (priority === other[0] && place < other[1])

export class KeyGroups {
  private readonly sql: Statements
  private readonly rows: Rows
  private readonly queues: Queues
  private readonly rates: KeyRates

  constructor(sql: Statements, rows: Rows, queues: Queues) {
    this.sql = sql
    this.rows = rows
    this.queues = queues
    this.rates = new KeyRates(sql, queues)
  }

  /** A job has come to the queue. */
  arrive(queue: Queue, row: LaneJob): void {
    const lane = this.read(queue, laneOf(row))
    if (lane.first === null || before(row.priority, row.place, lane.first.head)) {
      this.write(queue, laneOf(row), withFirst(queue, lane, row))
    }
  }

  /** A job has moved. */
  moved(queue: Queue, row: Row, from: JobState): void {
    const change = row.concurrencyKey === null ? 0 : Number(held.has(row.state)) - Number(held.has(from))
    const arrives = row.state === claimable
    if (change === 0 && !arrives && from !== claimable) return
    const key = laneOf(row)
    const lane = this.read(queue, key)
    let next = lane
    if (arrives && (lane.first === null || before(row.priority, row.place, lane.first.head))) {
      next = withFirst(queue, lane, row)
    }
    if (from === claimable && lane.first?.head[1] === row.place) next = this.withHead(queue, key, lane)
    this.write(queue, key, { ...next, held: lane.held + change })
  }

  /** Makes the lanes ready for a claim. */
  begin(queue: Queue, { limits: { keyRate }, keyShares }: Demand, now: number): void {
    if (keyShares === true && queue.clock === null) this.beginShares(queue)
    if (keyRate !== undefined || queue.keyRate !== null) this.rates.refresh(queue, keyRate, now)
  }

  /** The next job to claim among those whose key has fewer than `perKey` held, and a free claim. */
  first(queue: Queue, demand: Demand, now: number): Row | undefined {
    this.rows.write()
    const { keyRate } = demand.limits
    for (;;) {
      const key = this.firstLane(queue, demand)
      if (key === undefined) return undefined
      const isFree = keyRate === undefined || key === keyless || this.rates.isFree(queue, key, keyRate, now)
      if (isFree) return this.firstOf(queue, key)
    }
  }

  /** The first queued job of a queue that has keys, whatever its key. */
  firstOfAll(queue: Queue): Row | undefined {
    this.rows.write()
    const [key] = this.sql.get('firstOfLanes', queue.number) ?? []
    return key === undefined ? undefined : this.firstOf(queue, key)
  }

  /** The first queued job of a key. */
  private firstOf(queue: Queue, key: string): Row | undefined {
    if (key === keyless) return this.rows.ready(queue, 1)[0]
    const values = this.sql.get('readyOfKey', queue.number, key)
    return values === undefined ? undefined : this.rows.from(values)
  }

  /** When the first key that only its rate keeps back may be claimed from; null if there is none. */
  limitedUntil(queue: Queue, { limits: { perKey, keyRate } }: Demand): number | null {
    return keyRate === undefined ? null : this.rates.limitedUntil(queue, perKey ?? Infinity)
  }

  /** The key of the lane that goes first among those that have fewer than `perKey` held and are not set aside. */
  private firstLane(queue: Queue, { limits: { perKey }, keyShares }: Demand): string | undefined {
    const cap = perKey ?? Infinity
    const byShare = keyShares === true
    let best: [key: string, priority: number, place: number, finish?: number] | undefined
    for (let count = this.nextHeld(queue, 0); count !== null && count < cap; count = this.nextHeld(queue, count + 1)) {
      const lane = this.sql.get(byShare ? 'firstShare' : 'firstLane', queue.number, count)
      if (lane !== undefined && (best === undefined || goesFirst(lane, best))) best = lane
    }
    return best?.[0]
  }

  /** From here on the keys of the queue share the claims by weight. */
  private beginShares(queue: Queue): void {
    this.queues.setClock(queue, 0)
    for (const [key, count] of this.sql.all('lanes', queue.number)) {
      this.write(queue, key, this.withHead(queue, key, { held: count, first: null, start: 0 }))
    }
    this.write(queue, keyless, this.withHead(queue, keyless, { held: 0, first: null, start: 0 }))
  }

  /** The job that came `first` is about to be claimed: its key has had its turn. */
  charge(queue: Queue, row: Row, { limits: { keyRate }, keyShares }: Demand, now: number): void {
    if (keyRate !== undefined && row.concurrencyKey !== null) this.rates.spend(queue, row.concurrencyKey, keyRate, now)
    if (keyShares !== true) return
    const { first } = this.read(queue, laneOf(row))
    const clock = clockAfter(queue.clock ?? 0, first?.finish ?? 0)
    this.queues.setClock(queue, clock)
    this.sql.run('startLane', clock, queue.number, laneOf(row))
  }

  private nextHeld(queue: Queue, from: number): number | null {
    return this.sql.get('nextHeld', queue.number, from)?.[0] ?? null
  }

  /** The lane as it is with its first job read anew. */
  private withHead(queue: Queue, key: string, lane: Lane): Lane {
    this.rows.write()
    if (queue.clock === null) {
      const head = this.sql.get('headOfLane', queue.number, key)
      return { ...lane, first: head === undefined ? null : { head, finish: null } }
    }
    const found =
      key === keyless ? this.sql.get('headOfKeyless', queue.number) : this.sql.get('headOfShare', queue.number, key)
    if (found === undefined) return { ...lane, first: null }
    const [priority, place, options] = found
    return { ...lane, first: { head: [priority, place], finish: finishOf(lane.start ?? 0, keyWeightOf(options)) } }
  }

  private read(queue: Queue, key: string): Lane {
    const lane = this.sql.get('lane', queue.number, key)
    if (lane === undefined) return { held: 0, first: null, start: null }
    const [count, priority, place, start, finish] = lane
    return {
      held: count,
      first: priority === null || place === null ? null : { head: [priority, place], finish },
      start,
    }
  }

  private write(queue: Queue, key: string, { held: count, first, start }: Lane): void {
    if (count === 0 && first === null) return this.sql.run('removeLane', queue.number, key)
    const priority = first === null ? null : first.head[0]
    const place = first === null ? null : first.head[1]
    // Of other queues start and finish are null, and there is nothing to write to the index by finish.
    if (queue.clock === null) this.sql.run('writeLane', queue.number, key, count, priority, place)
    else this.sql.run('writeSharingLane', queue.number, key, count, priority, place, start, first?.finish ?? null)
  }
}

/** The lane with this job as its first. */
function withFirst(queue: Queue, lane: Lane, { priority, place, keyWeight }: LaneJob): Lane {
  if (queue.clock === null) return { ...lane, first: { head: [priority, place], finish: null } }
  const start = lane.first === null ? queue.clock : (lane.start ?? queue.clock)
  return { ...lane, start, first: { head: [priority, place], finish: finishOf(start, keyWeight) } }
}

/** Lanes by finish, if they have one, then by their first job. */
function goesFirst(
  [, priority, place, finish = 0]: readonly [key: string, priority: number, place: number, finish?: number],
  [, otherPriority, otherPlace, otherFinish = 0]: readonly [
    key: string,
    priority: number,
    place: number,
    finish?: number,
  ],
): boolean {
  return finish === otherFinish ? before(priority, place, [otherPriority, otherPlace]) : finish < otherFinish
}
