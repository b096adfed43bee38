/** The handle of a queue: pauses and resumes it, and reads its figures. */
import type { Connection } from '../client/connection.ts'
import { followFigure } from '../client/follow.ts'
import type { JobDefinition } from '../core/definition.ts'
import { jobStates } from '../core/lifecycle.ts'
import type { Stream } from '../core/stream.ts'
import type { QueueInfo, StateCounts } from '../store.ts'

export interface QueueStats {
  readonly type: string
  readonly paused: boolean
  /** `weight` of its definition; 0 if its type is not among the `jobs` of this runtime or client. */
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
    const { type, connection, owner } = this
    await connection.ready()
    return queueStats(connection.settings.jobs, owner.given())(await connection.store.queue(type))
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

const noJobs = Object.fromEntries(jobStates.map((state) => [state, 0])) as unknown as StateCounts

/** A queue that the store does not know. */
export const emptyQueue = (type: string): QueueInfo => ({ type, paused: false, counts: noJobs })

/** Makes the figures of queues, of which there may be thousands: what is the same for all is summed up once. */
export function queueStats(
  jobs: ReadonlyMap<string, Pick<JobDefinition, 'weight'>>,
  given: ReadonlyMap<string, number>,
): (info: QueueInfo) => QueueStats {
  const givenToAll = Math.max(1, sum(given.values()))
  // A client may know no jobs.
  const weightSum = Math.max(1, sum(jobs.values().map(({ weight }) => weight)))
  return ({ type, paused, counts }) => {
    const priority = jobs.get(type)?.weight ?? 0
    const own = given.get(type) ?? 0
    return { type, paused, priority, counts, given: own, share: own / givenToAll, weight: priority / weightSum }
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const each of numbers) total += each
  return total
}
