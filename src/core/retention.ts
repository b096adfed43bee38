/** How long an ended job is kept: the bounds, and when they let it go. */

/** Bounds for the ended jobs of one state. */
export interface RetentionBounds {
  /** One goes when so many ms have passed since its end. */
  readonly ageMs: number
  /** So many are kept: of more, the one that ended first goes, when `minAgeMs` have passed since its end. */
  readonly count: number
  /** Default 0. */
  readonly minAgeMs?: number
  /** Of more than these, the one that ended first goes, however young it is. Default: no bound. */
  readonly countMax?: number
}

/**
 * When the one of `kept` jobs that ended first is let go, ms since the epoch; −∞ = at once.
 * @param endedAt when that one ended
 */
export function goesAt(
  { ageMs, count, minAgeMs = 0, countMax = Infinity }: RetentionBounds,
  kept: number,
  endedAt: number,
): number {
  if (kept > countMax) return -Infinity
  return endedAt + (kept > count ? Math.min(minAgeMs, ageMs) : ageMs)
}
