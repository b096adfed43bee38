/** What the store needs to know of each state of a job, asked from the chart once. */
import {
  arrows,
  arrowsFrom,
  jobStates,
  nextArrow,
  statesTagged,
  type Arrow,
  type ArrowEvent,
  type JobCounters,
  type JobState,
} from '../../job/lifecycle.ts'

export interface Phase {
  readonly name: JobState
  /** Its place in an array of counts. */
  readonly index: number
  readonly claimable: boolean
  readonly backlog: boolean
  readonly timed: boolean
  readonly held: boolean
  /** Held, and to stop: a cancel was asked for by force. */
  readonly stopping: boolean
  readonly ended: boolean
  /** What moves a job on when its time has come. */
  readonly whenDue: Extract<ArrowEvent, 'DUE' | 'WAKE'> | null
}

export const phases: readonly Phase[] = jobStates.map((name, index) => ({
  name,
  index,
  claimable: name in arrows('CLAIM'),
  backlog: statesTagged('backlog').has(name),
  timed: statesTagged('timed').has(name),
  held: statesTagged('held').has(name),
  stopping: statesTagged('held').has(name) && !(name in arrows('CANCEL')),
  ended: statesTagged('ended').has(name),
  whenDue: name in arrows('DUE') ? 'DUE' : name in arrows('WAKE') ? 'WAKE' : null,
}))

/** What one event does in one phase, where the chart leaves no choice. */
export interface Way {
  readonly arrow: Arrow
  readonly to: Phase
}

export const phaseOf = Object.fromEntries(phases.map((phase) => [phase.name, phase])) as Readonly<
  Record<JobState, Phase>
>

/** The only way of each event out of each phase, by the index of the phase; where there are several the chart is asked. */
const onlyWays: readonly Partial<Record<ArrowEvent, Way>>[] = phases.map(({ name }) => {
  const ways: Partial<Record<ArrowEvent, Way>> = {}
  for (const [event, leaving] of Object.entries(arrowsFrom(name)) as [ArrowEvent, readonly Arrow[]][]) {
    const [arrow] = leaving
    if (arrow !== undefined && arrow.guard === null) ways[event] = { arrow, to: phaseOf[arrow.to] }
  }
  return ways
})

/** Where an event leads a job now, or null if its state does not take it. */
export function wayOf(phase: Phase, event: ArrowEvent, job: JobCounters, fatal: boolean | undefined): Way | null {
  const only = (onlyWays[phase.index] as Partial<Record<ArrowEvent, Way>>)[event]
  if (only !== undefined) return only
  const arrow = nextArrow(phase.name, event, job, fatal)
  return arrow === null ? null : { arrow, to: phaseOf[arrow.to] }
}

function birth(fits: (phase: Phase) => boolean): Phase {
  const [phase, ...others] = phases.filter((candidate) => statesTagged('birth').has(candidate.name) && fits(candidate))
  if (phase === undefined || others.length > 0) throw new TypeError('job.machine.ts: births are ambiguous')
  return phase
}

/** Where a new job goes: at once, or until its time has come. */
export const bornReady = birth((phase) => phase.claimable)
export const bornTimed = birth((phase) => phase.timed)

export const backlogPhases = phases.filter((phase) => phase.backlog)
export const heldPhases = phases.filter((phase) => phase.held)
export const endedPhases = phases.filter((phase) => phase.ended)

/** Jobs in any of some phases, by an array of counts. */
export function tally(counts: readonly number[], among: readonly Phase[]): number {
  let sum = 0
  for (let i = 0; i < among.length; i++) sum += counts[(among[i] as Phase).index] as number
  return sum
}

export const noCounts = (): number[] => phases.map(() => 0)
