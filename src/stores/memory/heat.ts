/** The heat of the chart of a type: numbers by the hour in which they were counted. */
import { addHeat, heatFrom, hourOf, keptUnder, storedHeat, type HeatSums } from '../../core/heat.ts'
import type { HeatPeriod, StoredHeat } from '../../store.ts'

export class Heat {
  /** By the begin of the hour. What is older than a day is added up in the first hour of its day. */
  private hours = new Map<number, HeatSums>()

  add(now: number, name: string, count: number, lastId: string): void {
    let hour = this.hours.get(hourOf(now))
    if (hour === undefined) {
      this.age(now)
      this.hours.set(hourOf(now), (hour = new Map()))
    }
    addHeat(hour, name, { count, lastId })
  }

  /** An hour begins: earlier ones become part of their days, or are not kept. */
  private age(now: number): void {
    const aged = new Map<number, HeatSums>()
    for (const [at, hour] of this.inOrder()) {
      const under = keptUnder(at, now)
      const same = under === null ? undefined : aged.get(under)
      if (same !== undefined) for (const [name, sum] of hour) addHeat(same, name, sum)
      else if (under !== null) aged.set(under, hour)
    }
    this.hours = aged
  }

  /** The earlier ones first. */
  private inOrder(): [at: number, hour: HeatSums][] {
    return [...this.hours].toSorted(([a], [b]) => a - b)
  }

  since(period: HeatPeriod, now: number): StoredHeat {
    const from = heatFrom(period, now)
    const sums: HeatSums = new Map()
    for (const [at, hour] of this.inOrder()) {
      if (at >= from) for (const [name, sum] of hour) addHeat(sums, name, sum)
    }
    return storedHeat(from, sums)
  }
}
