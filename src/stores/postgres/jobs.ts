/** Jobs as rows: a document, and the columns of it that are looked at by a statement. */
import { numberedDocument, timerOf, type JobDocument } from '../remote/document.ts'
import type { Writes } from '../remote/commit.ts'
import type { Param, ResultRow } from './connection.ts'
import { columnText, listText } from './texts.ts'

/** What `documentFrom` reads. */
export const documentColumns = 'j.base::float8, j.doc'

/** @param base the number that the doc counts from. See `jobs` in the migrations */
export const documentFrom = (base: unknown, doc: unknown): JobDocument =>
  numberedDocument(JSON.parse(doc as string) as JobDocument, base as number)

export const documentOfRow = ([base, doc]: ResultRow): JobDocument => documentFrom(base, doc)

/** A concurrency key as it is in a column. */
export const concurrencyColumn = (key: string | null): string => (key === null ? '' : `=${columnText(key)}`)

const orNull = (text: string | null | undefined): string | null =>
  text === null || text === undefined ? null : columnText(text)

/** The lists that are the parameters of a commit for the jobs that it writes, in their order. */
export function jobParams(jobs: Writes['jobs']): Param[] {
  const written = jobs.flatMap(({ before, after }) => (after === null ? [] : [{ isKnown: before !== null, after }]))
  const list = <T extends string | number | boolean | null>(of: (job: JobDocument) => T): T[] =>
    written.map(({ after }) => of(after))
  return [
    written.map(({ isKnown }) => isKnown),
    list(({ id }) => columnText(id)),
    list(({ rev }) => rev),
    list(({ state }) => state),
    list(({ type }) => columnText(type)),
    list(({ seq }) => seq),
    list(({ lastSeq }) => lastSeq),
    list(({ place }) => place),
    list(({ priority }) => priority),
    list(({ concurrencyKey }) => concurrencyColumn(concurrencyKey)),
    list(({ keyWeight }) => keyWeight),
    list((job) => timerOf(job)?.at ?? null),
    list(({ enqueuedAt }) => enqueuedAt),
    list(({ finishedAt }) => finishedAt),
    list(({ key }) => orNull(key)),
    list(({ worker }) => orNull(worker)),
    list(({ machine }) => orNull(machine?.parent?.id)),
    list(({ failure }) => orNull(failure)),
    list(({ machine }) => (machine?.unsupported ?? null) !== null),
    list(({ tags }) => listText(tags)),
    list(({ machine }) => listText(machine?.states ?? [])),
    list(({ machine }) => listText(machine?.tags ?? [])),
    list((job) => JSON.stringify(job)),
  ]
}
