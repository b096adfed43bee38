/** A queue in the caller's hand: pause it, resume it, look at its figures. */
import type { Connection } from './flow/connection.ts'
import { followFigure } from './flow/follow.ts'
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

export class QueueHandle {
  readonly type: string
  private readonly connection: Connection
  private readonly given: () => ReadonlyMap<string, number>

  /** Made by a runtime or client. */
  constructor(connection: Connection, given: () => ReadonlyMap<string, number>, type: string) {
    this.connection = connection
    this.given = given
    this.type = type
  }

  /** After this resolves, no process picks from the queue; what runs goes on. Survives a restart on a durable store. */
  pause(): Promise<void> {
    return this.setPaused(true)
  }

  resume(): Promise<void> {
    return this.setPaused(false)
  }

  async stats(): Promise<QueueStats> {
    const { type, connection } = this
    await connection.ready()
    const { paused, counts } = await connection.store.queue(type)
    const { jobs } = connection.settings
    const given = this.given()
    const priority = jobs.get(type)?.priority ?? 0
    return {
      type,
      paused,
      priority,
      counts,
      given: given.get(type) ?? 0,
      share: (given.get(type) ?? 0) / Math.max(1, sum(given.values())),
      weight: priority / sum(jobs.values().map((job) => job.priority)),
    }
  }

  /** Its figures now, then whenever they have changed, ten times a second at most. */
  get stats$(): Stream<QueueStats> {
    return followFigure(this.connection.follow, () => this.stats())
  }

  private async setPaused(paused: boolean): Promise<void> {
    await this.connection.ready()
    await this.connection.store.queue(this.type, { paused })
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const each of numbers) total += each
  return total
}
