/**
 * Writes the checkpoints of machines. Those that are asked for in one turn, or while an earlier call is under way, are one call:
 * machines that were claimed together share a commit, and go on and end together.
 */
import type { CheckpointAnswer, CheckpointRequest, Store } from '../store.ts'
import { whenAnswered } from '../client/answer.ts'

interface Waiting {
  readonly request: CheckpointRequest
  readonly resolve: (answer: CheckpointAnswer) => void
  readonly reject: (error: unknown) => void
}

export class Checkpoints {
  /** One per run at most. */
  private waiting: Waiting[] = []
  /** Is a call under way, or does one begin at the end of this turn? */
  private busy = false
  private readonly store: Pick<Store, 'checkpoint'>

  constructor(store: Pick<Store, 'checkpoint'>) {
    this.store = store
  }

  /** Resolves when the checkpoint is stored or refused. Rejects if the call has failed: then it may be repeated. */
  write(request: CheckpointRequest): Promise<CheckpointAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject })
      if (this.busy) return
      this.busy = true
      queueMicrotask(() => this.next())
    })
  }

  private next(): void {
    const calls = this.waiting
    this.waiting = []
    this.busy = calls.length > 0
    if (!this.busy) return
    whenAnswered(
      () => this.store.checkpoint(calls.map(({ request }) => request)),
      (answers) => {
        calls.forEach(({ resolve }, i) => resolve(answers[i] as CheckpointAnswer))
        queueMicrotask(() => this.next())
      },
      (error) => {
        for (const { reject } of calls) reject(error)
        queueMicrotask(() => this.next())
      },
    )
  }
}
