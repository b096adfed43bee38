/** Claims: how many jobs a claim may take, the start of an attempt, and the reason of a shortfall. A store finds the jobs. */
import { applyEvent } from './transition.ts'
import type { JobRow, LoggedTransition, TransitionOptions, UnitOfWork } from './unit-of-work.ts'
import type { Demand, RateLimit, Shortfall } from './values.ts'

/**
 * CLAIM. A deployment that changes how many attempts a type may spend reaches the jobs that wait: the worker that claims a
 * job decides, unless its enqueue has. A unique key that is held until the start is free for others.
 */
export function claimJob<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  { maxAttempts }: Demand,
  options?: TransitionOptions,
): LoggedTransition {
  const differs = maxAttempts !== undefined && maxAttempts !== row.maxAttempts - row.checkpointedAttempts
  if (differs && !row.hasPinnedAttempts) unit.setMaxAttempts(row, maxAttempts)
  const logged = applyEvent(unit, row, 'CLAIM', options)
  if (row.untilStart) unit.giveUpKey(row)
  return logged
}

/** What the rules of a claim read of a queue. */
interface ClaimedQueue {
  readonly paused: boolean
  /** The number of its queued jobs. */
  readonly queued: number
  readonly leasedCount: number
  /** Was a claim kept back by a cap since the last hint? Then the end of a run gives a hint. */
  capped: boolean
}

/** A queue and the queries about it for one demand. Only those queries are made that the answer depends on. */
export interface ClaimSource {
  readonly queue: ClaimedQueue
  /** The claims that the rate limit of the type allows now. */
  freeClaims(rate: RateLimit): number
  /** When the rate limit of the type allows the next claim, ms since the epoch; asked only if it allows none now. */
  freeAt(rate: RateLimit): number
  /** Could a queued job be claimed under the cap and the rate limit of its key? */
  hasOpenKey(): boolean
  /** When the rate limit of a key allows the next claim; null if every key is at its cap. Asked only without an open key. */
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
  // With a rate limit per key other keys may be at their cap.
  if (isCapped || keyRate !== undefined) source.queue.capped = true
  if (isCapped) return { type, reason: 'capped' }
  const rateAt = rate !== null && source.freeClaims(rate) === 0 ? source.freeAt(rate) : null
  if (rateAt === null && keysAt === null) {
    throw new TypeError(`claim answered fewer jobs of ${type} than asked for, without a reason`)
  }
  return { type, reason: 'limited', until: Math.max(rateAt ?? 0, keysAt ?? 0) }
}
