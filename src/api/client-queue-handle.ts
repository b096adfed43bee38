/** Queues as a client or runtime gives them to its users: the handle of one, and the figures. */
import type { Connection } from '../client/connection.ts'
import { followFigure } from '../client/follow.ts'
import type { JobDefinition } from '../core/definition.ts'
import { jobStates } from '../core/lifecycle.ts'
import type { Stream } from '../core/stream.ts'
import type { QueueInfo, StateCounts } from '../store.ts'
import type { QueueHandle, QueueStats } from './queue-handle.ts'

/** Callbacks to the runtime or client that made the handle. */
interface QueueOwner {
  /** Number of picks so far, by type. */
  given(): ReadonlyMap<string, number>
  /** Called when the queue was paused in the store. Resolves when none of its jobs starts in this process any more. */
  queuePaused(type: string): Promise<void>
}

export class ClientQueueHandle implements QueueHandle {
  readonly type: string
  private readonly connection: Connection
  private readonly owner: QueueOwner

  constructor(connection: Connection, owner: QueueOwner, type: string) {
    this.connection = connection
    this.owner = owner
    this.type = type
  }

  async pause(): Promise<void> {
    await this.setPaused(true)
    await this.owner.queuePaused(this.type)
  }

  resume(): Promise<void> {
    return this.setPaused(false)
  }

  async stats(): Promise<QueueStats> {
    const { type, connection, owner } = this
    await connection.ready()
    return queueStats(connection.settings.jobs, owner.given())(await connection.store.queue(type))
  }

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
  jobs: ReadonlyMap<string, Pick<JobDefinition, 'weight' | 'capacity'>>,
  given: ReadonlyMap<string, number>,
): (info: QueueInfo) => QueueStats {
  const givenToAll = Math.max(1, sum(given.values()))
  // A client may know no jobs.
  const weightSum = Math.max(1, sum(jobs.values().map(({ weight }) => weight)))
  return ({ type, paused, counts }) => {
    const priority = jobs.get(type)?.weight ?? 0
    const own = given.get(type) ?? 0
    const capacity = jobs.get(type)?.capacity ?? null
    return {
      type,
      paused,
      priority,
      capacity,
      counts,
      given: own,
      share: own / givenToAll,
      weight: priority / weightSum,
    }
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const each of numbers) total += each
  return total
}
