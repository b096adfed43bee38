/** Rate limits: the claims of a type within a sliding window. */
import type { TypeLimits } from '../../store.ts'
import { timeOfClaim } from './claim-times.ts'
import type { JobFile } from './job-file.ts'
import type { Queue } from './queue.ts'

type Rate = NonNullable<TypeLimits['rate']>

export function freeClaims(file: JobFile, queue: Queue, rate: Rate): number {
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

export function spend({ sql, now }: JobFile, queue: Queue, { perMs }: Rate, claims: number): void {
  if (claims === 0) return
  sql.run('spend', queue.number, now, claims, now + perMs)
  sql.run('forgetClaims', queue.number, now)
}

/** When the next claim will be free, if none is. */
export function freeAt({ sql, now }: JobFile, queue: Queue, { limit, perMs }: Rate): number {
  const last = sql.get('lastClaims', queue.number)
  const at = timeOfClaim(last, limit, now - perMs, (time) => sql.get('claimsUntil', queue.number, time)?.[0])
  return (at ?? now) + perMs
}
