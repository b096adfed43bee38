/** What a job with a machine, or with a parent, is beyond a plain one: its checkpoints and its messages. */
import type { MachineRow } from '../../core/unit-of-work.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Move } from '../../store.ts'

const none: readonly string[] = []

/** Hangs on the row of such a job as soon as there is something to keep. */
export class Machine implements MachineRow {
  readonly parent: Parent | null
  /** The last of them is where the machine stands. */
  checkpoints: CheckpointEntry[] = []
  /** Paths of the states it stood in at the last of them, and its tags; changed through the index of the unit. */
  states: readonly string[] = none
  tags: readonly string[] = none
  takesCancel = false
  messages: InboxEntry[] = []
  lastMessage = 0
  messageKeys: string[] = []
  checkpointedAttempts = 0
  gather: Gather | null = null
  /** The version that the job was enqueued with. */
  version: string | null = null
  unsupported: Unsupported | null = null
  /** What the last settlement woke, for whoever settles again. */
  woken: Move | null = null

  constructor(parent: Parent | null) {
    this.parent = parent
  }

  get checkpoint(): CheckpointEntry | null {
    return this.checkpoints.at(-1) ?? null
  }

  get lastRead(): number {
    return this.lastMessage - this.messages.length
  }

  /** Forgets where it stood, and what it was sent. Messages are numbered on, so that no number comes twice. */
  startOver(): void {
    this.checkpoints = []
    this.takesCancel = false
    this.messages = []
  }
}
