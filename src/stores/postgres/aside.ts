/**
 * Jobs that cannot be read, because something else has changed the tables. Their rows are moved to a table of their
 * own, so that nothing finds them but their ids, and no other job is held up.
 */
import { JobchartError } from '../../core/errors.ts'
import type { JobState } from '../../core/lifecycle.ts'
import { keyName } from '../remote/cells.ts'
import type { CellValue, Commit, Writes } from '../remote/commit.ts'
import type { JobDocument } from '../remote/document.ts'
import { commitInTurn } from './commit.ts'
import type { Ask, ResultRow } from './connection.ts'
import { documentColumns, documentOrNull, UnreadableJob } from './jobs.ts'
import { keyRepairs, type Corrections } from './keys.ts'
import { inTurn, type OpenSchema, type Schema } from './open.ts'
import { machineOfTerms } from './terms.ts'
import { columnText, textOfColumn } from './texts.ts'

/** So many jobs are set aside for one read. */
const roundsMax = 1_000

export class Aside {
  private readonly store: OpenSchema
  private readonly met: string[] = []

  constructor(store: OpenSchema) {
    this.store = store
  }

  /** The ids of the jobs that this process has set aside since the last call. */
  takeMet(): string[] {
    return this.met.splice(0)
  }

  /** Reads, again after each job that cannot be read: that is set aside. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    for (let rounds = 1; ; rounds++) {
      try {
        return await read()
      } catch (error) {
        if (!(error instanceof UnreadableJob)) throw error
        if (rounds === roundsMax) throw tooMany(this.store.where, error)
        await this.set([error.id])
      }
    }
  }

  /**
   * Sets those of some jobs aside that cannot be read.
   * @param columns their ids, as columns have them
   * @throws JobchartError STORE_UNAVAILABLE if others hold them
   */
  async set(columns: readonly string[]): Promise<void> {
    const { ids, isHeld } = await inTurn(this.store, (ask) => setAside(ask, this.store, columns))
    this.met.push(...ids)
    if (isHeld) throw held(this.store.where)
  }

  /** Removes jobs that were set aside. @returns those of the ids that were there */
  async discard(ids: readonly string[]): Promise<readonly string[]> {
    const text = `DELETE FROM ${this.store.schema}.aside WHERE id = ANY($1::text[]) RETURNING id`
    const rows = await this.store.opened().lane.query(text, [ids.map(columnText)])
    return [...new Set(rows.map(([id]) => textOfColumn(id as string)))]
  }
}

const tooMany = (where: string, cause: UnreadableJob): JobchartError =>
  new JobchartError('STORE_CORRUPT', `PostgreSQL at ${where}: more than ${roundsMax} stored jobs cannot be read`, {
    hint: 'Run `jobchart doctor --repair`.',
    cause,
  })

const held = (where: string): JobchartError =>
  new JobchartError(
    'STORE_UNAVAILABLE',
    `PostgreSQL at ${where}: another transaction holds a job that cannot be read`,
    {
      hint: 'The call may be repeated when that transaction has ended.',
    },
  )

/** @param ask asks in a transaction that has the turn. @returns the ids of those that were set aside */
export async function setAside(
  ask: Ask,
  store: Schema,
  columns: readonly string[],
): Promise<{ readonly ids: readonly string[]; readonly isHeld: boolean }> {
  const { schema } = store
  const rows = await ask(
    `SELECT ${documentColumns}, s.rev || ':' || s.seq, s.state, s.type, s.unique_key, s.failure, s.finished_at::float8,
        s.terms
      FROM ${schema}.standing s WHERE s.id = ANY($1::text[])`,
    [columns],
  )
  const ids: string[] = []
  for (const row of rows.filter((each) => documentOrNull(each) === null)) {
    if (!(await committed(ask, store, await leaving(ask, schema, row)))) return { ids, isHeld: true }
    const values = row.slice(0, 4) as [string, number, string, string]
    await ask(`INSERT INTO ${schema}.aside (id, base, doc, facts) VALUES ($1, $2, $3, $4)`, values)
    ids.push(textOfColumn(values[0]))
  }
  return { ids, isHeld: false }
}

/** A job that goes is counted no more, frees its unique key, and lets a job go on that waits for it. */
async function leaving(ask: Ask, schema: string, row: ResultRow): Promise<Corrections> {
  const [idColumn, , , , revision, state, type, key, failure, finishedAt, terms] = row
  const id = textOfColumn(idColumn as string)
  // As far as figures depend on it.
  const before = {
    type: textOfColumn(type as string),
    state: state as JobState,
    failure: failure === null ? null : textOfColumn(failure as string),
    finishedAt: finishedAt as number | null,
    machine: machineOfTerms((terms ?? []) as string[]),
    checkpoints: [],
  } as unknown as JobDocument
  const keys = key === null ? none : await keyRepairs(ask, schema, [keyName(before.type, textOfColumn(key as string))])
  return {
    jobs: [{ id, before, after: null }, ...keys.jobs],
    cells: [...(await fencesOf(ask, schema, id)), ...keys.cells],
    revisions: new Map([[id, revision as string], ...keys.revisions]),
  }
}

const none: Corrections = { jobs: [], cells: [], revisions: new Map() }

/** What would hold up its end. */
async function fencesOf(ask: Ask, schema: string, id: string): Promise<CellValue[]> {
  const rows = await ask(`SELECT field FROM ${schema}.cells WHERE kind = 'fences' AND value = $1`, [columnText(id)])
  return rows.map(([field]) => ({ cells: 'fences', field: textOfColumn(field as string), value: null }))
}

/** Commits in a transaction that has the turn. @returns false if others hold a row of it */
export async function committed(ask: Ask, schema: Schema, { revisions, ...changes }: Corrections): Promise<boolean> {
  const writes: Writes = {
    now: schema.now(),
    count: 0,
    log: [],
    activity: [],
    failures: [],
    outcomes: [],
    heat: [],
    ...changes,
  }
  const conditions = { revisions, cells: [], rooms: new Map(), slots: new Map() }
  const commit: Commit = { epoch: '', waits: false, ...conditions, writes: () => writes }
  return (await commitInTurn(ask, schema, commit)).base !== null
}
