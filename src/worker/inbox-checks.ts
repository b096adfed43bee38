/**
 * Asks for the messages that arrived after the claim of a machine's job and before its run listened to them. The answer
 * to a checkpoint has them; runs that have written none are asked about once, together.
 */
import type { Timer } from '../core/clock.ts'
import type { Timers } from '../client/timers.ts'
import type { Run } from './attempt.ts'
import type { Heartbeat } from './heartbeat.ts'

/** Most runs have ended or written a checkpoint by then. */
const afterMs = 100
/** Runs that started up to so long after the first one are asked about with it. */
const togetherMs = 50

interface InboxChecksOptions {
  readonly heartbeat: Pick<Heartbeat, 'refresh'>
  readonly timers: Timers
}

export class InboxChecks {
  /** Runs to be asked about, and when: monotonic ms, in order. */
  private readonly due = new Map<Run, number>()
  private timer: Timer | null = null
  private readonly options: InboxChecksOptions

  constructor(options: InboxChecksOptions) {
    this.options = options
  }

  /** To be called when a run listens. */
  listens(run: Run): void {
    const { timers } = this.options
    this.due.set(run, timers.clock.monotonic() + afterMs)
    this.timer ??= timers.after(afterMs, () => this.check(), false)
  }

  /** To be called when the store has answered with all unread messages of a run. */
  answered(run: Run): void {
    this.due.delete(run)
    if (this.due.size > 0) return
    this.timer?.cancel()
    this.timer = null
  }

  private check(): void {
    const { heartbeat, timers } = this.options
    this.timer = null
    const now = timers.clock.monotonic()
    const runs: Run[] = []
    for (const [run, at] of this.due) {
      if (at > now + togetherMs) {
        this.timer = timers.after(at - now, () => this.check(), false)
        break
      }
      this.due.delete(run)
      if (run.ending === null) runs.push(run)
    }
    if (runs.length > 0) void heartbeat.refresh(runs)
  }
}
