/** What travels in the dispatcher's lanes, and where it enters. */
import { Observable, type Subscriber } from 'rxjs'
import type { CancelAnswer, CancelRequest, ClaimAnswer } from '../store.ts'
import type { Run } from './attempt.ts'
import type { Lane } from './lanes.ts'

/** A change of the runtime's own state: pause, stop, slots. It applies itself. */
export interface ControlCommand {
  readonly lane: typeof Lane.control
  readonly apply: () => void
}

export interface CancelCommand {
  readonly lane: typeof Lane.cancel
  readonly request: CancelRequest
  /** Higher first among those that wait. */
  readonly priority: number
  readonly resolve: (answer: CancelAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Jobs the store has handed out, or none new: those that were held back go on. */
export interface StartCommand {
  readonly lane: typeof Lane.start
  readonly claimed: ClaimedJobs | null
}

/** Times are those of the clock of leases, ms. */
export interface ClaimedJobs {
  readonly answer: ClaimAnswer
  /** When the claim was sent: what the answer says is not older. */
  readonly sentAt: number
  /** From when on these leases must be taken as lost. */
  readonly fenceAt: number
}

/** Queues may have work. */
export interface WakeCommand {
  readonly lane: typeof Lane.wake
  readonly type: string
  readonly atMost: number
}

/** Applies itself when everything that was asked before has been handled. */
export interface IdleCommand {
  readonly lane: typeof Lane.rest
  readonly apply: () => void
}

/** A run that has ended is its own command. */
export type WorkerCommand = ControlCommand | IdleCommand | CancelCommand | Run | StartCommand | WakeCommand

/** An Observable for its one subscriber, the dispatcher. A Subject would copy and walk a list of observers for every command. */
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
