/** Stored jobs, and claimed ones. */
import type { JobRow } from '../../core/job-row.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { JobRecord } from '../../core/record.ts'
import type { ClaimedJob } from '../../store.ts'
import { claimedOf, recordOf as recordOfJob, type ReadJob } from '../remote/record.ts'
import type { Reply } from './connection.ts'
import { historyEntries } from './history-text.ts'
import { pairs, parsedAll } from './loading.ts'
import { dataFields, parseRow, restFields, unlessUnreadable, type StoredRow } from './row-text.ts'

/** The stored data of a job. */
export interface StoredJob {
  readonly id: string
  readonly row: StoredRow
  readonly checkpoint: CheckpointEntry | null
  readonly inbox: readonly InboxEntry[]
}

const readJobOf = ({ id, row, checkpoint, inbox }: StoredJob, decoded: JobRow = row.decode(id)): ReadJob => ({
  row: decoded,
  checkpoint,
  inbox,
  history: () => historyEntries(row.history),
})

/** @param fields those that are asked for; default all */
export const recordOf = <Name extends keyof JobRecord = keyof JobRecord>(
  job: StoredJob,
  fields?: readonly Name[],
): Pick<JobRecord, Name> => recordOfJob(readJobOf(job), fields)

interface Claimed {
  readonly job: ClaimedJob
  readonly row: StoredRow
}

/** A job in the answer of the claim script; null if it cannot be read. */
export const claimedFrom = (reply: readonly Reply[]): Claimed | null => unlessUnreadable(() => readClaimed(reply))

function readClaimed(reply: readonly Reply[]): Claimed | null {
  const [first, text, input, data, steps, checkpoint, inbox] = reply
  const id = String(first)
  const row = parseRow(String(text))
  if (row === null) return null
  const rest = data === undefined ? {} : Object.fromEntries(pairs(data))
  const whole = row.withData(input === '' ? rest : { ...rest, input: String(input) }, dataFields)
  const stored: StoredJob = {
    id,
    row: whole,
    checkpoint:
      typeof checkpoint === 'string' && checkpoint !== '' ? (JSON.parse(checkpoint) as CheckpointEntry) : null,
    inbox: parsedAll<InboxEntry>(inbox),
  }
  return { job: claimedJob(stored, pairs(steps)), row: row.withData(rest, restFields) }
}

function claimedJob(stored: StoredJob, steps: readonly [string, string][]): ClaimedJob {
  const row = stored.row.decode(stored.id)
  const { input, checkpoint, inbox, meta } = recordOfJob(readJobOf(stored, row), [
    'input',
    'checkpoint',
    'inbox',
    'meta',
  ])
  return claimedOf(row, {
    input,
    steps:
      steps.length === 0 ? null : Object.fromEntries(steps.map(([name, text]) => [name, JSON.parse(text) as Json])),
    checkpoint,
    inbox,
    meta: row.terms.meta === null ? null : meta,
    record: () => recordOf(stored),
  })
}
