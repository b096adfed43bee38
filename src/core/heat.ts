/**
 * The heat of a chart: how often the machines of a type have taken each transition, and how long they stayed in each
 * state. A store counts by the hour, in the write that tells it: a chart over time is drawn without a scan. What is
 * counted, and how durations become figures, is decided here.
 *
 * A name stands for a transition of a version, or for the stays in a state of a version that were about as long as each
 * other: stores add numbers to names, and know nothing of charts.
 */
import { byDefault, oneOf, table, text, type RulesOf } from './checks.ts'
import type { HeatPeriod, StoredHeat } from './figures.ts'
import { limits } from './limits.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const heatPeriods = ['hour', 'day', 'week'] as const satisfies readonly HeatPeriod[]

/** The begin of the hour that contains a time, ms since the epoch. */
export const hourOf = (at: number): number => Math.floor(at / hourMs) * hourMs

/** The begin of the day, in UTC. */
const dayOf = (at: number): number => Math.floor(at / dayMs) * dayMs

/**
 * Since when a period counts, ms since the epoch: the hour before this one, 24 hours before this one, or the day that
 * is 7 days before this one.
 */
export function heatFrom(period: HeatPeriod, now: number): number {
  if (period === 'hour') return hourOf(now) - hourMs
  return period === 'day' ? hourOf(now) - dayMs : dayOf(now) - 7 * dayMs
}

/** What began before is not kept. */
export const oldestHeat = (now: number): number => heatFrom('week', now)

/** What began before need not be kept by the hour: the day is enough. */
export const oldestHeatHour = (now: number): number => heatFrom('day', now)

/**
 * The hour under which a store keeps what was counted in an hour: the first one of its day when it is older than a day,
 * so that a week is the sum of few; null when it is kept no more.
 */
export function keptUnder(at: number, now: number): number | null {
  if (at < oldestHeat(now)) return null
  return at < oldestHeatHour(now) ? dayOf(at) : at
}

/** A number of a name, with the job that has counted it last. */
export type HeatSum = Omit<StoredHeat['counts'][number], 'name'>

export type HeatSums = Map<string, HeatSum>

/** Adds what was counted later. */
export function addHeat(sums: HeatSums, name: string, { count, lastId }: HeatSum): void {
  sums.set(name, { count: count + (sums.get(name)?.count ?? 0), lastId })
}

export const storedHeat = (from: number, sums: HeatSums): StoredHeat => ({
  from,
  counts: [...sums].map(([name, sum]) => ({ name, ...sum })),
})

/** The begins of the hours of a period, the oldest first. */
export function heatHours(period: HeatPeriod, now: number): number[] {
  const from = heatFrom(period, now)
  return Array.from({ length: (hourOf(now) - from) / hourMs + 1 }, (_, i) => from + i * hourMs)
}

/** After so many hours an hour is in no period: those of 8 days. */
export const heatHoursKept = (8 * dayMs) / hourMs

/** The longest name: a transition or a state whose name is longer is not counted. */
const nameCharsMax = 1_000
/** Names that one checkpoint counts at most: a machine may pass through thousands of states in one step. */
const namesMax = 200

/**
 * A stay is counted among those up to 2^¼ times as long: a quantile is wrong by a fifth at most. The first bucket holds
 * all that were shorter than 1 ms, the last one those of a thousand years and more.
 */
const bucketsPerDoubling = 4
const bucketsMax = 180

/** The bucket of a time, ms: one that is negative, because the clock was set back, is 0. */
export const timeBucket = (ms: number): number =>
  ms < 1 ? 0 : Math.min(bucketsMax, 1 + Math.floor(Math.log2(ms) * bucketsPerDoubling))

/** The shortest time of a bucket, ms. */
const leastOf = (bucket: number): number => (bucket === 0 ? 0 : 2 ** ((bucket - 1) / bucketsPerDoubling))

/** What a taken transition is counted by. @param id as `toGraph` has it */
export const transitionName = (version: string, id: string): string => JSON.stringify([version, id])

/** What a stay in a state is counted by. @param state the path of the state @param bucket that of its time */
export const stayName = (version: string, state: string, bucket: number): string =>
  JSON.stringify([version, state, bucket])

/** Numbers by their names: what a machine has done since its last checkpoint. */
export class HeatTally {
  /** A list and not a map: mostly it has two names. */
  private readonly counts: [name: string, count: number][] = []

