/** The record of a job, and single fields of it for lists that ask for some: nothing else is read from the file. */
import type { JobMachine } from '../../core/job-row.ts'
import type { Checkpoint, InboxEntry, InboxMessage } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import { allFields, fieldsOfRow, someFields, type RecordReaders } from '../../core/record-fields.ts'
import type { JobRecord } from '../../core/record.ts'
import type { PackedInboxEntry } from './columns.ts'
import { historyOf } from './history.ts'
import type { Row } from './row.ts'

/** What is kept of a job beside its row and its machine, as text. */
export interface KeptOfMachine {
  /** The state of its last checkpoint. */
  readonly checkpoint: string | null
  readonly inbox: readonly PackedInboxEntry[]
}

/** What is kept beside the row is read when it is asked for, or came with the row. */
const readers: RecordReaders<Row, KeptOfMachine> = {
  ...fieldsOfRow,
  checkpoint: (row, kept) => checkpointOf(row.machine, row.isMachine ? kept.checkpoint : null),
  inbox: (row, kept) => (row.isMachine ? inboxOf(kept.inbox) : []),
  history: (row) => historyOf(row, row.history),
}

/** @param row read with the columns for these fields at least */
export const fieldsOf = <Field extends keyof JobRecord>(
  row: Row,
  kept: KeptOfMachine,
  fields: readonly Field[],
): Pick<JobRecord, Field> => someFields(readers, row, kept, fields)

export const recordOf = (row: Row, kept: KeptOfMachine): JobRecord => allFields(readers, row, kept)

export const inboxOf = (entries: readonly PackedInboxEntry[]): InboxEntry[] =>
  entries.map(([number, at, message]) => ({ number, at, message: JSON.parse(message) as InboxMessage }))

export const checkpointOf = (
  machine: Pick<JobMachine, 'checkpoint'> | null,
  state: string | null,
): Checkpoint | null =>
  machine === null || machine.checkpoint === null || state === null
    ? null
    : { number: machine.checkpoint.number, state: JSON.parse(state) as Json }
