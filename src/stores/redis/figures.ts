/**
 * The figures of a type: how many jobs there are in each state, and what has happened in the minute of its last
 * change. They are one text of packed numbers, which a script reads and writes with one command for all types of a
 * call. Minutes that are over stand in a hash each, and so do hours. Under the empty name stand the numbers of all
 * types together.
 */
import { activityFigures, activityPeriods, type Tally } from '../../core/activity.ts'
import { JobchartError } from '../../core/errors.ts'
import { jobStates, type JobState } from '../../core/lifecycle.ts'
import type { ActivityPeriod, StateCounts } from '../../store.ts'
import type { Reply } from './connection.ts'
import { scriptText, textOfScript } from './row-text.ts'

/** Where each stands in the list of a type, for scripts: their lists begin at 1. */
const minute = jobStates.length + 1
export const figureAt = {
  /** When the minute has begun of which the activity is. */
  minute,
  activity: minute + 1,
  /** Were others told that it has jobs? Is it paused? Has it, or had it, limits? */
  told: minute + 1 + activityFigures.length,
  /** 1: its ended jobs are to be looked at. Otherwise at the end of one if more than this are done. */
  looked: minute + 2 + activityFigures.length,
  paused: minute + 3 + activityFigures.length,
  limited: minute + 4 + activityFigures.length,
  /** Entries of the list of its queue; and may its sorted set have any (0 or 1)? See scripts/queues.ts. */
  listed: minute + 5 + activityFigures.length,
  sorted: minute + 6 + activityFigures.length,
  /** Of all types: may anybody wait for room, a slot or a cap, or is any job shown? */
  waits: minute + 7 + activityFigures.length,
  /** No job whose number is above it was ever claimed. */
  claimed: minute + 8 + activityFigures.length,
} as const
export const figuresSize = figureAt.claimed

/** The name under which the numbers of all types together stand. */
export const allTypes = ''

/** The field of the number of the last transition: no type is called so. */
export const seqField = '\x01s'

/** @throws JobchartError STORE_UNAVAILABLE if a repair has marked it: see scripts/repair.ts */
export function lastFrom(reply: Reply | undefined): number {
  const last = Number(reply ?? 0)
  if (Number.isNaN(last)) {
    throw new JobchartError('STORE_UNAVAILABLE', 'Redis: the jobs are rebuilt at the moment', {
      hint: 'If that was interrupted, do it again: jobchart doctor --repair.',
    })
  }
  return last
}

export interface TypeFigures {
  readonly counts: StateCounts
  readonly paused: boolean
  readonly minute: number
  readonly tally: Tally
  /** No job whose number is above it was ever claimed. */
  readonly claimedUpTo: number
}

/** The names of types, as the first argument of a script has them. */
export const typesText = (types: Iterable<string>): string => [...types].map(scriptText).join('\0')

/** @param reply names and numbers of types in turn, as the script `figures` answers them */
export function figuresFrom(reply: Reply | undefined): ReadonlyMap<string, TypeFigures> {
  const flat = reply as readonly string[]
  const byType = new Map<string, TypeFigures>()
  for (let i = 0; i < flat.length; i += 2) {
    const numbers = (flat[i + 1] as string).split(' ').map(Number)
    const of = (place: number): number => numbers[place - 1] ?? 0
    byType.set(textOfScript(flat[i] as string), {
      counts: Object.fromEntries(jobStates.map((state, n) => [state, numbers[n] ?? 0])) as Record<JobState, number>,
      paused: of(figureAt.paused) === 1,
      minute: of(figureAt.minute),
      tally: numbers.slice(figureAt.activity - 1, figureAt.activity - 1 + activityFigures.length),
      claimedUpTo: of(figureAt.claimed),
    })
  }
  return byType
}

/** How many jobs there are, by state, and by state and type. */
export function countsByName(figures: ReadonlyMap<string, TypeFigures>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [type, { counts: ofType }] of figures)
    for (const state of jobStates) counts.set(type === allTypes ? state : `${state}:${type}`, ofType[state])
  return counts
}

/** The begin of the period that contains the minute of some figures. */
export const periodOf = (period: ActivityPeriod, { minute: at }: TypeFigures): number =>
  Math.floor(at / activityPeriods[period].ms) * activityPeriods[period].ms
