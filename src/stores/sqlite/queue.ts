/** The row of a queue: whether it is paused, and the number of its jobs in each state. */
import { activityPeriods, noActivity, type Tally } from '../../core/activity.ts'
import type { Terms } from '../../core/job-row.ts'
import type { HeldTerms } from '../../core/key-terms.ts'
import { MachineTally, type MachineStanding } from '../../core/machine-tally.ts'
import { jobStates, statesTagged, type JobState, type StateTag } from '../../core/lifecycle.ts'
import type { Counts, MachineCounts, StateCounts } from '../../store.ts'
import type { QueueValues } from './columns.ts'
import { claimable } from './state-names.ts'

const statesOf = (tag: StateTag): readonly JobState[] => [...statesTagged(tag)]
const [backlogStates, leasedStates] = [statesOf('backlog'), statesOf('leased')]

/** No jobs in any state. */
export const noCounts: StateCounts = Object.fromEntries(jobStates.map((state) => [state, 0])) as Record<
  JobState,
  number
>

/** The counts of a queue from its row. */
export const countsFrom = (text: string): Record<JobState, number> => ({
  ...noCounts,
  ...(JSON.parse(text) as Partial<StateCounts>),
})

/** The counts of all types together, and of each. */
export function countsOf(types: readonly (readonly [type: string, counts: StateCounts])[]): Omit<Counts, 'cursor'> {
  const total = { ...noCounts }
  for (const [, counts] of types) for (const state of jobStates) total[state] += counts[state]
  return { ...total, types: Object.fromEntries(types) }
}

/** A place among jobs that wait. */
export type Front = readonly [rank: number, place: number]

export class Queue {
  readonly number: number
  readonly type: string
  paused = false
  /** Has it ever had a job with a concurrency key? */
  keyed = false
  /**
   * The virtual clock by which its keys share the claims; null as long as none has asked for that. See
   * `core/shares.ts`.
   */
  clock: number | null = null
  /** The rate limit per key of its last claim; null if there was none. */
  keyRate: string | null = null
  /** The limits per key that hold for all claims; null if none had any. */
  keyTerms: HeldTerms | null = null
  counts: Record<JobState, number> = { ...noCounts }
  /** When the current minute of its activity began, ms since the epoch, and what was counted in it. */
  minuteAt = 0
  minute: Tally = noActivity()
  terms: Terms | null = null
  /** Of its jobs without a concurrency key that wait, those up to this one were claimed; null = none. */
  front: Front | null = null
  /** How many rows up to the front are left, as far as this process knows; null = it has not counted them. */
  taken: number | null = null
  /** Did a claim of this process find it at its cap? Then the end of a run gives a hint. */
  capped = false

  /** Null as long as nobody has asked for it: most transactions do not. */
  private tally: MachineTally | null = null
  /** As JSON; null if the tally has changed since. */
  private tallyText: string | null = '{}'

  constructor(number: number, type: string) {
    this.number = number
    this.type = type
  }

  /** Sets the values of its row in the file. */
  read([
    ,
    ,
    paused,
    keyed,
    counts,
    clock,
    keyRate,
    keyTerms,
    minuteAt,
    activity,
    machines,
    rank,
    place,
  ]: QueueValues): this {
    this.paused = paused === 1
    this.front = rank === null || place === null ? null : [rank, place]
    this.keyed = keyed === 1
    this.clock = clock
    this.keyRate = keyRate
    this.keyTerms = keyTerms === null ? null : (JSON.parse(keyTerms) as HeldTerms)
    this.minuteAt = minuteAt
    const figures = JSON.parse(activity) as number[]
    this.minute = noActivity().map((none, i) => figures[i] ?? none)
    this.machines = machines
    this.counts = countsFrom(counts)
    return this
  }

  /** Its jobs by the states, tags and ends of their machines. */
  get machineTally(): MachineTally {
    return (this.tally ??= new MachineTally(JSON.parse(this.machines) as Partial<MachineCounts>))
  }

  /** The same, as JSON. */
  get machines(): string {
    return (this.tallyText ??= JSON.stringify(this.tally?.counts()))
  }

  set machines(machines: string) {
    this.tallyText = machines
    this.tally = null
  }

  countMachine(standing: MachineStanding, by: 1 | -1): void {
    this.machineTally.add(standing, by)
    this.tallyText = null
  }

  countOutcome(outcome: string): void {
    this.machineTally.addOutcome(outcome)
    this.tallyText = null
  }

  /** Is this time outside the current minute of its activity? */
  isPastMinute(now: number): boolean {
    return now < this.minuteAt || now >= this.minuteAt + activityPeriods.minute.ms
  }

  /** Do the jobs of a concurrency key form a key group? Those without a key do where the keys share the claims. */
  hasKeyGroup(concurrencyKey: string | null): boolean {
    return concurrencyKey !== null || this.clock !== null
  }

  get backlog(): number {
    return this.sum(backlogStates)
  }

  get leasedCount(): number {
    return this.sum(leasedStates)
  }

  get queued(): number {
    return this.counts[claimable]
  }

  in(state: JobState): number {
    return this.counts[state]
  }

  count(state: JobState, by: number): void {
    this.counts[state] += by
  }

  stateCounts(): StateCounts {
    return { ...this.counts }
  }

  private sum(states: readonly JobState[]): number {
    let sum = 0
    for (const state of states) sum += this.counts[state]
    return sum
  }
}
