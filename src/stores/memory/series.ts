/** The activity of a queue: figures of the current minute and hour, and of the earlier ones that are kept. */
import {
  activityPeriods,
  addTally,
  addTo,
  bucketsOf,
  noActivity,
  oldestPeriod,
  periodNames,
  periodStart,
  type Counted,
  type Tally,
} from '../../core/activity.ts'
import type { ActivityBucket, ActivityPeriod } from '../../store.ts'

export class Series {
  private readonly tallies: Readonly<Record<ActivityPeriod, Map<number, Tally>>> = {
    minute: new Map(),
    hour: new Map(),
  }
  /** The current minute: its begin, and what was counted in it. It is added to its hour at its end. */
  private minuteAt = 0
  private minute: Tally = noActivity()

  count(now: number, counted: Counted, ms: number): void {
    const { minuteAt } = this
    if (now < minuteAt || now >= minuteAt + activityPeriods.minute.ms) this.turn(now)
    addTo(this.minute, counted, ms)
  }

  /** Figures by the begin of each period, from `first` on, in no particular order. */
  *since(period: ActivityPeriod, first: number): Generator<[at: number, tally: readonly number[]]> {
    for (const [at, tally] of this.tallies[period]) if (at >= first) yield [at, tally]
    const at = periodStart(period, this.minuteAt)
    if (at >= first) yield [at, this.minute]
  }

  /** Ends the current minute, begins the one of `now`, and removes the periods that are no longer kept. */
  private turn(now: number): void {
    for (const period of periodNames) {
      const tallies = this.tallies[period]
      const at = periodStart(period, this.minuteAt)
      const tally = tallies.get(at)
      if (tally !== undefined) addTally(tally, this.minute)
      else if (this.minuteAt > 0) tallies.set(at, [...this.minute])
      const oldest = oldestPeriod(period, now)
      for (const kept of tallies.keys()) if (kept < oldest) tallies.delete(kept)
    }
    this.minuteAt = periodStart('minute', now)
    this.minute = noActivity()
  }
}

/** The buckets of several series together, oldest first. */
export const bucketsSince = (
  series: Iterable<Series>,
  period: ActivityPeriod,
  first: number,
): readonly ActivityBucket[] => bucketsOf(tallies(series, period, first))

function* tallies(
  series: Iterable<Series>,
  period: ActivityPeriod,
  first: number,
): Generator<[at: number, tally: readonly number[]]> {
  for (const each of series) yield* each.since(period, first)
}
