/**
 * The claims in flight, each from its pick to the starts of its jobs. One is in flight at a time; slots that become
 * free meanwhile go into the next, together with the settles. With 100 slots and more and a store that takes a round
 * trip it is two, each for half of the slots at most: while the store carries out one, the jobs of the other run. A
 * store whose calls cost much, whatever their size, says that it is faster with one.
 */
import type { JobchartError } from '../core/errors.ts'
import type { ClaimAnswer, ClaimedJob } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import type { Lanes } from './lanes.ts'
import type { Permits } from './permits.ts'
import type { Picks, Selector } from './selector.ts'
import type { Workload } from './workload.ts'

const retryMs = { first: 50, max: 5_000 }
/** With fewer slots two calls cost more than what their overlap gains. */
const dividedSlotsMin = 100

export class Claim {
  /** It has taken a permit for each job. */
  readonly picks: Picks
  /** Are its jobs runs? From then on cancels find them. */
  isAdmitted = false
  private refusedTypes: Map<string, JobchartError> | null = null
  private refusedJobs: Map<string, JobchartError> | null = null
  private readonly waiters: (() => void)[] = []
  private readonly cancelsWait: ReadonlyMap<string, JobchartError>

  constructor(picks: Picks, cancelsWait: ReadonlyMap<string, JobchartError>) {
    this.picks = picks
    this.cancelsWait = cancelsWait
  }

  /** If its answer has jobs of this type, they must not start. */
  refuseType(type: string, reason: JobchartError): void {
    this.refusedTypes ??= new Map()
    this.refusedTypes.set(type, reason)
  }

  /** If its answer has this job, it must not start. */
  refuseJob(id: string, reason: JobchartError): void {
    this.refusedJobs ??= new Map()
    this.refusedJobs.set(id, reason)
  }

  /** Why this job of its answer must not start; null if it may. */
  refusal({ id, type }: Pick<ClaimedJob, 'id' | 'type'>): JobchartError | null {
    return this.refusedJobs?.get(id) ?? this.cancelsWait.get(id) ?? this.refusedTypes?.get(type) ?? null
  }

  ended(): Promise<void> {
    return new Promise((resolve) => void this.waiters.push(resolve))
  }

  end(): void {
    for (const resolve of this.waiters) resolve()
    this.waiters.length = 0
  }
}

interface ClaimsOptions {
  readonly selector: Selector
  readonly permits: Permits
  readonly workload: Workload
  readonly timers: Timers
  readonly lanes: Pick<Lanes, 'nudge'>
  /** May two claims be in flight: is the store a round trip away, and a call cheap? */
  readonly isDivided: boolean
}

export class Claims {
  /** By the ids of jobs: cancels that are not sent yet. What is claimed of these jobs must not start. */
  readonly cancelsWait = new Map<string, JobchartError>()
  /** Oldest first: two at most. */
  private readonly inFlight: Claim[] = []
  private failures = 0
  private isBackingOff = false
  private isClosed = false
  /** Was the answer of a claim taken just now? */
  private hasTaken = false
  /** Answers that have arrived together with another one. */
  private readonly untaken: (() => void)[] = []
  /** How many jobs of admitted claims have not started. */
  private unstarted = 0
  private readonly options: ClaimsOptions

  constructor(options: ClaimsOptions) {
    this.options = options
  }

  get size(): number {
    return this.inFlight.length
  }

  /** How many claims may be in flight. */
  get callsMax(): number {
    return this.isDivided ? 2 : 1
  }

  /** May one more claim be sent now? */
  get mayBegin(): boolean {
    return this.inFlight.length < this.callsMax && !this.isBackingOff
  }

  /** How many jobs the next claim may request. */
  get jobsMax(): number {
    const { free, slots } = this.options.permits
    return this.isDivided ? Math.min(free, Math.ceil(slots / 2)) : free
  }

  private get isDivided(): boolean {
    return this.options.isDivided && this.options.permits.slots >= dividedSlotsMin
  }

  /** Takes the permits. */
  begin(picks: Picks): Claim {
    const { permits, workload } = this.options
    const claim = new Claim(picks, this.cancelsWait)
    permits.take(picks.jobs)
    workload.add(1)
    this.inFlight.push(claim)
    return claim
  }

  /**
   * Takes the answer of a claim: at once, or, of two that have arrived together, when the ends of the jobs of the first
   * have been written, with the next claim. The next turn of the loop writes, and in the one after it the store reads.
   * Otherwise both would go together from then on, and no job would run while the store works.
   */
  take(answer: () => void): void {
    if (this.hasTaken) {
      this.untaken.push(answer)
      return
    }
    answer()
    if (!this.isDivided) return
    const { clock } = this.options.timers
    this.hasTaken = true
    clock.nextTurn(() =>
      clock.nextTurn(() => {
        this.hasTaken = false
        const next = this.untaken.shift()
        if (next !== undefined) this.take(next)
      }),
    )
  }

  /** A claim was answered, whatever its jobs. */
  answered(): void {
    this.failures = 0
  }

  /** Applies the answer to the selection, and gives back the permits that it has not used. */
  admit(claim: Claim, answer: ClaimAnswer): void {
    const { selector, permits, workload } = this.options
    claim.isAdmitted = true
    selector.applyClaim(claim.picks, answer)
    permits.give(claim.picks.jobs - answer.jobs.length)
    workload.add(answer.jobs.length)
    this.unstarted += answer.jobs.length
  }

  /** A job of an admitted claim has started. */
  begun(): void {
    this.unstarted--
    this.endStarted()
  }

  /** Ends the admitted claims, if each of their jobs has started. */
  endStarted(): void {
    if (this.unstarted > 0) return
    for (const claim of this.inFlight.filter(({ isAdmitted }) => isAdmitted)) this.end(claim)
  }

  /** The claim failed: gives the permits back, and claims again later. */
  failed(claim: Claim): void {
    const { selector, permits } = this.options
    permits.give(claim.picks.jobs)
    selector.applyClaim(claim.picks, null)
    this.end(claim)
    this.failures++
    this.backOff()
  }

  /** Claims nothing for a while. */
  backOff(): void {
    const { timers, lanes } = this.options
    this.isBackingOff = true
    const delayMs = Math.min(retryMs.first * 2 ** Math.min(this.failures, 10), retryMs.max)
    timers.after(delayMs, () => {
      this.isBackingOff = false
      lanes.nudge()
    })
  }

  /** This job was cancelled: claims in flight may have it, and it must not start. */
  refuseJob(id: string, reason: JobchartError): void {
    for (const claim of this.inFlight) if (!claim.isAdmitted) claim.refuseJob(id, reason)
  }

  /** Releases jobs of these types in the claims in flight instead of starting them. */
  refuseTypes(types: Iterable<string>, reason: JobchartError): void {
    for (const type of types) for (const claim of this.inFlight) claim.refuseType(type, reason)
  }

  /** Resolves when the claims that are in flight now have ended, or after `close`. */
  async whenEnded(): Promise<void> {
    if (!this.isClosed) await Promise.all(this.inFlight.map((claim) => claim.ended()))
  }

  /** Ends all waits of `whenEnded`: no answer is handled any more. */
  close(): void {
    this.isClosed = true
    for (const claim of this.inFlight) claim.end()
  }

  private end(claim: Claim): void {
    this.inFlight.splice(this.inFlight.indexOf(claim), 1)
    claim.end()
    this.options.workload.done(1)
  }
}
