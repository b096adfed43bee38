/** What a runtime says of itself. */
import type { StateValueFrom } from 'xstate'
import type { runtimeMachine } from '../../machines/runtime.machine.ts'
import type { QueueStats } from './queue-handle.ts'

export type RuntimeState = StateValueFrom<typeof runtimeMachine>

export interface RuntimeStats {
  readonly state: RuntimeState
  /** Why the store does not answer at present, if so. */
  readonly storeError: Error | null
  /** Slots of this process, how many are taken, and the runs that go on. */
  readonly concurrency: number
  readonly taken: number
  readonly running: number
  /** Handlers that were abandoned and still go on. */
  readonly abandoned: number
  /**
   * Claims of machine jobs that this process has put off, because none of the versions it knows can begin or go on with them.
   * `list({ unsupported: true })` finds the jobs.
   */
  readonly unsupportedVersions: number
  readonly queues: readonly QueueStats[]
}
