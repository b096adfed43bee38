/** The dispatcher's lanes, most urgent first, and what travels in them. */
import type { CancelAnswer, CancelRequest, ClaimAnswer } from '../store.ts'
import type { Run } from './run.ts'

export const Lane = { control: 0, cancel: 1, settle: 2, start: 3, wake: 4, rest: 5 } as const
export const laneCount = 6

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
