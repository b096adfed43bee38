/** The properties of each state of a job that the store needs, computed from the chart once. */
import { arrows, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'

export interface Phase {
  readonly name: JobState
  /** Its index in an array of counts. */
  readonly index: number
  readonly claimable: boolean
  readonly backlog: boolean
  readonly timed: boolean
  readonly leased: boolean
  readonly ended: boolean
}

export const phases: readonly Phase[] = jobStates.map((name, index) => ({
  name,
  index,
  claimable: name in arrows('CLAIM'),
  backlog: statesTagged('backlog').has(name),
  timed: statesTagged('timed').has(name),
  leased: statesTagged('leased').has(name),
  ended: statesTagged('ended').has(name),
}))

export const phaseOf = Object.fromEntries(phases.map((phase) => [phase.name, phase])) as Readonly<
  Record<JobState, Phase>
>

/** The phase from which jobs are claimed. */
export const readyPhase = phases.find(({ claimable }) => claimable) as Phase

export const backlogPhases = phases.filter((phase) => phase.backlog)
export const leasedPhases = phases.filter((phase) => phase.leased)

/** The number of jobs in some phases, from an array of counts. */
export function tally(counts: readonly number[], among: readonly Phase[]): number {
  let sum = 0
  for (let i = 0; i < among.length; i++) sum += counts[(among[i] as Phase).index] as number
  return sum
}

export const noCounts = (): number[] => phases.map(() => 0)
