/** The heat of the chart of a type: numbers by the hour in which they were counted. */
import { heatFrom, hourOf, oldestHeat } from '../../core/heat.ts'
import type { HeatPeriod, StoredHeat } from '../../store.ts'

interface Counted {
  count: number
  lastId: string
}

export class Heat {
  /** By name, by the begin of the hour; the hours in the order in which they were first counted in. */
  private readonly hours = new Map<number, Map<string, Counted>>()

  add(now: number, name: string, count: number, lastId: string): void {
    const hour = this.hour(now)
    const counted = hour.get(name)
    if (counted === undefined) hour.set(name, { count, lastId })
    else {
      counted.count += count
      counted.lastId = lastId
    }
  }

  private hour(now: number): Map<string, Counted> {
    const at = hourOf(now)
    const known = this.hours.get(at)
    if (known !== undefined) return known
    for (const kept of this.hours.keys()) if (kept < oldestHeat(now)) this.hours.delete(kept)
    const hour = new Map<string, Counted>()
    this.hours.set(at, hour)
    return hour
  }

  since(period: HeatPeriod, now: number): StoredHeat {
    const from = heatFrom(period, now)
    const counts = new Map<string, Counted>()
    for (const [at, hour] of [...this.hours].toSorted(([a], [b]) => a - b)) {
      if (at < from) continue
      for (const [name, { count, lastId }] of hour) {
        counts.set(name, { count: count + (counts.get(name)?.count ?? 0), lastId })
      }
    }
    return { from, counts: [...counts].map(([name, counted]) => ({ name, ...counted })) }
  }
}
