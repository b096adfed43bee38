/** What a job has besides its row (a checkpoint, letters, a parent), as it crosses to whoever asked: JSON still as text. */
import type { JobRecord } from '../../core/record.ts'
import type { Checkpoint, Letter, Mail, Parent } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'

/** A letter as it stands in the file. */
export type PackedMail = [number: number, at: number, letter: string]

export interface Kept {
  readonly checkpoint: readonly [number: number, state: string] | null
  readonly inbox: readonly PackedMail[]
  /** The number of the last letter. */
  readonly letters: number
  readonly parent: Parent | null
}

export const mailOf = (letters: readonly PackedMail[]): Mail[] =>
  letters.map(([number, at, letter]) => ({ number, at, letter: JSON.parse(letter) as Letter }))

/** Where a machine stands, and what it has not read. */
export const standing = (kept: Kept | null): { readonly checkpoint: Checkpoint | null; readonly inbox: Mail[] } =>
  kept === null ? { checkpoint: null, inbox: [] } : { checkpoint: checkpointOf(kept), inbox: mailOf(kept.inbox) }

export const beyondRow = (kept: Kept | null): Pick<JobRecord, 'checkpoint' | 'inbox' | 'letters' | 'parent'> => ({
  ...standing(kept),
  letters: kept?.letters ?? 0,
  parent: kept?.parent ?? null,
})

function checkpointOf({ checkpoint }: Kept): Checkpoint | null {
  if (checkpoint === null) return null
  const [number, state] = checkpoint
  return { number, state: JSON.parse(state) as Json }
}
