/** Figures from samples. */
import type { Figure } from '../suite.ts'

const ascending = (samples: Iterable<number>): Float64Array => Float64Array.from(samples).toSorted()

/** The sample below which the share `p` of all lies (nearest rank). */
export function percentile(samples: Iterable<number>, p: number): number {
  const sorted = ascending(samples)
  return sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)] ?? Number.NaN
}

export function median(samples: Iterable<number>): number {
  const sorted = ascending(samples)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle] as number
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

export const figure = (name: string, samples: readonly number[]): Figure => ({ name, value: median(samples), samples })

/** How times are spread. */
export interface Spread {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** @param samples in ms */
export const spread = (samples: readonly number[]): Spread => ({
  p50Ms: percentile(samples, 0.5),
  p99Ms: percentile(samples, 0.99),
  maxMs: percentile(samples, 1),
})
