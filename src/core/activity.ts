/**
 * The activity of a queue: how many transitions of each kind were written in each period of store time. A store counts
 * them in the write that makes them, so that figures over time are read without a scan. Which transition counts as what
 * is decided here.
 */
import type { ActivityBucket, ActivityFigure, ActivityPeriod, ActivityQuery, Rates } from './figures.ts'
import type { Arrow } from './lifecycle.ts'

/** The figures, in the order in which stores keep them as a list of numbers. */
export const activityFigures = [
  'enqueued',
  'started',
  'done',
  'failed',
  'dead',
  'cancelled',
  'queuedMs',
  'runMs',
] as const satisfies readonly ActivityFigure[]

const indexOf = Object.fromEntries(activityFigures.map((figure, index) => [figure, index])) as Readonly<
  Record<ActivityFigure, number>
>

/** Length of a period, ms, and how many of the latest periods are kept: two hours of minutes, seven days of hours. */
export const activityPeriods: Readonly<Record<ActivityPeriod, { readonly ms: number; readonly kept: number }>> = {
  minute: { ms: 60_000, kept: 120 },
  hour: { ms: 3_600_000, kept: 168 },
}

export const periodNames = Object.keys(activityPeriods) as readonly ActivityPeriod[]

/** The begin of the period that contains a time, ms since the epoch. */
export const periodStart = (period: ActivityPeriod, at: number): number => {
  const { ms } = activityPeriods[period]
  return Math.floor(at / ms) * ms
}

/** The begin of the oldest period that is kept, ms since the epoch. */
export const oldestPeriod = (period: ActivityPeriod, now: number): number => {
  const { ms, kept } = activityPeriods[period]
  return periodStart(period, now) - (kept - 1) * ms
}

/** The begin of the first period that a query asks for and that is kept. */
export const firstPeriod = ({ period, from }: ActivityQuery, now: number): number =>
  Math.max(periodStart(period, from), oldestPeriod(period, now))

/** What a transition adds to the activity of its queue: indexes of `activityFigures`. */
export interface Counted {
  /** The figure that grows by one, and another one; -1 for none. */
  readonly figure: number
  readonly other: number
  /** The figure that a duration is added to, the time in the queue or of a run; -1 for none. */
  readonly time: number
  /** Is it a failed attempt? */
  readonly fails: boolean
}

const counted = (figure: ActivityFigure, time?: ActivityFigure, other?: ActivityFigure): Counted => ({
  figure: indexOf[figure],
  other: other === undefined ? -1 : indexOf[other],
  time: time === undefined ? -1 : indexOf[time],
  fails: figure === 'failed',
})

/** What an ENQUEUE counts as. */
export const enqueueCounted = counted('enqueued')
/** What a CLAIM counts as; its duration is the time in the queue. */
export const claimCounted = counted('started', 'queuedMs')

/** What a failed attempt of a promise within a machine counts as. */
export const promiseFailed = counted('failed', 'runMs')

const attemptFailures = new Set<string>(['FAIL', 'EXPIRE'])

/**
 * What an arrow of the chart counts as, but a CLAIM; null for nothing. An attempt that ends after its job was cancelled
 * has not failed.
 */
export function countedOf({ event, to }: Pick<Arrow, 'event' | 'to'>): Counted | null {
  if (to === 'cancelled') return counted('cancelled')
  if (to === 'done') return counted('done', 'runMs')
  if (attemptFailures.has(event)) return counted('failed', 'runMs', to === 'dead' ? 'dead' : undefined)
  return null
}

/** Figures as a store keeps them: a number for each of `activityFigures`. */
export type Tally = number[]

export const noActivity = (): Tally => activityFigures.map(() => 0)

/**
 * Adds a transition to figures.
 * @param ms how long the job was queued, or the attempt ran; counts from 0, because clocks are set back
 * @param times how many such transitions
 */
