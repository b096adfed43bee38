/**
 * What is not as usual: the last hour of each queue beside the day before it, queues that no worker runs, ticks that
 * were not fired, lost workers, and machines that no worker can run. Pure: `overview.ts` reads the facts.
 */
import { counted } from '../core/counted.ts'
import { tickTimes } from '../core/tick-times.ts'
import { TimeZones } from '../core/time-zone.ts'
import type { ActivityBucket, QueueStats, ScheduleRecord, WorkerRecord } from '../index.ts'

/**
 * `no-worker`: a queue has queued jobs and no worker · `dying`, `failing`: more jobs died, or attempts failed, in the
 * last hour than usual · `slow`: jobs wait longer for a worker than usual · `paused`: jobs have waited for ten minutes
 * in a paused queue · `late-tick`: a tick is due and was not fired · `missed-tick`: the last tick of a schedule has no
 * job · `lost-worker`: a worker sends no heartbeats · `unsupported`: jobs wait for a version of their machine that no
 * worker has.
 */
export type TroubleKind =
  'no-worker' | 'dying' | 'failing' | 'slow' | 'paused' | 'late-tick' | 'missed-tick' | 'lost-worker' | 'unsupported'

export interface Trouble {
  /** The same as long as it lasts: its kind and its name. */
  readonly key: string
  readonly kind: TroubleKind
  /** The type of a queue, the name of a schedule or of a worker. */
  readonly name: string
  /** A sentence that names it. */
  readonly text: string
  /** Jobs, attempts or ms, as the kind says; of ticks and workers the time since when, ms since the epoch. */
  readonly value: number
  /** What is usual of it: in an hour of the day before; null where nothing is. */
  readonly usual: number | null
}

/** What is not as usual, as an answer has it. */
export interface TroubleShown {
  readonly trouble: readonly Trouble[]
  readonly troubleLeftOut: number
}

/** What is known of a queue. */
export interface QueueFacts extends Pick<QueueStats, 'type' | 'paused' | 'counts' | 'latencyMs'> {
  /** Workers of the type that are not lost. */
  readonly workers: number
  /** In each hour of the last 25, oldest first; hours without activity may be left out. */
  readonly hours: readonly ActivityBucket[]
  /** In each minute of the last hour. */
  readonly minutes: readonly ActivityBucket[]
}

