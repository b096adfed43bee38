/**
 * Key groups: one per concurrency key of a type, with the number of its leased jobs and the first of its queued ones. A
 * claim with a limit per key reads the first job of each group that is below the limit, and never the jobs behind a key
 * that is at it.
 *
 * Where keys share the claims by weight (`core/shares.ts`) a group also has its start and its finish, and the jobs
 * without a key form a group of their own, which no limit per key applies to.
 */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import { limits } from '../../core/limits.ts'
import { clockAfter, finishOf, startAfter } from '../../core/shares.ts'
import type { Demand } from '../../store.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import { KeyRates } from './rates.ts'
import type { RowChange } from '../../core/job-row.ts'
import { noKey } from './columns.ts'
import { keyWeightOf, type Row } from './row.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'
import type { Waiting } from './waiting.ts'

const leased = statesTagged('leased')

/** The key of the group of jobs without one: longer than any key that a job may have. */
export const keyless = '-'.repeat(limits.keyCharsMax + 1)

/** The fields of a job that its group depends on. */
type GroupedJob = Pick<Row, 'concurrencyKey' | 'priority' | 'place' | 'keyWeight'>

const groupKeyOf = ({ concurrencyKey }: Pick<GroupedJob, 'concurrencyKey'>): string => concurrencyKey ?? keyless

type Head = [priority: number, place: number]

/** `finish` is null where keys do not share by weight. */
interface FirstJob {
  readonly head: Head
  readonly finish: number | null
}

type FirstGroup = [key: string, priority: number, place: number, finish?: number]

interface KeyGroup {
  readonly leasedCount: number
  readonly first: FirstJob | null
  readonly start: number | null
}

/** Does the first stand before the second? */
export const before = (priority: number, place: number, other: Head): boolean =>
  priority > other[0] || (priority === other[0] && place < other[1])

export class KeyGroups {
  private readonly sql: Statements
  private readonly queues: Queues
  private readonly waiting: Waiting
  private readonly rates: KeyRates

  constructor(sql: Statements, queues: Queues, waiting: Waiting) {
    this.sql = sql
    this.queues = queues
    this.waiting = waiting
    this.rates = new KeyRates(sql, queues)
  }

  /** A job has come, moved or gone; its row is written. @param to null: it is gone */
  moved(queue: Queue, job: GroupedJob, was: Pick<RowChange, 'state' | 'place'>, to: JobState | null): void {
    const isLeased = (state: JobState | null): number => Number(state !== null && leased.has(state))
    const change = job.concurrencyKey === null ? 0 : isLeased(to) - isLeased(was.state)
    const isHere = to === claimable
    const hasLeft = was.state === claimable && !(isHere && job.place === was.place)
    if (change === 0 && !hasLeft && !isHere) return
    const key = groupKeyOf(job)
    const group = this.read(queue, key)
    let next = group
    if (hasLeft && group.first?.head[1] === was.place) next = this.withHead(queue, key, group)
    else if (isHere && (group.first === null || before(job.priority, job.place, group.first.head))) {
      next = withFirst(queue, group, job)
    }
    if (next !== group || change !== 0) this.write(queue, key, { ...next, leasedCount: group.leasedCount + change })
  }

  /** Prepares the groups for a claim. */
  begin(queue: Queue, { limits: { keyRate }, keyShares }: Demand, now: number): void {
    if (keyShares === true && queue.clock === null) this.beginShares(queue)
    if (keyRate !== undefined || queue.keyRate !== null) this.rates.refresh(queue, keyRate, now)
  }

  /** The key of the next job to claim among those with fewer than `perKey` leased jobs, and a free claim. */
  first(queue: Queue, { limits: { perKey, keyRate }, keyShares }: Demand, now: number): string | undefined {
    const order = keyShares === true ? 'firstShare' : 'firstKeyGroup'
    for (;;) {
      const key = this.firstAmong(queue, order, perKey ?? Infinity)?.[0]
      if (key === undefined || keyRate === undefined || key === keyless) return key
      if (this.rates.isFree(queue, key, keyRate, now)) return key
    }
  }

  /** The key of the first queued job of a queue that has keys, whatever it is. */
  firstOfAll(queue: Queue): string | undefined {
    const open = this.firstAmong(queue, 'firstKeyGroup', Infinity)
    const limited = this.sql.get('firstLimitedKeyGroup', queue.number)
    const first = open === undefined || (limited !== undefined && goesFirst(limited, open)) ? limited : open
    return first?.[0]
  }

  /** When the first key that only its rate limit keeps back may be claimed from; null if there is none. */
  limitedUntil(queue: Queue, { limits: { perKey, keyRate } }: Demand): number | null {
    return keyRate === undefined ? null : this.rates.limitedUntil(queue, perKey ?? Infinity)
  }

