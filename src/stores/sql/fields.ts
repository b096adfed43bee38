/** The record of a job, and single fields of it for lists that ask for some: nothing else is read from the file. */
import { allFields, fieldsOfRow, someFields, type RecordReaders } from '../../core/record-fields.ts'
import type { JobRecord } from '../../core/record.ts'
import { historyOf } from './history.ts'
import { checkpointOf, inboxOf, type KeptOfMachine } from './machine.ts'
import type { Row } from './row.ts'

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
