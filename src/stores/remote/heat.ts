/** The heat of the chart of a type as plain JSON: numbers by the hour in which they were counted. */
import { addHeat, heatFrom, hourOf, keptUnder, storedHeat, type HeatSum, type HeatSums } from '../../core/heat.ts'
import type { HeatPeriod, StoredHeat } from '../../store.ts'
import type { Writes } from './commit.ts'

/** By the begin of the hour, by name. What is older than a day is added up in the first hour of its day. */
export type KeptHeat = Readonly<Record<string, Readonly<Record<string, HeatSum>>>>

export const noHeat: KeptHeat = {}

/** The heat of a type after a commit. */
export function heatAfter(before: KeptHeat, { heat, now }: Writes, type: string): KeptHeat {
  const counted = heat.filter((each) => each.type === type)
  if (counted.length === 0) return before
  const at = hourOf(now)
  const kept = Object.hasOwn(before, at) ? before : aged(before, now)
  const hour: HeatSums = new Map(Object.entries(kept[at] ?? {}))
  for (const { name, count, lastId } of counted) addHeat(hour, name, { count, lastId })
  return { ...kept, [at]: Object.fromEntries(hour) }
}

/** An hour begins: earlier ones become part of their days, or are not kept. */
function aged(before: KeptHeat, now: number): KeptHeat {
  const hours = new Map<number, HeatSums>()
  for (const [at, hour] of inOrder(before)) {
    const under = keptUnder(at, now)
    if (under === null) continue
    const sums: HeatSums = hours.get(under) ?? new Map()
    for (const [name, sum] of Object.entries(hour)) addHeat(sums, name, sum)
    hours.set(under, sums)
  }
  return Object.fromEntries([...hours].map(([at, sums]) => [at, Object.fromEntries(sums)]))
}

const inOrder = (kept: KeptHeat): [at: number, hour: KeptHeat[string]][] =>
  Object.entries(kept)
    .map(([at, hour]): [number, KeptHeat[string]] => [Number(at), hour])
    .toSorted(([a], [b]) => a - b)

export function heatSince(kept: KeptHeat, period: HeatPeriod, now: number): StoredHeat {
  const from = heatFrom(period, now)
  const sums: HeatSums = new Map()
  for (const [at, hour] of inOrder(kept)) {
    if (at >= from) for (const [name, sum] of Object.entries(hour)) addHeat(sums, name, sum)
  }
  return storedHeat(from, sums)
}