export interface TroubleFacts {
  readonly now: number
  readonly queues: readonly QueueFacts[]
  readonly schedules: readonly ScheduleRecord[]
  readonly workers: readonly WorkerRecord[]
  /** Jobs that no worker can run, by type; `more`: there are more than were counted. */
  readonly unsupported: ReadonlyMap<string, { readonly jobs: number; readonly more: boolean }>
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Fewer ends of a kind in an hour are not compared. */
const deadMin = 3
const failedMin = 10
/** What is so many times the usual is not as usual. */
const factor = 3
/** A job may wait so long for a worker at any time, ms. */
const waitMs = minuteMs
/** A queue may be paused so long while jobs wait, ms: people pause one to mend something. */
const pausedMs = 10 * minuteMs
/** A tick may be fired so late, ms: a process that starts catches up. */
const lateMs = minuteMs

/** Of each kind so much is shown. */
const shownMax = 200

export function troubleShown(all: readonly Trouble[]): TroubleShown {
  const kinds = Map.groupBy(all, ({ kind }) => kind)
  const trouble = [...kinds.values()].flatMap((of) => of.slice(0, shownMax))
  return { trouble, troubleLeftOut: all.length - trouble.length }
}

/** May its day tell trouble of the queue? @param hours of the time since an hour ago */
export const mayBeUnlike = (
  { paused, latencyMs, workers }: Pick<QueueFacts, 'paused' | 'latencyMs' | 'workers'>,
  hours: readonly ActivityBucket[],
): boolean =>
  (!paused && workers > 0 && latencyMs > waitMs) || sum(hours, 'dead') >= deadMin || sum(hours, 'failed') >= failedMin

/** What is not as usual, the worst first. */
export function troubleOf(facts: TroubleFacts): readonly Trouble[] {
  const { queues, schedules, workers, unsupported, now } = facts
  const zones = new TimeZones()
  return [
    ...largestFirst(queues.flatMap(ofRuns)),
    ...largestFirst(queues.flatMap((queue) => ofEnds(queue, now))),
    ...queues.flatMap((queue) => ofWaits(queue, now)),
    ...schedules.flatMap((schedule) => ofTicks(schedule, zones, now)),
    ...workers.flatMap(ofWorker),
    ...Array.from(unsupported, ([type, { jobs, more }]) =>
      trouble('unsupported', type, jobs, null, `No worker can run the machines of ${jobsText(jobs, more)} of ${type}`),
    ),
  ]
}

/** Of jobs: what is dying before what is failing, and the largest of each first. */
const largestFirst = (all: readonly Trouble[]): readonly Trouble[] =>
  all.toSorted((a, b) => Number(a.kind === 'failing') - Number(b.kind === 'failing') || b.value - a.value)

const trouble = (kind: TroubleKind, name: string, value: number, usual: number | null, text: string): Trouble => ({
  key: `${kind} ${name}`,
  kind,
  name,
  text,
  value,
  usual,
})

const jobsText = (jobs: number, more: boolean): string => `${counted(jobs, 'job')}${more ? ' or more' : ''}`

function ofRuns({ type, paused, counts: { queued }, workers }: QueueFacts): readonly Trouble[] {
  if (queued === 0 || workers > 0 || paused) return []
  return [
    trouble('no-worker', type, queued, null, `${type} has ${counted(queued, 'queued job')} and no worker that runs it`),
  ]
}

/** The mean of an hour, of those of the day before the last hour in which anything happened. */
function usualOf(hours: readonly ActivityBucket[], now: number, figure: 'dead' | 'failed'): number {
  const before = hours.filter(({ at }) => at + hourMs <= now - hourMs)
  const first = before[0]?.at
  if (first === undefined) return 0
  const length = Math.max(1, (now - hourMs - first) / hourMs)
  return before.reduce((sum, bucket) => sum + bucket[figure], 0) / length
}

const sum = (buckets: readonly ActivityBucket[], figure: 'dead' | 'failed' | 'done' | 'started' | 'queuedMs'): number =>
  buckets.reduce((all, bucket) => all + bucket[figure], 0)

function ofEnds({ type, hours, minutes }: QueueFacts, now: number): readonly Trouble[] {
  const [dead, failed] = [sum(minutes, 'dead'), sum(minutes, 'failed')]
  const [usuallyDead, usuallyFailed] = [usualOf(hours, now, 'dead'), usualOf(hours, now, 'failed')]
  const unlike = (usual: number): string =>
    `in the last hour; usual are ${usual < 10 ? usual.toFixed(1) : Math.round(usual)}`
  if (dead >= deadMin && dead > factor * usuallyDead) {
    const text = `${counted(dead, 'job')} of ${type} died ${unlike(usuallyDead)}`
    return [trouble('dying', type, dead, usuallyDead, text)]
  }
  if (failed < failedMin || failed <= factor * usuallyFailed) return []
  const text = `${counted(failed, 'attempt')} of ${type} failed ${unlike(usuallyFailed)}`
  return [trouble('failing', type, failed, usuallyFailed, text)]
}

function ofWaits({ type, paused, counts, workers, latencyMs, hours }: QueueFacts, now: number): readonly Trouble[] {
  if (counts.queued === 0) return []
  if (paused) return ofPause(type, counts.queued, latencyMs)
  if (workers === 0) return []
  const before = hours.filter(({ at }) => at + hourMs <= now - hourMs)
  const started = sum(before, 'started')
  const usual = started === 0 ? null : sum(before, 'queuedMs') / started
  if (latencyMs <= Math.max(waitMs, factor * (usual ?? 0))) return []
  return [trouble('slow', type, latencyMs, usual, `The oldest queued job of ${type} waits for ${duration(latencyMs)}`)]
}

function ofPause(type: string, queued: number, latencyMs: number): readonly Trouble[] {
  if (latencyMs <= pausedMs) return []
  const text = `${type} is paused: ${counted(queued, 'job')} queued, the oldest for ${duration(latencyMs)}`
  return [trouble('paused', type, latencyMs, null, text)]
}

const duration = (ms: number): string => {
  if (ms < hourMs) return counted(Math.floor(ms / minuteMs), 'minute')
  return counted(Math.floor(ms / hourMs), 'hour')
}

/** The first tick after the last one that has a job, if it should have been fired. */
function ofTicks(schedule: ScheduleRecord, zones: TimeZones, now: number): readonly Trouble[] {
  const { name, spec, timezone, paused, last, createdAt, nextRuns, overlap, jitterMs } = schedule
  if (paused) return []
  const graceMs = lateMs + jitterMs
  const [next] = nextRuns
  if (next !== undefined && next <= now - graceMs) {
    return [trouble('late-tick', name, next, null, `The schedule ${name} was not fired for ${duration(now - next)}`)]
  }
  // Without a job of each tick there may be one that was left out for the job before it.
  if (overlap !== 'allow') return []
  const from = Math.max(last?.at ?? createdAt, now - 24 * hourMs)
  const tick = tickTimes(spec, timezone, zones).next(from)
  // A tick that a resume or a change of the terms has left out is counted nowhere: it was not missed.
  if (schedule.missed === 0 || tick === null || tick > now - graceMs) return []
  return [
    trouble('missed-tick', name, tick, null, `A tick of the schedule ${name} was missed ${duration(now - tick)} ago`),
  ]
}

function ofWorker({ id, name, host, lost, seenAt, running }: WorkerRecord): readonly Trouble[] {
  if (!lost) return []
  const jobs = running.length === 0 ? '' : `; it ran ${counted(running.length, 'job')}`
  return [
    {
      ...trouble('lost-worker', name, seenAt, null, `The worker ${name} on ${host} is lost${jobs}`),
      key: `lost-worker ${id}`,
    },
  ]
}
