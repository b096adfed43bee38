/** Questions about activity as callers ask them: checked here, and made what stores take. */
import { activityPeriods, everyBucket, periodNames, periodStart } from './activity.ts'
import { byDefault, oneOf, table, type RulesOf } from './checks.ts'
import { durationMs, type Duration } from './duration.ts'
import { invalidOption } from './errors.ts'
import type { ActivityBucket, ActivityPeriod, ActivityQuery, QueueActivity } from './figures.ts'

export interface ActivityOptions {
  /** Length of the periods that are counted in. Default `'minute'`. */
  readonly period?: ActivityPeriod
  /** How far back. Of minutes: default `'1h'`, at most `'2h'`; of hours: default `'1d'`, at most `'7d'`. */
  readonly last?: Duration
}

/** What happened in a queue, or in all of them, over time. */
export interface Activity {
  readonly period: ActivityPeriod
  /** Length of a period, ms. */
  readonly periodMs: number
  /** The store's time, ms since the epoch. */
  readonly now: number
  /** One for each period, oldest first; the last one is the current period, which has not ended. */
  readonly buckets: readonly ActivityBucket[]
}

const defaultLastMs: Readonly<Record<ActivityPeriod, number>> = { minute: 3_600_000, hour: 86_400_000 }

/** How many periods are asked for, up to the current one. */
interface Asked {
  readonly period: ActivityPeriod
  readonly count: number
}

const activityOptions = table({
  period: byDefault('minute', oneOf(...periodNames)),
  last: durationMs,
} satisfies RulesOf<ActivityOptions>)

/** @throws JobchartError INVALID_OPTION */
export function checkActivity(options: ActivityOptions): Asked {
  const { period, last = defaultLastMs[period] } = activityOptions(options, 'options of activity')
  const { ms, kept } = activityPeriods[period]
  const count = Math.ceil(last / ms)
  if (count >= 1 && count <= kept) return { period, count }
  const hint = 'Minutes are kept for two hours, hours for seven days.'
  throw invalidOption('last', `1 to ${kept} times the period of ${ms} ms`, options.last, hint)
}

/** The question for a store. @param now the store's time, ms since the epoch */
export const activityQuery = (
  { period, count }: Asked,
  queues: ActivityQuery['queues'],
  now: number,
): ActivityQuery => ({ period, from: periodStart(period, now) - (count - 1) * activityPeriods[period].ms, queues })

/** The answer of a store to one question, with a bucket for every period. */
export const activityOf = ({ period, count }: Asked, [answer]: readonly QueueActivity[], now: number): Activity => ({
  period,
  periodMs: activityPeriods[period].ms,
  now,
  buckets: everyBucket(answer?.buckets ?? [], { period, count, now }),
})
