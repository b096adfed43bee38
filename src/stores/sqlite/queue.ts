/** The row of a queue: whether it is paused, and the number of its jobs in each state. */
import { activityPeriods, noActivity, type Tally } from '../../core/activity.ts'
import { MachineTally, type MachineStanding } from '../../core/machine-tally.ts'
import { jobStates, statesTagged, type JobState, type StateTag } from '../../core/lifecycle.ts'
import type { MachineCounts, StateCounts } from '../../store.ts'
import type { QueueValues } from './columns.ts'
import { claimable } from './state-names.ts'

const indexOf = Object.fromEntries(jobStates.map((state, index) => [state, index])) as Readonly<
  Record<JobState, number>
>
const indexesOf = (tag: StateTag): readonly number[] => [...statesTagged(tag)].map((state) => indexOf[state])
const [backlogIndexes, leasedIndexes] = [indexesOf('backlog'), indexesOf('leased')]

export class Queue {
  readonly number: number
  readonly type: string
  paused = false
  /** Has it ever had a job with a concurrency key? */
  keyed = false
  /** The virtual clock by which its keys share the claims; null as long as none has asked for that. See `core/shares.ts`. */
  clock: number | null = null
  /** The rate limit per key of its last claim; null if there was none. */
  keyRate: string | null = null
  counts: number[] = jobStates.map(() => 0)
  /** When the current minute of its activity began, ms since the epoch, and what was counted in it. */
  minuteAt = 0
  minute: Tally = noActivity()
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
  read([, , paused, keyed, counts, clock, keyRate, minuteAt, activity, machines]: QueueValues): this {
    this.paused = paused === 1
    this.keyed = keyed === 1
    this.clock = clock
    this.keyRate = keyRate
    this.minuteAt = minuteAt
    const figures = JSON.parse(activity) as number[]
    this.minute = noActivity().map((none, i) => figures[i] ?? none)
    this.machines = machines
    const byState = JSON.parse(counts) as Partial<StateCounts>
    this.counts = jobStates.map((state) => byState[state] ?? 0)
    return this
  }

  /** Its jobs that have not ended, by the states and tags of their machines. */
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

  /** Is this time outside the current minute of its activity? */
  isPastMinute(now: number): boolean {
    return now < this.minuteAt || now >= this.minuteAt + activityPeriods.minute.ms
  }

  /** Do the jobs of a concurrency key form a key group? Those without a key do where the keys share the claims. */
  hasKeyGroup(concurrencyKey: string | null): boolean {
    return concurrencyKey !== null || this.clock !== null
  }

  get backlog(): number {
    return this.sum(backlogIndexes)
  }

  get leasedCount(): number {
    return this.sum(leasedIndexes)
  }

  get queued(): number {
    return this.counts[indexOf[claimable]] as number
  }

  in(state: JobState): number {
    return this.counts[indexOf[state]] as number
  }

  count(state: JobState, by: 1 | -1): void {
    ;(this.counts[indexOf[state]] as number) += by
  }

  stateCounts(): StateCounts {
    return named(this.counts)
  }

  private sum(indexes: readonly number[]): number {
    let sum = 0
    for (const index of indexes) sum += this.counts[index] as number
    return sum
  }
}

/** Counts by the names of their states. */
export const named = (counts: readonly number[]): StateCounts =>
  Object.fromEntries(jobStates.map((state, index) => [state, counts[index] ?? 0])) as unknown as StateCounts
