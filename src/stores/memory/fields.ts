/** The record of a job, and single fields of it for lists that ask for some: nothing else is copied. */
import { valueOf } from '../../core/cell.ts'
import { copyPayload } from '../../core/payload.ts'
import { allFields, fieldsOfRow, someFields, type RecordReaders } from '../../core/record-fields.ts'
import type { JobRecord } from '../../core/record.ts'
import { checkinOf, checkpointOf, historyOf, inboxOf, logLine, metaOf } from './records.ts'
import type { Row } from './row.ts'

const readers: RecordReaders<Row, void> = {
  ...fieldsOfRow,
  input: (row) => copyPayload(valueOf(row.input)),
  output: (row) => copyPayload(valueOf(row.lastRun.output)),
  errors: (row) => valueOf(row.rarely.errors).map((error) => ({ ...error })),
  checkin: checkinOf,
  logs: (row) => valueOf(row.rarely.logs).map(logLine),
  meta: (row) => metaOf(row) ?? {},
  checkpoint: checkpointOf,
  inbox: (row) => row.lists?.messages.map(inboxOf) ?? [],
  history: historyOf,
}

export const fieldsOf = <Field extends keyof JobRecord>(row: Row, fields: readonly Field[]): Pick<JobRecord, Field> =>
  someFields(readers, row, undefined, fields)

export const recordOf = (row: Row): JobRecord => allFields(readers, row, undefined)
