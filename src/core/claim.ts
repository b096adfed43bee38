/**
 * Claims: how many jobs a claim may take, the start of an attempt, and the reason of a shortfall. A store finds the
 * jobs.
 */
import { claimCounted } from './activity.ts'
import { applyEvent } from './transition.ts'
import type { TransitionOptions } from './compiled-arrows.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'
import type { Demand, RateLimit, Shortfall } from './values.ts'

/**
 * CLAIM. Sets `maxAttempts` and the `onDead` hook from the definition of the claiming worker (`maxAttempts` unless the
 * job has pinned it), so that a changed definition also applies to jobs that are already queued. A job that holds its
 * unique key only until its start gives it up.
 * @param queuedAt time of the transition that has queued the job, ms since the epoch
 */
export function claimJob(
  unit: Unit,
  row: JobRow,
  { maxAttempts, onDead }: Demand,
  queuedAt: number,
  options?: TransitionOptions,
): void {
  const differs = maxAttempts !== undefined && maxAttempts !== row.maxAttempts - row.checkpointedAttempts
  if (differs && !row.hasPinnedAttempts) unit.write(row, { maxAttempts })
  const hook = onDead ?? null
  if (row.onDead !== hook) unit.write(row, { onDead: hook })
  unit.count(row, claimCounted, unit.now - queuedAt)
  applyEvent(unit, row, 'CLAIM', options)
  if (row.untilStart) unit.giveUpKey(row)
}

/** The fields of a queue that a claim depends on. */
interface ClaimedQueue {
  readonly paused: boolean
  /** The number of its queued jobs. */
  readonly queued: number
  readonly leasedCount: number
  /** Has a concurrency limit restricted a claim since the last hint? Then the end of a run sends a hint. */
  capped: boolean
}

/** A queue and its queries for one demand. Queries are made only if the answer depends on them. */
export interface ClaimSource {
  readonly queue: ClaimedQueue
  /** How many claims the rate limit of the type allows now. */
  freeClaims(rate: RateLimit): number
  /** When the rate limit of the type allows the next claim, ms since the epoch; called only if it allows none now. */
  freeAt(rate: RateLimit): number
  /** Is there a queued job that the concurrency and rate limits of its key allow to claim? */
  hasOpenKey(): boolean
  /**
   * When the rate limit of a key allows the next claim; null if every key is at its concurrency limit. Called only
   * without an open key.
   */
  keysFreeAt(): number | null
}

/** How many jobs a claim may take, before the limits of their keys. */
export function claimRoom({ max, limits: { concurrency, rate } }: Demand, source: ClaimSource): number {
  const { queue } = source
  if (queue.paused) return 0
  let room = Math.min(max, queue.queued)
  if (concurrency !== null) room = Math.min(room, concurrency - queue.leasedCount)
  if (rate !== null && room > 0) room = Math.min(room, source.freeClaims(rate))
  return room
}

/** Why a claim has taken fewer jobs than asked for: the first reason that holds now, in the order of the contract. */
export function shortfallOf({ type, limits }: Demand, source: ClaimSource | undefined): Shortfall {
  if (source?.queue.paused === true) return { type, reason: 'paused' }
  if (source === undefined || source.queue.queued === 0) return { type, reason: 'empty' }
  const { concurrency, rate, keyRate } = limits
  const isOpen = source.hasOpenKey()
  const keysAt = isOpen ? null : source.keysFreeAt()
  const isCapped = (concurrency !== null && source.queue.leasedCount >= concurrency) || (!isOpen && keysAt === null)
  // With a rate limit per key, other keys may be at their concurrency limit.
  if (isCapped || keyRate !== undefined) source.queue.capped = true
  if (isCapped) return { type, reason: 'capped' }
  const rateAt = rate !== null && source.freeClaims(rate) === 0 ? source.freeAt(rate) : null
  if (rateAt === null && keysAt === null) {
    throw new TypeError(`claim answered fewer jobs of ${type} than asked for, without a reason`)
  }
  return { type, reason: 'limited', until: Math.max(rateAt ?? 0, keysAt ?? 0) }
}
