/**
 * Writes the checkpoints of machines. Those that are asked for in one turn, or while an earlier call is under way, are one call:
 * machines that were claimed together share a commit, and go on and end together. A machine that is alone does not wait.
 */
import { whenAnswered } from '../client/answer.ts'
import type { Timers } from '../client/timers.ts'
import type { Timer } from '../core/clock.ts'
import type { CheckpointAnswer, CheckpointRequest, Store } from '../store.ts'

/** Checkpoints of one call: a store may hold up everybody else for as long as it writes them. */
const batchMax = 200
/** A call that takes longer, ms, holds up no further ones: it may hang. */
const slowMs = 100

interface Waiting {
  readonly request: CheckpointRequest
  readonly resolve: (answer: CheckpointAnswer) => void
  readonly reject: (error: unknown) => void
}

interface CheckpointsOptions {
  readonly store: Pick<Store, 'checkpoint'>
  readonly timers: Timers
}

export class Checkpoints {
  /** One per run at most. */
  private waiting: Waiting[] = []
  /** Does a call hold up the next one, or does one begin at the end of this turn? */
  private isHeld = false
  private readonly options: CheckpointsOptions

  constructor(options: CheckpointsOptions) {
    this.options = options
  }

  /** Resolves when the checkpoint is stored or refused. Rejects if the call has failed: then it may be repeated. */
  write(request: CheckpointRequest): Promise<CheckpointAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject })
      if (this.isHeld) return
      this.isHeld = true
      queueMicrotask(() => this.next())
    })
  }

  private next(): void {
    const calls = this.waiting.splice(0, batchMax)
    this.isHeld = calls.length > 0
    if (!this.isHeld) return
    const { store, timers } = this.options
    let timer: Timer | null = null
    const call = { isSlow: false, isAnswered: false }
    const answered = (tell: (call: Waiting, i: number) => void): void => {
      timer?.cancel()
      calls.forEach(tell)
      call.isAnswered = true
      if (!call.isSlow) queueMicrotask(() => this.next())
    }
    whenAnswered(
      () => store.checkpoint(calls.map(({ request }) => request)),
      (answers) => answered(({ resolve }, i) => resolve(answers[i] as CheckpointAnswer)),
      (error) => answered(({ reject }) => reject(error)),
    )
    if (call.isAnswered) return
    const becomesSlow = (): void => {
      call.isSlow = true
      this.next()
    }
    timer = timers.after(slowMs, becomesSlow, false)
  }
}
