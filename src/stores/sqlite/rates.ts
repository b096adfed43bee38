/** Rate limits: the claims of a type, or of one of its concurrency keys, within a sliding window. */
import type { RateLimit } from '../../store.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import type { Statements } from './statements.ts'

interface Claiming {
  readonly sql: Statements
  readonly now: number
}

export function freeClaims(file: Claiming, queue: Queue, rate: RateLimit): number {
  const { sql, now } = file
  // A clock that was set back would block the type until it has caught up: claims at later times count as claims now.
  const early = sql.get('claimsToCome', queue.number, now)?.[0] ?? 0
  if (early > 0) {
    sql.run('forgetClaimsToCome', queue.number, now)
    spend(file, queue, rate, early)
  }
  const spent = sql.get('claimsSince', queue.number, now - rate.perMs)?.[0] ?? 0
  return Math.max(0, rate.limit - spent)
}

export function spend({ sql, now }: Claiming, queue: Queue, { perMs }: RateLimit, claims: number): void {
  if (claims === 0) return
  sql.run('spend', queue.number, now, claims, now + perMs)
  sql.run('forgetClaims', queue.number, now)
}

/** When the next claim will be free, if none is. */
export function freeAt({ sql, now }: Claiming, queue: Queue, { limit, perMs }: RateLimit): number {
  const last = sql.get('lastClaims', queue.number)
  const at = timeOfClaim(last, limit, now - perMs, (time) => sql.get('claimsUntil', queue.number, time)?.[0])
  return (at ?? now) + perMs
}

/** A group that is found without a free claim is set aside until it has one. */
export class KeyRates {
  private readonly sql: Statements
  private readonly queues: Queues

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  /**
   * Updates which groups are set aside. All are checked again if the rate limit was changed or the clock was set back.
   */
  refresh(queue: Queue, rate: RateLimit | undefined, now: number): void {
    const text = rate === undefined ? null : `${rate.limit}/${rate.perMs}`
    if (text !== queue.keyRate) {
      this.queues.changing(queue).keyRate = text
      this.sql.run('freeKeyGroups', queue.number, Number.MAX_SAFE_INTEGER)
    }
    if (rate === undefined) return
    // A clock that was set back would block the keys until it has caught up: what was spent then, was spent now.
    if (this.sql.get('anyKeyClaimToCome', queue.number, now) !== undefined) {
      this.sql.run('takeBackKeyClaims', queue.number, now, rate.perMs)
      this.sql.run('forgetKeyClaimsToCome', queue.number, now)
      this.sql.run('freeKeyGroups', queue.number, Number.MAX_SAFE_INTEGER)
    }
    this.sql.run('freeKeyGroups', queue.number, now)
    this.sql.run('forgetKeyClaims', queue.number, now)
  }

  /** Has the key a free claim? If not, its group is set aside. */
  isFree(queue: Queue, key: string, rate: RateLimit, now: number): boolean {
    if (this.spent(queue, key, rate, now) < rate.limit) return true
    this.setAside(queue, key, rate, now)
    return false
  }

  /** Counts a claim. After the last free one the group is set aside: no later claim passes over many such. */
  spend(queue: Queue, key: string, rate: RateLimit, now: number): void {
    this.sql.run('spendOfKey', queue.number, key, now, now + rate.perMs)
    if (this.spent(queue, key, rate, now) >= rate.limit) this.setAside(queue, key, rate, now)
  }

  private spent(queue: Queue, key: string, { perMs }: RateLimit, now: number): number {
    return this.sql.get('keyClaimsSince', queue.number, key, now - perMs)?.[0] ?? 0
  }

  /** A group without a free claim, until it has one. */
  private setAside(queue: Queue, key: string, { limit, perMs }: RateLimit, now: number): void {
    const last = this.sql.get('lastClaimsOfKey', queue.number, key)
    const until = (time: number): number | undefined => this.sql.get('claimsOfKeyUntil', queue.number, key, time)?.[0]
    const at = timeOfClaim(last, limit, now - perMs, until)
    if (at !== null) this.sql.run('limitKeyGroup', at + perMs, queue.number, key)
  }

  /** When the first group that only its rate limit keeps back has a free claim; null if there is none. */
  limitedUntil(queue: Queue, perKey: number): number | null {
    return this.sql.get('firstLimited', queue.number, perKey)?.[0] ?? null
  }
}

/**
 * When the `nth` of at least as many claims was made, counted from the last one; null without claims. The totals grow
 * with the time: so it is found by halving, and the rows between are not read.
 * @param last the time of the last claims, and the total with them
 * @param after the claim was made after this time
 * @param totalUntil the total up to a time, if there are claims
 */
function timeOfClaim(
  last: readonly [at: number, total: number] | undefined,
  nth: number,
  after: number,
  totalUntil: (time: number) => number | undefined,
): number | null {
  if (last === undefined) return null
  const before = last[1] - nth
  let [low, high] = [Math.min(after + 1, last[0]), last[0]]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((totalUntil(middle) ?? -Infinity) > before) high = middle
    else low = middle + 1
  }
  return high
}