  add(name: string): void {
    const { counts } = this
    for (const counted of counts) {
      if (counted[0] !== name) continue
      counted[1]++
      return
    }
    if (counts.length < namesMax && name.length <= nameCharsMax) counts.push([name, 1])
  }

  /** What was counted since the last call. */
  take(): readonly (readonly [name: string, count: number])[] {
    return this.counts.splice(0)
  }
}

/** A transition of a chart. */
export interface TransitionHeat {
  /** The id of the transition, as `toGraph` of `jobchart/chart` has it. */
  readonly id: string
  /** How often it was taken. */
  readonly count: number
  /** The job that has taken it last. It may have been removed since. */
  readonly lastId: string
}

/** A state of a chart. */
export interface StateHeat {
  /** Its path: `paid.shipping`. */
  readonly state: string
  /** How often it was left. */
  readonly count: number
  /** How long machines stayed in it, ms: half of them at most so long, 95 and 99 of 100. Exact to a fifth. */
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
}

/** How the machines of a type have gone through their chart. */
export interface ChartHeat {
  readonly type: string
  readonly period: HeatPeriod
  /** Since when it was counted, ms since the epoch. */
  readonly from: number
  /** The version that it is of; null: all of them together. */
  readonly version: string | null
  /** The versions of the machine that have moved in this time. */
  readonly versions: readonly string[]
  /** The one that was taken most often first. */
  readonly transitions: readonly TransitionHeat[]
  /** By path. */
  readonly states: readonly StateHeat[]
}

export interface HeatOptions {
  /**
   * `'hour'`: this hour and the one before · `'day'` (default): this hour and the 24 before · `'week'`: today and the 7
   * days before, in UTC.
   */
  readonly period?: HeatPeriod
  /** Of this version of the machine alone. Default: of all. */
  readonly version?: string
}

const heatOptions = table({
  period: byDefault('day', oneOf(...heatPeriods)),
  version: text(limits.idCharsMax),
} satisfies RulesOf<HeatOptions>)

/** @throws JobchartError INVALID_OPTION */
export const checkHeat = (options: HeatOptions): { readonly period: HeatPeriod; readonly version: string | null } => {
  const { period, version = null } = heatOptions(options, 'options of heat')
  return { period, version }
}

type Parts = readonly [version: string, name: string, bucket?: number]

/** The figures of what a store has counted. @param version null: of all versions */
export function chartHeat(
  type: string,
  period: HeatPeriod,
  { from, counts }: StoredHeat,
  version: string | null,
): ChartHeat {
  const versions = new Set<string>()
  const taken = new Map<string, TransitionHeat>()
  const stays = new Map<string, number[]>()
  for (const { name, count, lastId } of counts) {
    const [of, what, bucket] = JSON.parse(name) as Parts
    versions.add(of)
    if (version !== null && version !== of) continue
    if (bucket === undefined) {
      const before = taken.get(what)
      taken.set(what, { id: what, count: count + (before?.count ?? 0), lastId })
      continue
    }
    const histogram = stays.get(what) ?? []
    histogram[bucket] = (histogram[bucket] ?? 0) + count
    stays.set(what, histogram)
  }
  return {
    type,
    period,
    from,
    version,
    versions: [...versions].toSorted(),
    transitions: [...taken.values()].toSorted((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1)),
    states: [...stays].map(([state, histogram]) => stateHeat(state, histogram)).toSorted(byState),
  }
}

const byState = (a: StateHeat, b: StateHeat): number => (a.state < b.state ? -1 : 1)

function stateHeat(state: string, histogram: readonly number[]): StateHeat {
  const count = histogram.reduce((sum, each) => sum + each, 0)
  const at = (share: number): number => quantile(histogram, share * count)
  return { state, count, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }
}

/** The time that so many stays were not longer than, ms: as if those of a bucket were spread evenly. */
function quantile(histogram: readonly number[], rank: number): number {
  let before = 0
  for (const [bucket, count = 0] of histogram.entries()) {
    if (count > 0 && before + count >= rank) {
      const [least, most] = [leastOf(bucket), bucket === 0 ? 0 : leastOf(bucket + 1)]
      return Math.round(least + ((most - least) * (rank - before)) / count)
    }
    before += count
  }
  return 0
}
