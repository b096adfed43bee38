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
import type { ActivityPeriod } from '../../store.ts'

/** Figures of ended minutes, by the begin of each minute and hour that is kept. */
export class Past {
  private readonly tallies: Readonly<Record<ActivityPeriod, Map<number, Tally>>> = {
    minute: new Map(),
    hour: new Map(),
  }

  /** Adds a minute, and removes the periods that are no longer kept when another begins. */
  add(minuteAt: number, minute: Tally, now: number): void {
    for (const period of periodNames) {
      const tallies = this.tallies[period]
      const at = periodStart(period, minuteAt)
      const tally = tallies.get(at)
      if (tally !== undefined) {
        addTally(tally, minute)
        continue
      }
      tallies.set(at, [...minute])
      const oldest = oldestPeriod(period, now)
      for (const kept of tallies.keys()) if (kept < oldest) tallies.delete(kept)
    }
  }

  *since(period: ActivityPeriod, first: number): Generator<[at: number, tally: readonly number[]]> {
    for (const [at, tally] of this.tallies[period]) if (at >= first) yield [at, tally]
  }
}

export class Series {
  private readonly past = new Past()
  /** The past of all queues together, to which each ended minute is added, too. */
  private total: Past | null = null
  /** The current minute: its begin, and what was counted in it. It is added to its hour at its end. */
  private minuteAt = 0
  private minute: Tally = noActivity()

  partOf(total: Past): void {
    this.total = total
  }

  count(now: number, counted: Counted, ms: number): void {
    const { minuteAt } = this
    if (now < minuteAt || now >= minuteAt + activityPeriods.minute.ms) this.turn(now)
    addTo(this.minute, counted, ms)
  }

  /** Figures by the begin of each period, from `first` on, in no particular order. */
  *since(period: ActivityPeriod, first: number): Generator<[at: number, tally: readonly number[]]> {
    yield* this.past.since(period, first)
    yield* this.current(period, first)
  }

  /** Those of the current minute. */
  *current(period: ActivityPeriod, first: number): Generator<[at: number, tally: readonly number[]]> {
    const at = periodStart(period, this.minuteAt)
    if (at >= first) yield [at, this.minute]
  }

  /** Ends the current minute, and begins the one of `now`. */
  private turn(now: number): void {
    if (this.minuteAt > 0) {
      this.past.add(this.minuteAt, this.minute, now)
      this.total?.add(this.minuteAt, this.minute, now)
    }
    this.minuteAt = periodStart('minute', now)
    this.minute = noActivity()
  }
}

/** The buckets of a series, oldest first. */
export const bucketsSince = (series: Series | undefined, period: ActivityPeriod, first: number) =>
  bucketsOf(series === undefined ? [] : series.since(period, first))

/** The buckets of all series together, which have a past in common. */
export const totalSince = (past: Past, all: Iterable<Series>, period: ActivityPeriod, first: number) =>
  bucketsOf(together(past, all, period, first))

function* together(
  past: Past,
  all: Iterable<Series>,
  period: ActivityPeriod,
  first: number,
): Generator<[at: number, tally: readonly number[]]> {
  yield* past.since(period, first)
  for (const each of all) yield* each.current(period, first)
}
