/** The commands of the dispatcher and their source. */
import type { ConfirmedLease } from './lease-clock.ts'
import { Observable, type Subscriber } from 'rxjs'
import type { JobchartError } from '../core/errors.ts'
import type { CancelAnswer, CancelRequest, ClaimAnswer } from '../store.ts'
import type { Run } from './attempt.ts'
import type { Lane } from './lanes.ts'
import type { Plan } from './select.ts'

/** A change of the runtime's state: pause, stop, slots. */
export interface ControlCommand {
  readonly lane: typeof Lane.control
  readonly apply: () => void
}

export interface CancelCommand {
  readonly lane: typeof Lane.cancel
  readonly request: CancelRequest
  /** Waiting cancels are handled in descending order. */
  readonly priority: number
  readonly resolve: (answer: CancelAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Claimed jobs to start; null to continue with the jobs that were claimed before. */
export interface StartCommand {
  readonly lane: typeof Lane.start
  readonly claimed: ClaimedJobs | null
}

/** A claim in flight, from the pick to the starts of its jobs. */
export interface PendingClaim {
  /** Claims are numbered in the order in which they were sent. */
  readonly number: number
  /** It has taken a permit for each job. */
  readonly plan: Plan
  /** Its jobs were admitted: from then on cancels find them. */
  admitted: boolean
  /** Types whose jobs in its answer must not start, and why; null for none. */
  heldBack: Map<string, JobchartError> | null
  /** Called when it has ended. */
  readonly waiters: (() => void)[]
}

export interface ClaimedJobs {
  readonly claim: PendingClaim
  readonly answer: ClaimAnswer
  /** Of all its jobs. Confirmed when the claim was sent: a lower bound for the time of the answer's data. */
  readonly lease: ConfirmedLease
}

/** A queue may have work: `atMost` jobs more. Or it will, when an insert that has just been sent is done. */
export interface WakeCommand {
  readonly lane: typeof Lane.wake
  readonly type: string
  readonly atMost: number
  readonly isExpected?: boolean
}

/** Applied when all commands given before are handled. */
export interface IdleCommand {
  readonly lane: typeof Lane.idle
  readonly apply: () => void
}

/** An ended run is itself the command to settle it. */
export type WorkerCommand = ControlCommand | IdleCommand | CancelCommand | Run | StartCommand | WakeCommand

/**
 * An Observable with a single subscriber, the dispatcher. A Subject would copy its list of observers for every command.
 */
export class Commands extends Observable<WorkerCommand> {
  private subscriber: Subscriber<WorkerCommand> | null = null

  constructor() {
    super((subscriber) => {
      if (this.subscriber !== null) throw new TypeError('commands have one dispatcher')
      this.subscriber = subscriber
    })
  }

  next(command: WorkerCommand): void {
    this.subscriber?.next(command)
  }
}
