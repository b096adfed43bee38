/** The figures of a runtime. */
import type { StateValueFrom } from 'xstate'
import type { runtimeMachine } from '../../machines/runtime.machine.ts'
import type { QueueStats } from './queue-handle.ts'

export type RuntimeState = StateValueFrom<typeof runtimeMachine>

export interface RuntimeStats {
  readonly state: RuntimeState
  /** Why the store does not answer at the moment; null if it does. */
  readonly storeError: Error | null
  /** Slots of this process; 0 when it has stopped. */
  readonly concurrency: number
  /** Taken slots. */
  readonly taken: number
  /** Running jobs. */
  readonly running: number
  /** Abandoned handlers that still run. */
  readonly abandoned: number
  /**
   * Claims of machine jobs that this process postponed, because it knows no version that can start or resume them.
   * `list({ unsupported: true })` finds the jobs.
   */
  readonly unsupportedVersions: number
  /** None when it has stopped: the store is closed then. */
  readonly queues: readonly QueueStats[]
}
