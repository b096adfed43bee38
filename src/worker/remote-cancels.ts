/**
 * Handles hints that running jobs were cancelled or have messages. A hint holds only ids: a heartbeat confirms the
 * cancel and brings the messages.
 */
import type { BehaviorSubject } from 'rxjs'
import { JobCancelledError } from '../core/errors.ts'
import type { Run } from './attempt.ts'
import type { Claims } from './claims.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Runs } from './runs.ts'

interface RemoteCancelsOptions {
  readonly runs: Runs
  readonly claims: Claims
  readonly heartbeat: Heartbeat
  /** Is a cancel of this runtime in flight? */
  readonly cancelling: BehaviorSubject<boolean>
}

export class RemoteCancels {
  private readonly unconfirmed = new Set<Run>()
  private readonly options: RemoteCancelsOptions

  constructor(options: RemoteCancelsOptions) {
    this.options = options
    options.cancelling.subscribe(() => this.confirm())
  }

  cancelled(ids: readonly string[]): void {
    const { runs, claims } = this.options
    // Claims in flight may return a cancelled job: then it must not start.
    if (claims.size > 0) for (const id of ids) claims.refuseJob(id, new JobCancelledError(id))
    const hinted = runs.find(ids).filter((run) => run !== null && run.abortReason === null)
    if (hinted.length === 0) return
    for (const run of hinted) this.unconfirmed.add(run as Run)
    queueMicrotask(() => this.confirm())
  }

  /** These jobs have messages: fetches them for those that run here. */
  messagesArrived(ids: readonly string[]): void {
    const { runs, heartbeat } = this.options
    const open = runs.find(ids).filter((run) => run !== null && run.ending === null && run.mailbox !== null)
    if (open.length > 0) void heartbeat.refresh(open as Run[])
  }

  /** Confirms hinted cancels. Waits for pending cancels of this runtime, because their answers settle most of them. */
  private confirm(): void {
    const { cancelling, heartbeat } = this.options
    if (cancelling.value || this.unconfirmed.size === 0) return
    const open = [...this.unconfirmed].filter((run) => run.abortReason === null && run.ending === null)
    this.unconfirmed.clear()
    if (open.length > 0) void heartbeat.refresh(open)
  }
}
