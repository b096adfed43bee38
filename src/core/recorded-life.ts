/** The record of what a machine job has lived, and where a changed machine would have gone another way. */
import type { CheckpointEntry } from './machine-record.ts'
import type { Json } from './payload.ts'

/**
 * The checkpoints of a job that are kept, each with the events that led to it. It holds what the job holds: input,
 * context, events.
 */
export interface RecordedLife {
  readonly id: string
  readonly type: string
  readonly input?: Json
  /** Oldest first. */
  readonly checkpoints: readonly CheckpointEntry[]
}

/** Where a job would have gone another way. */
export interface Divergence {
  readonly id: string
  readonly type: string
  /** The number of the first checkpoint at which it differs. */
  readonly checkpoint: number
  /** The events between the checkpoint before and this one. */
  readonly events: readonly string[]
  /**
   * Paths of the active states at this checkpoint, as the new machine names them, and of those that the new machine has
   * reached.
   */
  readonly expected: readonly string[]
  readonly reached: readonly string[]
  /** Why the new machine could not go on; null if it did. */
  readonly reason: string | null
}

/** An event that led to a checkpoint, for people to read. */
export interface LivedEvent {
  /** ms since the epoch. */
  readonly at: number
  readonly type: string
  /** Its other fields; `{}` if it has none. */
  readonly data: Json
  /**
   * Where it came from: `start` of the machine · `caller`: `send` · `cancel` of the job · `timer` · `actor`: work, a
   * machine or a job that the machine has begun.
   */
  readonly from: 'start' | 'caller' | 'cancel' | 'timer' | 'actor'
  /** The id of that actor. */
  readonly actor: string | null
  /** The id of the child job that the actor was. */
  readonly job: string | null
  /** The address of the machine within the job that got it; `''` for the job's own. */
  readonly to: string
}
