/** Jobs as rows: a document, and the columns of it that are looked at by a statement. */
import { caps } from '../../core/caps.ts'
import type { CheckpointEntry } from '../../core/machine-record.ts'
import { numberedDocument, numberedEntry, timerOf, withLastCheckpoint, type JobDocument } from '../remote/document.ts'
import type { Writes } from '../remote/commit.ts'
import type { Ask, ResultRow } from './connection.ts'
import { plainDocumentFrom } from './plain.ts'
import { jobTerms } from './terms.ts'
import { columnOrNull, columnText, concurrencyColumn } from './texts.ts'

/** What `documentOfRow` reads, of the view `standing`. */
export const documentColumns = 's.id, s.base::float8, s.doc, s.facts'

/** A job of which something cannot be read, because something else has changed the tables. */
export class UnreadableJob extends Error {
  override readonly name = 'UnreadableJob'
  /** As its column has it. */
  readonly id: string

  constructor(id: string, cause: unknown) {
    super('a stored job cannot be read', { cause })
    this.id = id
  }
}

/**
 * @param row its second value is the number that the third one, `doc`, counts from. See `jobs` in the migrations
 * @throws UnreadableJob
 */
export function documentOfRow([id, base, doc, facts]: ResultRow): JobDocument {
  try {
    return facts === null
      ? numberedDocument(JSON.parse(doc as string) as JobDocument, base as number)
      : plainDocumentFrom(doc as string, facts as string)
  } catch (cause) {
    throw new UnreadableJob(id as string, cause)
  }
}

/** Null if it cannot be read. @param row begins with `documentColumns` */
export function documentOrNull(row: ResultRow): JobDocument | null {
  try {
    return documentOfRow(row)
  } catch {
    return null
  }
}

/** The rows that a commit writes, as JSON. */
export const rowsText = (jobs: Writes['jobs']): string =>
  JSON.stringify(jobs.flatMap(({ after }) => (after === null ? [] : rowOf(after))))

/** The columns of a document that follow from it, without its revision. */
export const followingColumns = [
  'state',
  'last_seq',
  'place',
  'priority',
  'concurrency',
  'weight',
  'wake_at',
  'finished_at',
  'unique_key',
  'worker',
  'parent',
  'failure',
  'unsupported',
  'terms',
] as const

/** What these are of a job. */
export const followingOf = (
  job: JobDocument,
  terms = jobTerms(job),
): Record<(typeof followingColumns)[number], unknown> => ({
  state: job.state,
  last_seq: job.lastSeq,
  place: job.place,
  priority: job.priority,
  concurrency: concurrencyColumn(job.concurrencyKey),
  weight: job.keyWeight,
  wake_at: timerOf(job)?.at ?? null,
  finished_at: job.finishedAt,
  unique_key: columnOrNull(job.key),
  worker: columnOrNull(job.worker),
  parent: columnOrNull(job.machine?.parent?.id),
  failure: columnOrNull(job.failure),
  unsupported: (job.machine?.unsupported ?? null) !== null,
  terms: terms.length === 0 ? null : terms,
})

const rowOf = (job: JobDocument): Record<string, unknown> => ({
  id: columnText(job.id),
  type: columnText(job.type),
  seq: job.seq,
  enqueued_at: job.enqueuedAt,
  rev: job.rev,
  ...followingOf(job),
  doc: JSON.stringify(withLastCheckpoint(job)),
})

/** The checkpoints that a commit keeps apart, see the function `keep_checkpoints`; null: nothing of them changes. */
export function keptText(jobs: Writes['jobs']): string | null {
  const kept = jobs.flatMap(({ before, after }) => {
    const known = before?.checkpoints.at(-1)?.number ?? 0
    const { checkpoints, seq: job } = after ?? { checkpoints: [], seq: before?.seq }
    const first = checkpoints[0]?.number ?? 0
    const hasBegunAnew = known > 1 && first !== known
    if (checkpoints.length <= 1 && !hasBegunAnew) return []
    const gone = (checkpoints.at(-1)?.number ?? 0) - caps.checkpoints
    return { job, first, gone, entries: checkpoints.slice(0, -1).map((each) => JSON.stringify(each)) }
  })
  return kept.length === 0 ? null : JSON.stringify(kept)
}

/** @param id of the job. @returns its checkpoints before the last one */
export async function earlierCheckpoints(ask: Ask, schema: string, id: string): Promise<readonly CheckpointEntry[]> {
  const rows = await ask(
    `SELECT c.entry, c.base::float8 FROM ${schema}.checkpoints c
      WHERE c.job = (SELECT j.seq FROM ${schema}.jobs j WHERE j.id = $1) ORDER BY c.number`,
    [columnText(id)],
  )
  return rows.map(([entry, base]) => numberedEntry(JSON.parse(entry as string) as CheckpointEntry, base as number))
}
