/**
 * The limits per key of a type, and whether its keys share the claims, if the workers that claim it differ: as in a
 * rolling deployment. Those of the worker that has started last hold for the claims of all, until none that has them
 * has claimed for a while. So a deployment and a rollback take effect with the first claim of a new process, and
 * workers do not alternate.
 */
import type { Demand, RateLimit } from './values.ts'

/** The claim of a worker that has the terms is noted again after so long, ms. */
export const termsNotedMs = 1_000
/** The terms hold for so long after the last claim that was noted, ms. */
export const termsHeldMs = 30_000

interface KeyTerms {
  readonly perKey: number | null
  readonly keyRate: RateLimit | null
  readonly keyShares: boolean
}

/** The terms that hold for a type. */
export interface HeldTerms extends KeyTerms {
  /** When the worker that has brought them started, by the store's clock; 0 if it has not told. */
  readonly startedAt: number
  /** The last claim of a worker that has them, as far as it was noted. */
  readonly claimedAt: number
}

const termsOf = ({ limits: { perKey, keyRate }, keyShares }: Demand): KeyTerms => ({
  perKey,
  keyRate: keyRate ?? null,
  keyShares: keyShares === true,
})

const isSame = (held: KeyTerms | null, { limits: { perKey, keyRate }, keyShares }: Demand): boolean =>
  (held?.perKey ?? null) === perKey &&
  (held?.keyRate?.limit ?? null) === (keyRate?.limit ?? null) &&
  (held?.keyRate?.perMs ?? null) === (keyRate?.perMs ?? null) &&
  (held?.keyShares ?? false) === (keyShares === true)

/**
 * The terms after a claim: those that hold for it.
 * @param held those before; null if no claim of the type has had any
 * @param startedAt of the worker; undefined: its own terms apply
 */
export function termsAfter(
  held: HeldTerms | null,
  demand: Demand,
  startedAt: number | undefined,
  now: number,
): HeldTerms | null {
  const since = startedAt ?? 0
  if (isSame(held, demand)) {
    if (held === null || (since <= held.startedAt && now - held.claimedAt < termsNotedMs)) return held
    return { ...held, startedAt: Math.max(since, held.startedAt), claimedAt: now }
  }
  const isOlder = held !== null && startedAt !== undefined && startedAt < held.startedAt
  if (isOlder && now - held.claimedAt < termsHeldMs) return held
  return { ...termsOf(demand), startedAt: since, claimedAt: now }
}

/** What is claimed by a demand if these terms hold. */
export function demandUnder(held: HeldTerms | null, demand: Demand): Demand {
  if (isSame(held, demand)) return demand
  const { keyShares: _, limits: own, ...rest } = demand
  const { concurrency, rate } = own
  const { perKey = null, keyRate = null, keyShares = false } = held ?? {}
  const limits = { concurrency, perKey, rate, ...(keyRate !== null && { keyRate }) }
  return { ...rest, limits, ...(keyShares && { keyShares }) }
}
