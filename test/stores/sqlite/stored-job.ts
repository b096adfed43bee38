/** The rows of jobs in a file, read with a statement of its own. */
import type { DatabaseSync } from 'node:sqlite'
import { failureOf } from '../../../src/core/fingerprint.ts'
import type { ErrorRecord } from '../../../src/core/failure.ts'
import type { JobState } from '../../../src/core/lifecycle.ts'
import type { HistoryEntry } from '../../../src/core/record.ts'
import { columns, type RowValues } from '../../../src/stores/sql/columns.ts'
import { historyOf } from '../../../src/stores/sql/history.ts'
import { never, type StoredOptions } from '../../../src/stores/sql/row.ts'

export interface StoredJob {
  readonly seq: number
  readonly id: string
  readonly queue: number
  readonly state: JobState
  readonly priority: number
  readonly place: number
  readonly attempt: number
  readonly generation: number
  readonly dueAt: number | null
  readonly leaseAt: number | null
  readonly token: string | null
  readonly worker: string | null
  readonly enqueuedAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly lastSeq: number
  readonly key: string | null
  readonly heldKey: string | null
  readonly concurrencyKey: string | null
  readonly tags: string | null
  readonly checkpointed: number | null
  readonly untilStart: boolean
  /** The fingerprint of its last error. */
  readonly failure: string | null
  readonly history: readonly HistoryEntry[]
}

export function storedJobs(db: DatabaseSync): StoredJob[] {
  const statement = db.prepare(`SELECT ${columns} FROM jobs ORDER BY seq`)
  statement.setReturnArrays(true)
  return (statement.all() as unknown as RowValues[]).map(storedJob)
}

function storedJob(values: RowValues): StoredJob {
  const [seq, id, queue, state, priority, place, attempt, , generation, due, leaseAt, token, worker] = values
  const [enqueuedAt, startedAt, finishedAt, lastSeq, key, heldKey, concurrencyKey, , tags] = values.slice(13) as [
    number,
    number | null,
    number | null,
    number,
    ...(string | null)[],
  ]
  const [error, history, checkpointed, options] = [values[23], values[29], values[30], values[32]]
  return {
    ...{ seq, id, queue, state, priority, place, attempt, generation, leaseAt, token, worker },
    ...{ enqueuedAt, startedAt, finishedAt, lastSeq, checkpointed },
    ...{ key: key ?? null, heldKey: heldKey ?? null, concurrencyKey: concurrencyKey ?? null, tags: tags ?? null },
    dueAt: due === never ? null : due,
    untilStart: options !== null && (JSON.parse(options) as StoredOptions).until === 'start',
    failure: error === null ? null : failureOf(JSON.parse(error) as ErrorRecord).fingerprint,
    history: historyOf({ seq, enqueuedAt, worker }, history),
  }
}
