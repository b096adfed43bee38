/** A commit as the parameters of one function, which judges and writes in one step. */
import type { Commit } from '../remote/commit.ts'
import { cellName } from '../remote/cells.ts'
import { pending } from '../remote/transaction.ts'
import { headColumns, madeColumn, type Ask, type Param, type ResultRow } from './connection.ts'
import { moveParams } from './figures.ts'
import { rowsText } from './jobs.ts'
import { columnOrNull, columnText, textOfColumn } from './texts.ts'

interface CommitOptions {
  readonly logMax: number
  /** Nothing is written if the table of jobs is another one, see `madeColumn`; null: nothing is known of it. */
  readonly table?: number | null
}

export function commitStatement(schema: string, commit: Commit, options: CommitOptions): Parameters<Ask> {
  const { logMax, table = null } = options
  // Numbers count from `pending`: the server gives them, and whoever reads a document counts them from its base.
  const writes = commit.writes(pending)
  const read = [...commit.revisions]
  const rooms = [...commit.rooms]
  const cells = [...new Map(writes.cells.map((cell) => [cellName(cell.cells, cell.field), cell])).values()]
  const values: Param[] = [
    logMax,
    read.map(([id]) => columnText(id)),
    read.map(([, revision]) => revision),
    commit.cells.map(({ cells: kind }) => kind),
    commit.cells.map(({ field }) => columnText(field)),
    commit.cells.map(({ value }) => columnOrNull(value)),
    rooms.map(([type]) => columnOrNull(type)),
    rooms.map(([, room]) => room),
    rowsText(writes.jobs),
    writes.jobs.flatMap(({ id, after }) => (after === null ? columnText(id) : [])),
    cells.map(({ cells: kind }) => kind),
    cells.map(({ field }) => columnText(field)),
    cells.map(({ value }) => columnOrNull(value)),
    writes.log.map(({ id }) => columnText(id)),
    writes.log.map(({ type }) => columnText(type)),
    writes.log.map(({ id: _id, type: _type, seq: _seq, ...entry }) => JSON.stringify(entry)),
    ...moveParams(writes),
  ]
  const list = values.map((_, i) => `$${i + 1}`).join(', ')
  const text = `SELECT ${headColumns(schema)}, base::float8, stale, locked, unfolded::float8
    FROM (VALUES (1)) AS one LEFT JOIN ${schema}.commit(${list})
      ON $${values.length + 1}::float8 IS NULL OR $${values.length + 1} = ${madeColumn(schema)}`
  return [text, [...values, table], 'jobchart commit']
}

export interface Committed {
  /** The number of its first transition; null if it was refused. */
  readonly base: number | null
  readonly stale: readonly string[]
  /** Jobs of which somebody else holds the row. */
  readonly locked: readonly string[]
  /** How many commits the written figures lack. */
  readonly unfolded: number
}

/** @param ask asks in a transaction that has the turn */
export async function commitInTurn(
  ask: Ask,
  schema: string,
  commit: Commit,
  options: CommitOptions,
): Promise<Committed> {
  const [row] = await ask(...commitStatement(schema, commit, options))
  return committedOf(row?.slice(2))
}

export function committedOf([base = null, stale, locked, unfolded]: ResultRow = []): Committed {
  return {
    base: base as number | null,
    stale: ((stale ?? []) as string[]).map(textOfColumn),
    locked: ((locked ?? []) as string[]).map(textOfColumn),
    unfolded: (unfolded ?? 0) as number,
  }
}
