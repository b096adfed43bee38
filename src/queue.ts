/** A queue in the caller's hand: pause it, resume it, look at its figures. */
import type { Stream } from './flow/stream.ts'
import type { StateCounts } from './store.ts'

export interface QueueStats {
  readonly type: string
  readonly paused: boolean
  /** Weight of the queue. */
  readonly priority: number
  /** Jobs in each state. */
  readonly counts: StateCounts
  /** Picks this runtime has given it since its start; 0 for a client. */
  readonly given: number
  /** Its part of all picks this runtime has given, 0…1. */
  readonly share: number
  /** The part its weight asks for if every queue always has work, 0…1. */
  readonly weight: number
}

export interface QueueHost {
  pause(paused: boolean): Promise<void>
  stats(): Promise<QueueStats>
  stats$(): Stream<QueueStats>
}

export class QueueHandle {
  readonly type: string
  private readonly host: QueueHost

  /** Made by a runtime or client. */
  constructor(host: QueueHost, type: string) {
    this.host = host
    this.type = type
  }

  /** After this resolves, no process picks from the queue; what runs goes on. Survives a restart on a durable store. */
  pause(): Promise<void> {
    return this.host.pause(true)
  }

  resume(): Promise<void> {
    return this.host.pause(false)
  }

  stats(): Promise<QueueStats> {
    return this.host.stats()
  }

  /** Its figures now, then whenever they have changed, ten times a second at most. */
  get stats$(): Stream<QueueStats> {
    return this.host.stats$()
  }
}
