/** What a job has besides its row (a checkpoint, messages, a parent), as it leaves the engine: JSON as text. */
import type { JobRecord } from '../../core/record.ts'
import type { Checkpoint, InboxMessage, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { ClaimedJob } from '../../store.ts'
import type { PackedInboxEntry } from './columns.ts'

export interface StoredMachine {
  readonly checkpoint: readonly [number: number, state: string] | null
  readonly inbox: readonly PackedInboxEntry[]
  readonly deferred: readonly number[]
  /** The number of the last message. */
  readonly lastMessageNumber: number
  readonly parent: Parent | null
  readonly version: string | null
  readonly unsupported: Unsupported | null
  readonly machineStates: readonly string[]
  readonly machineTags: readonly string[]
}

export const inboxOf = (entries: readonly PackedInboxEntry[]): InboxEntry[] =>
  entries.map(([number, at, message]) => ({ number, at, message: JSON.parse(message) as InboxMessage }))

/** The checkpoint, the messages, and the version of the enqueue. */
export const standing = (kept: StoredMachine | null): Pick<ClaimedJob, 'checkpoint' | 'inbox' | 'version'> =>
  kept === null
    ? { checkpoint: null, inbox: [], version: null }
    : { checkpoint: checkpointOf(kept), inbox: inboxOf(kept.inbox), version: kept.version }

/** The fields of a record that are kept beside the row of the job. */
export type MachineFields = Pick<
  JobRecord,
  | 'checkpoint'
  | 'inbox'
  | 'deferred'
  | 'lastMessageNumber'
  | 'parent'
  | 'version'
  | 'unsupported'
  | 'machineStates'
  | 'machineTags'
>

export const machineFields = (kept: StoredMachine | null): MachineFields => ({
  ...standing(kept),
  deferred: kept?.deferred ?? [],
  lastMessageNumber: kept?.lastMessageNumber ?? 0,
  parent: kept?.parent ?? null,
  unsupported: kept?.unsupported ?? null,
  machineStates: kept?.machineStates ?? [],
  machineTags: kept?.machineTags ?? [],
})

function checkpointOf({ checkpoint }: StoredMachine): Checkpoint | null {
  if (checkpoint === null) return null
  const [number, state] = checkpoint
  return { number, state: JSON.parse(state) as Json }
}
