/** A commit as the parameters of one function, which judges and writes in one step. */
import { systemClock } from '../../core/clock.ts'
import { staleOf, type Commit, type Current } from '../remote/commit.ts'
import { cellName } from '../remote/cells.ts'
import { countsFrom } from '../remote/figures.ts'
import { heldByOthers } from '../remote/held.ts'
import { pending } from '../remote/transaction.ts'
import { headColumns, madeColumn, pause, type Ask, type Param, type ResultRow } from './connection.ts'
import { moveParams, type Figures } from './figures.ts'
import { checkpointParams, rowParams } from './jobs.ts'
import { inTurn, type OpenSchema, type Schema } from './open.ts'
import { columnOrNull, columnText, textOfColumn } from './texts.ts'

/**
 * @param table nothing is written if the table of jobs is another one, see `madeColumn`; null: nothing is known of it
 */
function commitStatement({ schema, transitionsMax }: Schema, commit: Commit, table: number | null): CommitStatement {
  // Numbers count from `pending`: the server gives them, and whoever reads a document counts them from its base.
  const writes = commit.writes(pending)
  const read = [...commit.revisions]
  const rooms = [...commit.rooms]
  const cells = [...new Map(writes.cells.map((cell) => [cellName(cell.cells, cell.field), cell])).values()]
  const values: Param[] = [
    transitionsMax,
    read.map(([id]) => columnText(id)),
    read.map(([, revision]) => revision),
    commit.cells.map(({ cells: kind }) => kind),
    commit.cells.map(({ field }) => columnText(field)),
    commit.cells.map(({ value }) => columnOrNull(value)),
    rooms.map(([type]) => columnOrNull(type)),
    rooms.map(([, room]) => room),
    ...rowParams(writes.jobs),
    writes.jobs.flatMap(({ id, after }) => (after === null ? columnText(id) : [])),
    ...checkpointParams(writes.jobs),
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
  return { statement: [text, [...values, table], 'jobchart commit'], count: writes.count }
}

interface CommitStatement {
  readonly statement: Parameters<Ask>
  /** How many transitions it writes. */
  readonly count: number
}

interface Committed {
  /** The number of its first transition, or of the next one if it has written none; null if it was refused. */
  readonly base: number | null
  readonly count: number
  readonly stale: readonly string[]
  /** Jobs of which somebody else holds the row. */
  readonly locked: readonly string[]
  /** How many commits the written figures lack. */
  readonly unfolded: number
}

/** @param ask asks in a transaction that has the turn */
export async function commitInTurn(
  ask: Ask,
  schema: Schema,
  commit: Commit,
  table: number | null = null,
): Promise<Committed> {
  const { statement, count } = commitStatement(schema, commit, table)
  const [row] = await ask(...statement)
  return committedOf(count, row?.slice(2))
}

function committedOf(count: number, [base = null, stale, locked, unfolded]: ResultRow = []): Committed {
  return {
    base: base as number | null,
    count,
    stale: ((stale ?? []) as string[]).map(textOfColumn),
    locked: ((locked ?? []) as string[]).map(textOfColumn),
    unfolded: (unfolded ?? 0) as number,
  }
}

/** A row that somebody else holds is tried for so long, ms. */
const lockedMsMax = 1_000

export class Commits {
  private readonly store: OpenSchema

  constructor(store: OpenSchema) {
    this.store = store
  }

  async commit(commit: Commit): Promise<number | readonly string[]> {
    const { figures, epoch, lane } = this.store.opened()
    // Who connects anew learns the epoch.
    await lane.current()
    if (commit.epoch !== epoch.current) return ['epoch']
    const until = systemClock.monotonic() + lockedMsMax
    for (;;) {
      const stale = commit.slots.size > 0 ? await this.inTurn(commit) : await this.atOnce(commit)
      if (!('base' in stale)) return stale
      const { base, count, unfolded, locked } = stale
      if (base !== null) {
        if (count > 0) epoch.see(base)
        await figures.foldIfMany(unfolded)
        return base
      }
      if (commit.epoch !== epoch.current) return ['epoch']
      if (locked.length === 0) return stale.stale
      if (!commit.waits) return locked.map((id) => `held ${id}`)
      if (systemClock.monotonic() > until) throw heldByOthers(locked, `PostgreSQL at ${this.store.where}`)
      await pause(20)
    }
  }

  private async atOnce(commit: Commit): Promise<Committed> {
    const { lane, time, epoch } = this.store.opened()
    const { statement, count } = commitStatement(this.store, commit, epoch.table)
    return committedOf(count, await time.learn(() => lane.query(...statement)))
  }

  /** Free slots are counted here, so that the turn is taken before. */
  private inTurn(commit: Commit): Promise<Committed | readonly string[]> {
    const { figures, time, epoch } = this.store.opened()
    const work = async (ask: Ask): Promise<Committed | readonly string[]> => {
      const current = await this.current(ask, await figures.read(ask))
      const only: Commit = { ...commit, revisions: new Map(), cells: [], rooms: new Map() }
      const stale = staleOf(only, current, time.now())
      if (stale.length > 0) return stale
      return commitInTurn(ask, this.store, commit, epoch.table)
    }
    return inTurn(this.store, work)
  }

  private async current(ask: Ask, { byType }: Figures): Promise<Current> {
    const { schema } = this.store
    const cells = await ask(`SELECT kind, field, value FROM ${schema}.cells WHERE kind IN ('workers', 'paused')`)
    const leased = await ask(
      `SELECT l.worker, sum(l.n)::int FROM (
          SELECT worker, count(*) AS n FROM ${schema}.jobs WHERE state IN ('running', 'cancelling') GROUP BY worker
          UNION ALL SELECT worker, cardinality(array_remove(jobs, 0)) FROM ${schema}.claims) l GROUP BY l.worker`,
    )
    const counts = countsFrom(byType)
    const paused = new Map(
      cells.flatMap(([kind, field, value]) =>
        kind === 'paused' ? [[textOfColumn(field as string), value as string] as const] : [],
      ),
    )
    const workers = cells.flatMap(([kind, , value]) => (kind === 'workers' ? textOfColumn(value as string) : []))
    const byWorker = new Map(leased.map(([worker, n]) => [textOfColumn((worker as string | null) ?? ''), n as number]))
    return {
      document: () => null,
      cell: (_, field) => paused.get(field) ?? null,
      values: () => workers,
      count: (state, type) => counts.get(type === null ? state : `${state}:${type}`) ?? 0,
      leasedBy: (worker) => byWorker.get(worker) ?? 0,
    }
  }
}
