/** Unique keys as the jobs tell of them: for a repair, and where a job goes that cannot be read. */
import { isEnded } from '../../core/lifecycle.ts'
import { cellName, keyName, type CellKind } from '../remote/cells.ts'
import type { CellValue, Commit, Writes } from '../remote/commit.ts'
import { revisionOf, type JobDocument } from '../remote/document.ts'
import type { Ask } from './connection.ts'
import { documentColumns, documentOrNull } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

/** The name of the key of a job. */
export const keyOf = (job: JobDocument | null): string => keyName(job?.type ?? '', job?.key ?? '')

/** What jobs tell of unique keys. */
export class Keys {
  /** By name, who holds one, and who has given it up. */
  readonly jobs = new Map<string, CellValue>()
  /** Jobs that wait for the end of another one. */
  readonly waiting: JobDocument[] = []

  add(job: JobDocument): void {
    if (job.key === null || isEnded(job.state)) return
    const [cells, field] = [job.givenUpKey ? 'predecessors' : 'holders', keyOf(job)] as const
    this.jobs.set(cellName(cells, field), { cells, field, value: job.id })
    if (released(job) !== null) this.waiting.push(job)
  }
}

/** A job that waited for the end of another one, and is due at its own time now; null if it did not wait. */
const released = (job: JobDocument): JobDocument | null =>
  job.dueAfter === null || job.wakeAt !== null
    ? null
    : { ...job, rev: job.rev + 1, wakeAt: job.dueAfter, dueAfter: null }

/** Who holds unique keys, and who has given them up. @param fields null: of all */
export async function keyCells(ask: Ask, schema: string, fields: readonly string[] | null): Promise<CellValue[]> {
  const rows = await ask(
    `SELECT kind, field, value FROM ${schema}.cells
      WHERE kind IN ('holders', 'predecessors') AND ($1::text[] IS NULL OR field = ANY($1))`,
    [fields && fields.map(columnText)],
  )
  return rows.map(([kind, field, value]) => ({
    cells: kind as CellKind,
    field: textOfColumn(field as string),
    value: textOfColumn(value as string),
  }))
}

/** What is wrong of keys: jobs that wait for one that is gone are due at their own times. @param cells as they are */
export function keyWrites({ jobs, waiting }: Keys, cells: readonly CellValue[]): Pick<Writes, 'jobs' | 'cells'> {
  const kept = new Map(cells.map((cell) => [cellName(cell.cells, cell.field), cell]))
  const differ = (some: typeof kept, others: typeof kept): CellValue[] =>
    [...some].flatMap(([name, cell]) => (others.get(name)?.value === cell.value ? [] : [cell]))
  return {
    cells: [...differ(kept, jobs).map((cell) => ({ ...cell, value: null })), ...differ(jobs, kept)],
    jobs: waiting.flatMap((before): Writes['jobs'][number][] =>
      jobs.has(cellName('predecessors', keyOf(before))) ? [] : [{ id: before.id, before, after: released(before) }],
    ),
  }
}

/** What is written in place of what is wrong, and the revisions of these jobs. */
export type Corrections = Pick<Writes, 'jobs' | 'cells'> & Pick<Commit, 'revisions'>

/** What is wrong of some keys now. @param ask asks in a transaction that has the turn */
export async function keyRepairs(ask: Ask, schema: string, fields: readonly string[]): Promise<Corrections> {
  const rows = await ask(
    `SELECT ${documentColumns} FROM ${schema}.standing s
      WHERE s.unique_key = ANY($1::text[]) AND s.state NOT IN ('done', 'dead', 'cancelled')`,
    [fields.map((field) => columnText((JSON.parse(field) as [type: string, key: string])[1]))],
  )
  const keys = new Keys()
  for (const job of rows.map(documentOrNull)) if (job !== null && fields.includes(keyOf(job))) keys.add(job)
  const writes = keyWrites(keys, await keyCells(ask, schema, fields))
  return { ...writes, revisions: new Map(writes.jobs.map(({ id, before }) => [id, before && revisionOf(before)])) }
}