  /**
   * The first of the groups with fewer than `cap` leased jobs that are not set aside: the first of each number, which
   * an index gives.
   */
  private firstAmong(queue: Queue, order: 'firstShare' | 'firstKeyGroup', cap: number): FirstGroup | undefined {
    let best: FirstGroup | undefined
    for (
      let count = this.nextLeasedCount(queue, 0);
      count !== null && count < cap;
      count = this.nextLeasedCount(queue, count + 1)
    ) {
      const group = this.sql.get(order, queue.number, count)
      if (group !== undefined && (best === undefined || goesFirst(group, best))) best = group
    }
    return best
  }

  /** From now on the keys of the queue share the claims by weight. */
  private beginShares(queue: Queue): void {
    this.waiting.removeTaken(queue)
    this.queues.changing(queue).clock = 0
    for (const [key, leasedCount] of this.sql.all('keyGroups', queue.number)) {
      this.write(queue, key, this.withHead(queue, key, { leasedCount, first: null, start: 0 }))
    }
    this.write(queue, keyless, this.withHead(queue, keyless, { leasedCount: 0, first: null, start: 0 }))
  }

  /** Called before the job that `first` has returned is claimed: counts the claim for its key. */
  charge(queue: Queue, row: Row, { limits: { keyRate }, keyShares }: Demand, now: number): void {
    if (keyRate !== undefined && row.concurrencyKey !== null) this.rates.spend(queue, row.concurrencyKey, keyRate, now)
    if (keyShares !== true) return
    const { first } = this.read(queue, groupKeyOf(row))
    const finish = first?.finish ?? 0
    const clock = clockAfter(queue.clock ?? 0, finish)
    this.queues.changing(queue).clock = clock
    this.sql.run('startKeyGroup', startAfter(clock, finish, row.keyWeight), queue.number, groupKeyOf(row))
  }

  /** Writes a group from its jobs. Where the keys share the claims, it goes on from where it was. */
  rebuild(queue: Queue, key: string, leasedCount: number): void {
    const { start } = this.read(queue, key)
    this.write(queue, key, this.withHead(queue, key, { leasedCount, first: null, start: start ?? queue.clock }))
  }

  private nextLeasedCount(queue: Queue, from: number): number | null {
    return this.sql.get('nextLeasedCount', queue.number, from)?.[0] ?? null
  }

  /** The group with its first job read again. */
  private withHead(queue: Queue, key: string, group: KeyGroup): KeyGroup {
    if (queue.clock === null) {
      const head = this.sql.get('headOfKeyGroup', queue.number, key)
      return { ...group, first: head === undefined ? null : { head, finish: null } }
    }
    const found = this.sql.get('headOfShare', queue.number, key === keyless ? noKey : key)
    if (found === undefined) return { ...group, first: null }
    const [priority, place, options] = found
    return { ...group, first: { head: [priority, place], finish: finishOf(group.start ?? 0, keyWeightOf(options)) } }
  }

  private read(queue: Queue, key: string): KeyGroup {
    const group = this.sql.get('keyGroup', queue.number, key)
    if (group === undefined) return { leasedCount: 0, first: null, start: null }
    const [leasedCount, priority, place, start, finish] = group
    return {
      leasedCount,
      first: priority === null || place === null ? null : { head: [priority, place], finish },
      start,
    }
  }

  private write(queue: Queue, key: string, { leasedCount, first, start }: KeyGroup): void {
    if (leasedCount === 0 && first === null) return this.sql.run('removeKeyGroup', queue.number, key)
    const priority = first === null ? null : first.head[0]
    const place = first === null ? null : first.head[1]
    // Of other queues start and finish are null, and there is nothing to write to the index by finish.
    if (queue.clock === null) this.sql.run('writeKeyGroup', queue.number, key, leasedCount, priority, place)
    else
      this.sql.run(
        'writeSharingKeyGroup',
        queue.number,
        key,
        leasedCount,
        priority,
        place,
        start,
        first?.finish ?? null,
      )
  }
}

/** The group with this job as its first. */
function withFirst(queue: Queue, group: KeyGroup, { priority, place, keyWeight }: GroupedJob): KeyGroup {
  if (queue.clock === null) return { ...group, first: { head: [priority, place], finish: null } }
  const start = group.first === null ? queue.clock : (group.start ?? queue.clock)
  return { ...group, start, first: { head: [priority, place], finish: finishOf(start, keyWeight) } }
}

/** Orders groups by finish, if they have one, then by their first job. */
function goesFirst(
  [, priority, place, finish = 0]: FirstGroup,
  [, otherPriority, otherPlace, otherFinish = 0]: FirstGroup,
): boolean {
  return finish === otherFinish ? before(priority, place, [otherPriority, otherPlace]) : finish < otherFinish
}
