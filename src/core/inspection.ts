/** Inspection events of machines, in the format of Stately Inspector (`@statelyai/inspect`). */
import type { Json } from './payload.ts'

interface InspectionBase {
  /** The actor: the id of the job; of a child, the id of its parent, a slash and its own id. */
  readonly sessionId: string
  /** The id of the job. */
  readonly rootId: string
  /** Milliseconds since the epoch, by the store's clock, as text. */
  readonly createdAt: string
  /** Always null, as in Stately's own events. */
  readonly id: null
  /** The version of Stately Inspector whose format it is. */
  readonly _version: string
}

/** An actor of a machine has started, or was restored from a checkpoint. */
export interface ActorInspection extends InspectionBase {
  readonly type: '@xstate.actor'
  readonly name: string
  readonly parentId: string | undefined
  /** The config of its machine as JSON; of another actor, its id. */
  readonly definition: string
  readonly snapshot: Json
}

/** An event was sent to an actor. */
export interface EventInspection extends InspectionBase {
  readonly type: '@xstate.event'
  readonly event: Json
  /** The actor that sent it; undefined if it came from outside. */
  readonly sourceId: string | undefined
}

/** An actor has a new snapshot. */
export interface SnapshotInspection extends InspectionBase {
  readonly type: '@xstate.snapshot'
  readonly event: Json
  readonly snapshot: Json
}

export type MachineInspection = ActorInspection | EventInspection | SnapshotInspection

/** Called with each inspection event. */
export type Inspect = (event: MachineInspection) => void
