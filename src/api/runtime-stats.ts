/** What a runtime says of itself. */
import type { StateValueFrom } from 'xstate'
import type { runtimeMachine } from '../../machines/runtime.machine.ts'
import type { QueueStats } from './queue-handle.ts'

export type RuntimeState = StateValueFrom<typeof runtimeMachine>

export interface RuntimeStats {
  readonly state: RuntimeState
  /** Why the store does not answer at present, if so. */
  readonly trouble: Error | null
  /** Slots of this process, how many are taken, and the runs that go on. */
  readonly concurrency: number
  readonly taken: number
  readonly running: number
  /** Handlers that were abandoned and still go on. */
  readonly stuck: number
  /** How often a machine job was parked because none of the versions known here can go on from its checkpoint. */
  readonly unhosted: number
  readonly queues: readonly QueueStats[]
}
