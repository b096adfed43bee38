/**
 * Marks: running jobs that somebody has cancelled or written to, as a hint of the store tells. The hint names them and no
 * more: what was said, and whether it is so, the store is asked.
 */
import type { Canceller } from './cancel.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Run } from './attempt.ts'
import type { Runs } from './runs.ts'

export interface RemoteCancelsOptions {
  readonly runs: Runs
  readonly canceller: Canceller
  readonly heartbeat: Heartbeat
  /** Is a claim under way? What it hands out may be among the marked. */
  readonly claiming: () => boolean
}

export class RemoteCancels {
  private readonly toAsk = new Set<Run>()
  private readonly options: RemoteCancelsOptions

  constructor(options: RemoteCancelsOptions) {
    this.options = options
  }

  cancelled(ids: readonly string[]): void {
    const { runs, canceller, claiming } = this.options
    const marked: Run[] = []
    runs.find(ids).forEach((run, at) => {
      if (claiming()) canceller.cancelledElsewhere(ids[at] as string)
      if (run !== null && run.abortReason === null) marked.push(run)
    })
    if (marked.length === 0) return
    for (const run of marked) this.toAsk.add(run)
    queueMicrotask(() => this.ask())
  }

  /** These jobs have messages: those that run here ask for theirs. */
  messagesArrived(ids: readonly string[]): void {
    const { runs, heartbeat } = this.options
    const open = runs.find(ids).filter((run) => run !== null && run.ending === null && run.mailbox !== null)
    if (open.length > 0) void heartbeat.ask(open as Run[])
  }

  /** What a cancel of this very runtime has done is known when it is answered; then only the others are asked about. */
  ask(): void {
    const { canceller, heartbeat } = this.options
    if (canceller.inFlight) return
    const open = [...this.toAsk].filter((run) => run.abortReason === null && run.ending === null)
    this.toAsk.clear()
    if (open.length > 0) void heartbeat.ask(open)
  }
}
