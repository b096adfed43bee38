/** Writes the checkpoints of machines: those that were claimed together share a commit, go on and end together. */
import { roughSize } from '../core/payload.ts'
import type { Timers } from '../client/timers.ts'
import type { CheckpointAnswer, CheckpointRequest, Store } from '../store.ts'
import { GatheredCalls, type AbortableRun } from './gathered-calls.ts'

interface CheckpointsOptions {
  readonly store: Pick<Store, 'checkpoint' | 'capabilities'>
  readonly timers: Timers
}

export class Checkpoints {
  private readonly calls: GatheredCalls<CheckpointRequest, CheckpointAnswer>

  constructor({ store, timers }: CheckpointsOptions) {
    const { capabilities } = store
    this.calls = new GatheredCalls({ ask: (requests) => store.checkpoint(requests), sizeOf, capabilities, timers })
  }

  /**
   * Resolves when the checkpoint is stored or refused. Rejects if the call has failed: then it may be repeated.
   * @param run when it aborts, the checkpoint does not wait for other calls
   */
  write(request: CheckpointRequest, run: AbortableRun): Promise<CheckpointAnswer> {
    return this.calls.write(request, run)
  }
}

/** A state that cannot be read has no bytes: its checkpoint is refused by the store. */
function sizeOf({ checkpoint }: CheckpointRequest): number {
  try {
    return roughSize(checkpoint.state)
  } catch {
    return 0
  }
}
