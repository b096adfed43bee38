/** How long an ended job is kept. */

/** Bounds for the ended jobs of one state. */
export interface RetentionBounds {
  /** A job is removed this many ms after its end. */
  readonly ageMs: number
  /** How many jobs are kept: of more, those that ended first are removed, `minAgeMs` after their end. */
  readonly count: number
  /** How long a job is kept at least, ms, up to `countMax` jobs. Default 0. */
  readonly minAgeMs?: number
  /**
   * Of more jobs than this, those that ended first are removed at once, regardless of `minAgeMs`. Default: no limit.
   */
  readonly countMax?: number
}

/**
 * When the first ended of `kept` jobs is to be removed, ms since the epoch; −∞ = at once.
 * @param endedAt when that job ended
 */
export function goesAt(
  { ageMs, count, minAgeMs = 0, countMax = Infinity }: RetentionBounds,
  kept: number,
  endedAt: number,
): number {
  if (kept > countMax) return -Infinity
  return endedAt + (kept > count ? Math.min(minAgeMs, ageMs) : ageMs)
}

/** Up to how many jobs the first ended one of `kept` is removed no earlier: more of them do not change its time. */
export const keptMax = ({ count, countMax = Infinity }: RetentionBounds, kept: number): number =>
  kept <= count ? Math.min(count, countMax) : countMax

/**
 * How many of `kept` jobs are removed at most.
 * @param endedAt when the first of them ended
 * @param now ms since the epoch
 */
export function goingMax(
  { ageMs, count, minAgeMs = 0, countMax = Infinity }: RetentionBounds,
  kept: number,
  endedAt: number,
  now: number,
): number {
  if (endedAt + ageMs <= now) return kept
  return Math.max(0, kept - (endedAt + minAgeMs <= now ? Math.min(count, countMax) : countMax))
}
