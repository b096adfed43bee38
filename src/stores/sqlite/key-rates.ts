/**
 * Rate limits per concurrency key: the claims of a key within a sliding window. A group that is found without a free
 * claim is set aside until it has one.
 */
import type { RateLimit } from '../../store.ts'
import { timeOfClaim } from './claim-times.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import type { Statements } from './statements.ts'

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
      this.queues.setKeyRate(queue, text)
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
