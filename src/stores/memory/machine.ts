/** What a job with a machine, or with a parent, has beyond its row: checkpoints and messages. */
import type { MachineRow } from '../../core/unit-of-work.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { WrittenTransition } from '../../store.ts'

const none: readonly string[] = []

/** Created for a row when there is something to keep. */
export class Machine implements MachineRow {
  readonly parent: Parent | null
  /** The oldest first; the last one is the current one. */
  checkpoints: CheckpointEntry[] = []
  /** State paths and tags at the last checkpoint; changed through the index of the unit only. */
  states: readonly string[] = none
  tags: readonly string[] = none
  takesCancel = false
  messages: InboxEntry[] = []
  lastMessage = 0
  lastRead = 0
  deferred: readonly number[] = []
  messageKeys: readonly string[] = []
  checkpointedAttempts = 0
  gather: Gather | null = null
  /** The version that the job was enqueued with. */
  version: string | null = null
  unsupported: Unsupported | null = null
  /** The WAKE of the parent by the last settlement: a repeated settlement gets the same answer. */
  woken: WrittenTransition | null = null

  constructor(parent: Parent | null) {
    this.parent = parent
  }

  get checkpoint(): CheckpointEntry | null {
    return this.checkpoints.at(-1) ?? null
  }

  forgetCheckpoints(): void {
    this.checkpoints = []
    this.takesCancel = false
  }
}
