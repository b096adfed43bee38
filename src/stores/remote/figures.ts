/**
 * Figures of a type as plain JSON: how many jobs there are by state, by the states and tags of their machines, the
 * activity of its queue, and its failed attempts in groups. A commit folds what it has changed into them, so that
 * nothing is counted by a scan.
 */
import {
  activityPeriods,
  addTo,
  bucketsOf,
  firstPeriod,
  noActivity,
  oldestPeriod,
  periodNames,
  periodStart,
} from '../../core/activity.ts'
import { caps } from '../../core/caps.ts'
import { isEnded, type JobState } from '../../core/lifecycle.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type {
  ActivityPeriod,
  ActivityQuery,
  Counts,
  FailureGroup,
  FailureQuery,
  MachineCounts,
  QueueActivity,
} from '../../store.ts'
import type { Writes } from './commit.ts'
import { heatAfter, noHeat, type KeptHeat } from './heat.ts'
import { stateCountsOf, type JobDocument } from './document.ts'

interface CountedGroup extends FailureGroup {
  /** The number of the transition by which it has occurred last. */
  readonly lastSeq: number
}

export interface TypeFigures {
  readonly counts: Readonly<Partial<Record<JobState, number>>>
  readonly machines: MachineCounts
  /** By the begin of each period. */
  readonly activity: Readonly<Record<ActivityPeriod, Readonly<Record<string, readonly number[]>>>>
  /** Absent in what an earlier version has written. */
  readonly heat?: KeptHeat
  /** The one that has occurred last at the end. */
  readonly failures: readonly CountedGroup[]
}

export const noFigures: TypeFigures = {
  counts: {},
  machines: { states: {}, tags: {}, outcomes: {} },
  activity: { minute: {}, hour: {} },
  failures: [],
}

/** The types of which a commit changes the figures, or that it pauses: a queue is known by its figures. */
export const typesOf = ({ jobs, activity, outcomes, heat, cells }: Writes): ReadonlySet<string> =>
  new Set([
    ...cells.flatMap((cell) => (cell.cells === 'paused' ? [cell.field] : [])),
    ...jobs.flatMap(({ before, after }) => (before ?? after)?.type ?? []),
    ...activity.map(({ type }) => type),
    ...outcomes.map(({ type }) => type),
    ...heat.map(({ type }) => type),
  ])

/** The figures of a type after a commit. */
export function foldFigures(before: TypeFigures | undefined, writes: Writes, type: string): TypeFigures {
  const figures = before ?? noFigures
  const jobs = writes.jobs.filter((job) => (job.before ?? job.after)?.type === type)
  return {
    counts: countsAfter(figures, jobs),
    machines: machinesAfter(figures, jobs, writes, type),
    activity: activityAfter(figures, writes, type),
    heat: heatAfter(figures.heat ?? noHeat, writes, type),
    failures: failuresAfter(figures, jobs, writes, type),
  }
}

type Jobs = Writes['jobs']

function countsAfter({ counts }: TypeFigures, jobs: Jobs): TypeFigures['counts'] {
  const after = { ...counts }
  for (const { before, after: is, n = 1 } of jobs) {
    if (before !== null) after[before.state] = (after[before.state] ?? 0) - n
    if (is !== null) after[is.state] = (after[is.state] ?? 0) + n
  }
  return after
}

/** Only jobs that have not ended are counted by state and tag. */
function machinesAfter({ machines }: TypeFigures, jobs: Jobs, { outcomes }: Writes, type: string): MachineCounts {
  const tally = new MachineTally(machines)
  const add = (job: JobDocument | null, by: number): void => {
    if (job !== null && job.machine !== null && !isEnded(job.state)) tally.add(job.machine, by)
  }
  for (const { before, after, n = 1 } of jobs) {
    add(before, -n)
    add(after, n)
  }
  for (const each of outcomes) if (each.type === type) tally.addOutcome(each.outcome)
  return tally.counts()
}

