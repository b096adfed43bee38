/** Jobs as rows: a document, and the columns of it that are looked at by a statement. */
import type { CheckpointEntry } from '../../core/machine-record.ts'
import { numberedDocument, numberedEntry, timerOf, usual, type JobDocument } from '../remote/document.ts'
import type { Writes } from '../remote/commit.ts'
import { pending } from '../remote/transaction.ts'
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
      ? documentFrom(doc as string, base as number)
      : plainDocumentFrom(doc as string, facts as string)
  } catch (cause) {
    throw new UnreadableJob(id as string, cause)
  }
}

/** What is left out of the texts of documents that have it. */
const usualOf: ReadonlyMap<string, unknown> = new Map(Object.entries(usual))

/** Lists and steps are new ones in each document. */
function isUsual(name: string, value: unknown): boolean {
  const own = usualOf.get(name)
  if (value === own) return own !== undefined
  if (own === usual.steps) return Object.keys(value as JobDocument['steps']).length === 0
  return Array.isArray(own) && (value as readonly unknown[]).length === 0
}

/** The text of a document, without its checkpoints. */
const documentText = (job: JobDocument): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(job).filter(([name, value]) => name !== 'checkpoints' && !isUsual(name, value))),
  )

/** A document of its text, which is behind a line of its last checkpoint if it has one. */
function documentFrom(text: string, base: number): JobDocument {
  if (text.startsWith('{')) return numberedDocument({ ...usual, ...(JSON.parse(text) as JobDocument) }, base)
  const end = text.indexOf('\n')
  const [own, entry] = [text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' '), end)]
  const checkpoints = [numberedEntry(JSON.parse(entry) as CheckpointEntry, Number(own))]
  return { ...documentFrom(text.slice(end + 1), base), checkpoints }
}

/** Null if it cannot be read. @param row begins with `documentColumns` */
export function documentOrNull(row: ResultRow): JobDocument | null {
  try {
    return documentOfRow(row)
  } catch {
    return null
  }
}

/** The rows that a commit writes: their columns as JSON, and a line of each document. */
export function rowParams(jobs: Writes['jobs']): readonly [columns: string, documents: string] {
  const written = jobs.flatMap(({ after }) => after ?? [])
  const documents = written.map(documentText)
  return [JSON.stringify(written.map(rowOf)), documents.join('\n')]
}

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
  'checkpoint',
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
  checkpoint: job.machine?.checkpoint?.number ?? null,
})

const rowOf = (job: JobDocument): Record<string, unknown> => ({
  id: columnText(job.id),
  type: columnText(job.type),
  seq: job.seq,
  enqueued_at: job.enqueuedAt,
  rev: job.rev,
  ...followingOf(job),
})

/** The checkpoints that a commit writes: see the function `keep_checkpoints`. @param jobs numbered from `pending` on */
export function checkpointParams(
  jobs: Writes['jobs'],
): readonly [anew: number[], ...kept: [number[], number[], string]] {
  const anew = jobs.flatMap(({ before, after }) => {
    const last = before?.checkpoints.at(-1)
    return before === null || last === undefined || after?.checkpoints[0]?.seq === last.seq ? [] : before.seq
  })
  const kept = jobs.flatMap(({ before, after }) =>
    (after?.checkpoints ?? [])
      .filter(({ seq }) => before === null || seq >= pending)
      .map((entry) => ({ job: after?.seq ?? 0, entry })),
  )
  const entries = kept.map(({ entry }) => JSON.stringify(entry)).join('\n')
  return [anew, kept.map(({ job }) => job), kept.map(({ entry }) => entry.number), entries]
}

/** @param id of the job. @returns its checkpoints */
export async function earlierCheckpoints(ask: Ask, schema: string, id: string): Promise<readonly CheckpointEntry[]> {
  const rows = await ask(
    `SELECT c.entry, c.base::float8 FROM ${schema}.checkpoints c
      WHERE c.job = (SELECT j.seq FROM ${schema}.jobs j WHERE j.id = $1) ORDER BY c.number`,
    [columnText(id)],
  )
  return rows.map(([entry, base]) => numberedEntry(JSON.parse(entry as string) as CheckpointEntry, base as number))
}
