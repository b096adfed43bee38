/**
 * The heat of the chart of a type as plain JSON: by the hour for as long as an hour is asked for, and by the day before
 * that.
 */
import { dayOf, heatFrom, hourOf, oldestHeat, oldestHeatHour } from '../../core/heat.ts'
import type { HeatPeriod, StoredHeat } from '../../store.ts'
import type { Writes } from './commit.ts'

/** A number, with the job that has counted it last. */
type Count = readonly [count: number, lastId: string]

/** By name. */
type Counts = Readonly<Record<string, Count>>

/** By the begin of each hour, and of each day. */
export interface KeptHeat {
  readonly hours: Readonly<Record<string, Counts>>
  readonly days: Readonly<Record<string, Counts>>
}

export const noHeat: KeptHeat = { hours: {}, days: {} }

/** The heat of a type after a commit. */
export function heatAfter(before: KeptHeat, { heat, now }: Writes, type: string): KeptHeat {
  const counted = heat.filter((each) => each.type === type)
  if (counted.length === 0) return before
  const at = hourOf(now)
  const { hours, days } = Object.hasOwn(before.hours, at) ? before : aged(before, now)
  const added = counted.map(({ name, count, lastId }) => [name, [count, lastId]] as const)
  return { hours: { ...hours, [at]: sum([Object.entries(hours[at] ?? {}), added]) }, days }
}

/** The hours that need not be kept by the hour become part of their days, and the oldest days go. */
function aged(before: KeptHeat, now: number): KeptHeat {
  const hours: Record<string, Counts> = {}
  const days: Record<string, Counts> = {}
  for (const [at, counts] of Object.entries(before.days)) if (Number(at) >= oldestHeat(now)) days[at] = counts
  for (const [at, counts] of inOrder(before.hours)) {
    if (at >= oldestHeatHour(now)) hours[at] = counts
    else if (at >= oldestHeat(now)) days[dayOf(at)] = sum([days[dayOf(at)] ?? {}, counts].map(Object.entries<Count>))
  }
  return { hours, days }
}

const inOrder = (counts: Readonly<Record<string, Counts>>): [at: number, counts: Counts][] =>
  Object.entries(counts)
    .map(([at, each]): [number, Counts] => [Number(at), each])
    .toSorted(([a], [b]) => a - b)

/** @param parts the earlier ones first */
function sum(parts: readonly (readonly (readonly [name: string, count: Count])[])[]): Counts {
  const counts = new Map<string, Count>()
  for (const part of parts) {
    for (const [name, [count, lastId]] of part) counts.set(name, [count + (counts.get(name)?.[0] ?? 0), lastId])
  }
  return Object.fromEntries(counts)
}

export function heatSince({ hours, days }: KeptHeat, period: HeatPeriod, now: number): StoredHeat {
  const from = heatFrom(period, now)
  const parts = [...inOrder(days), ...inOrder(hours)].flatMap(([at, counts]) =>
    at >= from ? [Object.entries(counts)] : [],
  )
  const counts = Object.entries(sum(parts)).map(([name, [count, lastId]]) => ({ name, count, lastId }))
  return { from, counts }
}
