/** What a job has besides its row (a checkpoint, letters, a parent), as it crosses to whoever asked: JSON still as text. */
import type { JobRecord } from '../../core/record.ts'
import type { Checkpoint, Letter, Mail, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { ClaimedJob } from '../../store.ts'

/** A letter as it stands in the file. */
export type PackedMail = [number: number, at: number, letter: string]

export interface Kept {
  readonly checkpoint: readonly [number: number, state: string] | null
  readonly inbox: readonly PackedMail[]
  /** The number of the last letter. */
  readonly letters: number
  readonly parent: Parent | null
  readonly version: string | null
  readonly unsupported: Unsupported | null
}

export const mailOf = (letters: readonly PackedMail[]): Mail[] =>
  letters.map(([number, at, letter]) => ({ number, at, letter: JSON.parse(letter) as Letter }))

/** Where a machine stands, what it has not read, and the version it was enqueued with. */
export const standing = (kept: Kept | null): Pick<ClaimedJob, 'checkpoint' | 'inbox' | 'version'> =>
  kept === null
    ? { checkpoint: null, inbox: [], version: null }
    : { checkpoint: checkpointOf(kept), inbox: mailOf(kept.inbox), version: kept.version }

type BeyondRow = 'checkpoint' | 'inbox' | 'letters' | 'parent' | 'version' | 'unsupported'

export const beyondRow = (kept: Kept | null): Pick<JobRecord, BeyondRow> => ({
  ...standing(kept),
  letters: kept?.letters ?? 0,
  parent: kept?.parent ?? null,
  unsupported: kept?.unsupported ?? null,
})

function checkpointOf({ checkpoint }: Kept): Checkpoint | null {
  if (checkpoint === null) return null
  const [number, state] = checkpoint
  return { number, state: JSON.parse(state) as Json }
}