export function addTo(tally: Tally, { figure, other, time }: Counted, ms: number, times = 1): void {
  ;(tally[figure] as number) += times
  if (other >= 0) (tally[other] as number) += times
  if (time >= 0 && ms > 0) (tally[time] as number) += ms
}

/** Adds figures to others. */
export function addTally(tally: Tally, more: readonly number[]): void {
  for (let i = 0; i < tally.length; i++) (tally[i] as number) += more[i] ?? 0
}

/** Figures of periods by the begin of each, in any order and perhaps several of one, as buckets. */
export function bucketsOf(tallies: Iterable<readonly [at: number, tally: readonly number[]]>): ActivityBucket[] {
  const byStart = new Map<number, Tally>()
  for (const [at, tally] of tallies) {
    const same = byStart.get(at)
    if (same === undefined) byStart.set(at, [...tally])
    else addTally(same, tally)
  }
  return [...byStart].toSorted(([a], [b]) => a - b).map(([at, tally]) => ({ at, ...figuresOf(tally) }))
}

/** Figures by their names: one by one, because thousands of queues are read at once. */
export const figuresOf = (tally: readonly number[]): Readonly<Record<ActivityFigure, number>> => ({
  enqueued: figure(tally, indexOf.enqueued),
  started: figure(tally, indexOf.started),
  done: figure(tally, indexOf.done),
  failed: figure(tally, indexOf.failed),
  dead: figure(tally, indexOf.dead),
  cancelled: figure(tally, indexOf.cancelled),
  queuedMs: figure(tally, indexOf.queuedMs),
  runMs: figure(tally, indexOf.runMs),
})

const figure = (tally: readonly number[], index: number): number => Math.round(tally[index] ?? 0)

/**
 * The buckets of `count` periods up to the current one, oldest first; a period without activity has a bucket of zeros.
 */
export function everyBucket(
  buckets: readonly ActivityBucket[],
  { period, count, now }: { readonly period: ActivityPeriod; readonly count: number; readonly now: number },
): ActivityBucket[] {
  const { ms } = activityPeriods[period]
  const byStart = new Map(buckets.map((bucket) => [bucket.at, bucket]))
  const last = periodStart(period, now)
  return Array.from({ length: count }, (_, i) => {
    const at = last - (count - 1 - i) * ms
    return byStart.get(at) ?? { at, ...figuresOf([]) }
  })
}

/** The latest minutes that rates are computed from: those of five minutes, and the one that the window begins in. */
export const ratesFrom = (now: number): number => now - 5 * activityPeriods.minute.ms

/**
 * The rates of the last `minutes` minutes, of buckets of minutes. Of the minute in which the window begins, the part
 * within the window is counted as if its transitions were spread evenly.
 */
export function ratesOf(buckets: readonly ActivityBucket[], now: number, minutes: number): Rates {
  const windowMs = minutes * activityPeriods.minute.ms
  const begin = now - windowMs
  let [enqueued, started, done, failed, dead, cancelled, queuedMs, runMs] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (const bucket of buckets) {
    const end = bucket.at + activityPeriods.minute.ms
    const part = Math.min(1, Math.max(0, (end - begin) / activityPeriods.minute.ms))
    enqueued += bucket.enqueued * part
    started += bucket.started * part
    done += bucket.done * part
    failed += bucket.failed * part
    dead += bucket.dead * part
    cancelled += bucket.cancelled * part
    queuedMs += bucket.queuedMs * part
    runMs += bucket.runMs * part
  }
  const perSecond = (count: number): number => (count * 1_000) / windowMs
  const mean = (total: number, count: number): number | null => (count === 0 ? null : total / count)
  return {
    enqueued: perSecond(enqueued),
    started: perSecond(started),
    done: perSecond(done),
    failed: perSecond(failed),
    dead: perSecond(dead),
    cancelled: perSecond(cancelled),
    meanQueuedMs: mean(queuedMs, started),
    meanRunMs: mean(runMs, done + failed),
  }
}
