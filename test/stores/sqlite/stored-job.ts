/** The jobs in a file, read with statements of its own: what each has become follows from three tables. */
import type { DatabaseSync } from 'node:sqlite'
import { failureOf } from '../../../src/core/fingerprint.ts'
import type { ErrorRecord } from '../../../src/core/failure.ts'
import type { JobState } from '../../../src/core/lifecycle.ts'
import type { HistoryEntry } from '../../../src/core/record.ts'
import { never } from '../../../src/stores/sqlite/columns.ts'
import { historyOf } from '../../../src/stores/sqlite/history.ts'
import type { StoredOptions } from '../../../src/stores/sqlite/row.ts'

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
  readonly leftKey: string | null
  readonly concurrencyKey: string | null
  readonly tags: string | null
  readonly meta: string | null
  readonly checkpointed: number | null
  readonly untilStart: boolean
  /** The fingerprint of its last error, and the one that is stored. */
  readonly failure: string | null
  readonly storedFailure: string | null
  readonly history: readonly HistoryEntry[]
}

interface StoredRow {
  readonly seq: number
  readonly id: string
  readonly queue: number
  readonly priority: number
  readonly enqueued_at: number
  readonly key: string | null
  readonly concurrency_key: string | null
  readonly tags: string | null
  readonly meta: string | null
  readonly options: string | null
}

interface StoredLife {
  readonly job: number
  readonly state: JobState
  readonly history: string | null
  readonly claimed_seq: number | null
  readonly last_seq: number
  readonly token: string | null
  readonly worker: string | null
  readonly started_at: number | null
  readonly finished_at: number | null
  readonly place: number | null
  readonly attempt: number | null
  readonly generation: number | null
  readonly due_at: number | null
  readonly held_key: string | null
  readonly left_key: string | null
  readonly error: string | null
  readonly failure: string | null
  readonly checkpointed_attempts: number | null
}

interface StoredClaim {
  readonly first: number
  readonly token: string
  readonly worker: string
  readonly at: number
  readonly lease_at: number
  readonly jobs: string
}

export function storedJobs(db: DatabaseSync): StoredJob[] {
  const rows = <Row>(text: string): Row[] => db.prepare(text).all() as unknown as Row[]
  const lives = new Map(rows<StoredLife>('SELECT * FROM lives').map((life) => [life.job, life]))
  const claims = new Map<number, StoredClaim & { readonly seq: number }>()
  for (const claim of rows<StoredClaim>('SELECT * FROM claims')) {
    for (const [i, job] of (JSON.parse(claim.jobs) as number[]).entries()) {
      if (job > 0) claims.set(job, { ...claim, seq: claim.first + i })
    }
  }
  return rows<StoredRow>('SELECT * FROM jobs ORDER BY seq').map((row) => {
    const job = storedJob(row, lives.get(row.seq))
    const claim = claims.get(row.seq)
    if (claim === undefined) return job
    const leased = { ...job, leaseAt: claim.lease_at }
    return job.state === 'running' || job.state === 'cancelling' ? leased : claimed(leased, claim)
  })
}

function storedJob(row: StoredRow, life: StoredLife | undefined): StoredJob {
  const {
    seq,
    id,
    queue,
    priority,
    enqueued_at: enqueuedAt,
    key,
    concurrency_key: concurrencyKey,
    tags,
    meta,
    options,
  } = row
  const born = { seq, id, queue, priority, enqueuedAt, key, concurrencyKey, tags, meta, leaseAt: null }
  const untilStart = options !== null && (JSON.parse(options) as StoredOptions).until === 'start'
  const none = { dueAt: null, token: null, worker: null, startedAt: null, finishedAt: null, heldKey: null }
  const more = { leftKey: null, checkpointed: null, failure: null, storedFailure: null }
  if (life === undefined) {
    const history = historyOf({ seq, enqueuedAt, worker: null }, '"queued"')
    const state = 'queued'
    return {
      ...born,
      untilStart,
      ...none,
      ...more,
      state,
      place: seq,
      attempt: 0,
      generation: 1,
      lastSeq: seq,
      history,
    }
  }
  const { state, token, worker, started_at: startedAt, finished_at: finishedAt, last_seq: lastSeq } = life
  return {
    ...{ ...born, untilStart, state, token, worker, startedAt, finishedAt, lastSeq },
    ...{ heldKey: life.held_key, leftKey: life.left_key, checkpointed: life.checkpointed_attempts },
    place: life.place ?? seq,
    attempt: life.attempt ?? 1,
    generation: life.generation ?? 1,
    dueAt: life.due_at === never ? null : life.due_at,
    failure: life.error === null ? null : failureOf(JSON.parse(life.error) as ErrorRecord).fingerprint,
    storedFailure: life.failure,
    history:
      life.history === null ? plain(seq, enqueuedAt, life) : historyOf({ seq, enqueuedAt, worker }, life.history),
  }
}

/** What a row without a history says. */
function plain(seq: number, enqueuedAt: number, life: StoredLife): HistoryEntry[] {
  const worker = life.worker ?? ''
  return [
    { seq, at: enqueuedAt, event: 'ENQUEUE', from: null, to: 'queued', attempt: 0 },
    {
      seq: Number(life.claimed_seq),
      at: Number(life.started_at),
      event: 'CLAIM',
      from: 'queued',
      to: 'running',
      attempt: 1,
      worker,
    },
    {
      seq: life.last_seq,
      at: Number(life.finished_at),
      event: 'COMPLETE',
      from: 'running',
      to: 'done',
      attempt: 1,
      worker,
    },
  ]
}

/** A job with one more transition than its row says: the CLAIM. */
function claimed(job: StoredJob, { seq, token, worker, at }: StoredClaim & { readonly seq: number }): StoredJob {
  const attempt = job.attempt + 1
  const entry = { seq, at, event: 'CLAIM', from: job.state, to: 'running', attempt, worker } as const
  const history = [...job.history, entry].slice(-100)
  return { ...job, state: 'running', attempt, token, worker, startedAt: at, lastSeq: seq, history }
}
