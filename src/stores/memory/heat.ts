/** The heat of the chart of a type: numbers by the hour in which they were counted. */
import { dayOf, heatFrom, hourOf, oldestHeat, oldestHeatHour } from '../../core/heat.ts'
import type { HeatPeriod, StoredHeat } from '../../store.ts'

interface Counted {
  readonly count: number
  readonly lastId: string
}

export class Heat {
  /** By name, by the begin of the hour. What is older than a day is added up in the first hour of its day. */
  private readonly hours = new Map<number, Map<string, Counted>>()

  add(now: number, name: string, count: number, lastId: string): void {
    addTo(this.hour(now), name, { count, lastId })
  }

  private hour(now: number): Map<string, Counted> {
    const at = hourOf(now)
    const known = this.hours.get(at)
    if (known !== undefined) return known
    for (const [kept, counts] of this.inOrder()) {
      if (kept < oldestHeat(now)) this.hours.delete(kept)
      else if (kept < oldestHeatHour(now) && kept !== dayOf(kept)) {
        const day = this.hours.get(dayOf(kept)) ?? new Map<string, Counted>()
        for (const [name, counted] of counts) addTo(day, name, counted)
        this.hours.set(dayOf(kept), day)
        this.hours.delete(kept)
      }
    }
    const hour = new Map<string, Counted>()
    this.hours.set(at, hour)
    return hour
  }

  /** The earlier ones first. */
  private inOrder(): [at: number, counts: ReadonlyMap<string, Counted>][] {
    return [...this.hours].toSorted(([a], [b]) => a - b)
  }

  since(period: HeatPeriod, now: number): StoredHeat {
    const from = heatFrom(period, now)
    const counts = new Map<string, Counted>()
    for (const [at, hour] of this.inOrder()) {
      if (at >= from) for (const [name, counted] of hour) addTo(counts, name, counted)
    }
    return { from, counts: [...counts].map(([name, counted]) => ({ name, ...counted })) }
  }
}

function addTo(counts: Map<string, Counted>, name: string, { count, lastId }: Counted): void {
  counts.set(name, { count: count + (counts.get(name)?.count ?? 0), lastId })
}