function activityAfter({ activity }: TypeFigures, { now, ...writes }: Writes, type: string): TypeFigures['activity'] {
  const added = noActivity()
  for (const each of writes.activity) {
    if (each.type === type) addTo(added, each.counted, each.ms, each.n)
  }
  if (added.every((figure) => figure === 0)) return activity
  const after = periodNames.map((period) => {
    const start = periodStart(period, now)
    const kept = Object.entries(activity[period]).filter(([at]) => Number(at) >= oldestPeriod(period, now))
    const buckets = new Map(kept)
    const before = buckets.get(String(start)) ?? noActivity()
    buckets.set(
      String(start),
      before.map((figure, i) => figure + (added[i] ?? 0)),
    )
    return [period, Object.fromEntries(buckets)] as const
  })
  return Object.fromEntries(after) as TypeFigures['activity']
}

function failuresAfter({ failures }: TypeFigures, jobs: Jobs, writes: Writes, type: string): TypeFigures['failures'] {
  const groups = new Map(failures.map((group) => [group.fingerprint, group]))
  for (const { id, seq, failure } of writes.failures.filter((each) => each.type === type)) {
    const { fingerprint } = failure
    const group = groups.get(fingerprint) ?? { ...failure, type, count: 0, dead: 0, firstAt: writes.now }
    groups.delete(fingerprint)
    groups.set(fingerprint, { ...group, count: group.count + 1, lastAt: writes.now, lastId: id, lastSeq: seq })
    const [oldest] = groups.keys()
    if (groups.size > caps.failureGroups && oldest !== undefined) groups.delete(oldest)
  }
  const countDead = (job: JobDocument | null, by: number): void => {
    const group = job?.state === 'dead' && job.failure !== null ? groups.get(job.failure) : undefined
    if (group === undefined || (job?.finishedAt ?? 0) < group.firstAt) return
    groups.set(group.fingerprint, { ...group, dead: Math.max(0, group.dead + by) })
  }
  for (const { before, after, n = 1 } of jobs) {
    countDead(before, -n)
    countDead(after, n)
  }
  return [...groups.values()]
}

// ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

type ByType = ReadonlyMap<string, TypeFigures>

/** Numbers of jobs by `STATE`, and by `STATE:TYPE`. */
export function countsFrom(figures: ByType): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [type, { counts: ofType }] of figures) {
    for (const [state, count] of Object.entries(ofType)) {
      counts.set(state, (counts.get(state) ?? 0) + count)
      counts.set(`${state}:${type}`, count)
    }
  }
  return counts
}

/** Jobs by state, and by type and state. */
export function allCountsOf(figures: ByType): Omit<Counts, 'cursor'> {
  const counts = countsFrom(figures)
  const types = [...figures.keys()].map((type) => [type, stateCountsOf(counts, type)] as const)
  return { ...stateCountsOf(counts, null), types: Object.fromEntries(types) }
}

export function activityFrom(figures: ByType, query: ActivityQuery, now: number): QueueActivity[] {
  const { period, queues } = query
  const first = Math.max(firstPeriod(query, now), now - activityPeriods[period].ms * activityPeriods[period].kept)
  const bucketsOfTypes = (types: readonly string[]): QueueActivity['buckets'] =>
    bucketsOf(
      types.flatMap((type) =>
        Object.entries(figures.get(type)?.activity[period] ?? {}).flatMap(([at, tally]) =>
          Number(at) >= first ? [[Number(at), tally] as const] : [],
        ),
      ),
    )
  if (queues === 'total') return [{ type: null, buckets: bucketsOfTypes([...figures.keys()]) }]
  return (queues === 'each' ? [...figures.keys()] : queues).map((type) => ({ type, buckets: bucketsOfTypes([type]) }))
}

export function failuresFrom(figures: ByType, { type, limit = caps.page }: FailureQuery): FailureGroup[] {
  const groups = [...figures].flatMap(([each, { failures }]) => (type === undefined || each === type ? failures : []))
  return groups
    .toSorted((a, b) => b.lastSeq - a.lastSeq)
    .slice(0, Math.min(limit, caps.pageMax))
    .map(({ lastSeq: _lastSeq, ...group }) => group)
}
