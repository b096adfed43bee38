/** The handle of a queue: pauses and resumes it, and reads its figures. */
import type { JobDefinition } from '../core/definition.ts'
import type { Connection } from '../client/connection.ts'
import { followFigure } from '../client/follow.ts'
import type { Stream } from '../core/stream.ts'
import type { QueueInfo, StateCounts } from '../store.ts'

export interface QueueStats {
  readonly type: string
  readonly paused: boolean
  /** Weight of the queue; 0 if its type is not among the `jobs` of this runtime or client. */
  readonly priority: number
  /** Jobs in each state. */
  readonly counts: StateCounts
  /** Picks of this queue by this runtime since its start; 0 for a client. */
  readonly given: number
  /** The fraction of all picks of this runtime, 0…1. */
  readonly share: number
  /** The fraction that the weights define if every queue always has work, 0…1. */
  readonly weight: number
}

/** Callbacks to the runtime or client that made the handle. */
export interface QueueOwner {
  /** Number of picks so far, by type. */
  given(): ReadonlyMap<string, number>
  /** Called when the queue was paused in the store. Resolves when none of its jobs starts in this process any more. */
  queuePaused(type: string): Promise<void>
}

export class QueueHandle {
  readonly type: string
  private readonly connection: Connection
  private readonly owner: QueueOwner

  /** Made by a runtime or client. */
  constructor(connection: Connection, owner: QueueOwner, type: string) {
    this.connection = connection
    this.owner = owner
    this.type = type
  }

  /**
   * Pauses the queue for all processes; on a durable store it stays paused across restarts. After this resolves no process
   * claims jobs of the queue, and none of them starts in this process: a claimed job that has not started is released, and
   * the attempt is not counted. Running jobs continue.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  async pause(): Promise<void> {
    await this.setPaused(true)
    await this.owner.queuePaused(this.type)
  }

  /** Ends the pause for all processes, and wakes them. @throws JobchartError STORE_UNAVAILABLE */
  resume(): Promise<void> {
    return this.setPaused(false)
  }

  async stats(): Promise<QueueStats> {
    await this.connection.ready()
    const info = await this.connection.store.queue(this.type)
    return queueStats(info, this.connection.settings.jobs, this.owner.given())
  }

  /** The current figures, then each new value, ten times a second at most. */
  get stats$(): Stream<QueueStats> {
    return followFigure(this.connection.follow, () => this.stats())
  }

  private async setPaused(paused: boolean): Promise<void> {
    await this.connection.ready()
    await this.connection.store.queue(this.type, { paused })
  }
}

/** @param given picks of this runtime so far, per type */
export function queueStats(
  { type, paused, counts }: QueueInfo,
  jobs: ReadonlyMap<string, JobDefinition>,
  given: ReadonlyMap<string, number>,
): QueueStats {
  const priority = jobs.get(type)?.priority ?? 0
  return {
    type,
    paused,
    priority,
    counts,
    given: given.get(type) ?? 0,
    share: (given.get(type) ?? 0) / Math.max(1, sum(given.values())),
    weight: priority / Math.max(1, sum(jobs.values().map((job) => job.priority))),
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const each of numbers) total += each
  return total
}
