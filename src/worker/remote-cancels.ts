/**
 * Handles hints that running jobs were cancelled or have messages. A hint holds only ids: a heartbeat confirms the
 * cancel and brings the messages.
 */
import type { Canceller } from './cancel.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Run } from './attempt.ts'
import type { Runs } from './runs.ts'

interface RemoteCancelsOptions {
  readonly runs: Runs
  readonly canceller: Canceller
  readonly heartbeat: Heartbeat
  /** Is a claim in flight? It may return a cancelled job. */
  readonly claiming: () => boolean
}

export class RemoteCancels {
  private readonly unconfirmed = new Set<Run>()
  private readonly options: RemoteCancelsOptions

  constructor(options: RemoteCancelsOptions) {
    this.options = options
  }

  cancelled(ids: readonly string[]): void {
    const { runs, canceller, claiming } = this.options
    const hinted: Run[] = []
    runs.find(ids).forEach((run, at) => {
      if (claiming()) canceller.cancelledElsewhere(ids[at] as string)
      if (run !== null && run.abortReason === null) hinted.push(run)
    })
    if (hinted.length === 0) return
    for (const run of hinted) this.unconfirmed.add(run)
    queueMicrotask(() => this.confirm())
  }

  /** These jobs have messages: fetches them for those that run here. */
  messagesArrived(ids: readonly string[]): void {
    const { runs, heartbeat } = this.options
    const open = runs.find(ids).filter((run) => run !== null && run.ending === null && run.mailbox !== null)
    if (open.length > 0) void heartbeat.refresh(open as Run[])
  }

  /** Confirms hinted cancels. Waits for pending cancels of this runtime, because their answers settle most of them. */
  confirm(): void {
    const { canceller, heartbeat } = this.options
    if (canceller.inFlight) return
    const open = [...this.unconfirmed].filter((run) => run.abortReason === null && run.ending === null)
    this.unconfirmed.clear()
    if (open.length > 0) void heartbeat.refresh(open)
  }
}
