/**
 * Rebuilds what a schema keeps twice from the documents of the jobs: the columns that follow from them, counts, who
 * holds a unique key, and the number of the last transition. Plain jobs whose claim or end is gone get a claim that has
 * run out. Jobs that cannot be read are set aside, and those that were and can be read are brought back. One
 * transaction.
 */
import { isEnded, statesTagged, type JobState } from '../../core/lifecycle.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type { RepairAnswer } from '../../store.ts'
import { cellName, keyName, type CellKind } from '../remote/cells.ts'
import type { CellValue, Writes } from '../remote/commit.ts'
import { revisionOf, type JobDocument } from '../remote/document.ts'
import type { TypeFigures } from '../remote/figures.ts'
import { noFigures } from '../remote/figures.ts'
import { committed, isUnreadable, released, setAside, type AsideOptions } from './aside.ts'
import type { Executor } from './connection.ts'
import { FigureReader, lastOf } from './figures.ts'
import { documentFrom, followingColumns, rowsText } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

type Options = Pick<AsideOptions, 'schema' | 'transitionsMax' | 'now'>

/** Jobs that are read at once. */
const pageSize = 500

/** @param executor a transaction that has the turn */
export async function repair(executor: Executor, options: Options): Promise<RepairAnswer> {
  const { schema } = options
  const [folds] = await executor.query({ text: `SELECT upto::float8 FROM ${schema}.folds FOR UPDATE` })
  await repairSequence(executor, schema)
  const restored = await bringBack(executor, options)
  const walked = await walk(executor, options)
  await repairTerms(executor, schema)
  await repairKeys(executor, options, walked)
  const counts = await repairFigures(executor, schema, folds?.[0] as number, walked.figures)
  return { jobs: walked.jobs, restored, unreadable: await unreadable(executor, schema), counts }
}

export async function unreadable(executor: Executor, schema: string): Promise<string[]> {
  const rows = await executor.query({ text: `SELECT DISTINCT id FROM ${schema}.aside ORDER BY id` })
  return rows.map(([id]) => textOfColumn(id as string))
}

/** The next commit counts from the last number of the log: it must be that of the last transition. */
async function repairSequence(executor: Executor, schema: string): Promise<void> {
  await executor.query({
    text: `INSERT INTO ${schema}.log (last, ids, types, entry)
      SELECT n.last, '{}', '{}', '{}' FROM (SELECT greatest((SELECT max(seq) FROM ${schema}.jobs),
        (SELECT max(last_seq) FROM ${schema}.jobs), (SELECT max(ended + cardinality(jobs) - 1) FROM ${schema}.completions),
        (SELECT max(first + cardinality(jobs) - 1) FROM ${schema}.claims)) AS last) n
      WHERE n.last > coalesce(${lastOf(schema)}, 0)`,
  })
}

/** Brings jobs back that can be read, and whose ids are free. */
async function bringBack(executor: Executor, options: Options): Promise<string[]> {
  const { schema } = options
  const rows = await executor.query({
    text: `SELECT a.base::float8, a.doc, a.facts, a.id, a.ctid::text FROM ${schema}.aside a
      WHERE NOT EXISTS (SELECT FROM ${schema}.jobs j WHERE j.id = a.id)`,
  })
  const restored: string[] = []
  for (const row of rows.filter((each) => !isUnreadable(each))) {
    const [base, doc, facts, id, place] = row
    if (restored.includes(textOfColumn(id as string))) continue
    const job = documentFrom(base, doc, facts)
    const isTaken = job.key !== null && (await holderOf(executor, schema, keyName(job.type, job.key))) !== null
    // Written as a new row; its key is left to the one that has taken it.
    const after: JobDocument = { ...job, rev: 1, ...(isTaken && { key: null }) }
    const writes = { jobs: [{ id: job.id, before: null, after }], cells: [], revisions: new Map() }
    if (!(await committed(executor, options, writes))) continue
    await executor.query({ text: `DELETE FROM ${schema}.aside WHERE ctid = $1::tid`, values: [place as string] })
    restored.push(job.id)
  }
  return restored
}

async function repairTerms(executor: Executor, schema: string): Promise<void> {
  await executor.query({
    text: `DELETE FROM ${schema}.terms t
      WHERE NOT EXISTS (SELECT FROM ${schema}.jobs j WHERE j.seq = t.job AND t.term = ANY(j.terms))`,
  })
  await executor.query({
    text: `INSERT INTO ${schema}.terms (term, job)
      SELECT u.term, j.seq FROM ${schema}.jobs j CROSS JOIN LATERAL unnest(j.terms) AS u(term) ON CONFLICT DO NOTHING`,
  })
}

async function holderOf(executor: Executor, schema: string, field: string): Promise<string | null> {
  const text = `SELECT value FROM ${schema}.cells WHERE kind = 'holders' AND field = $1`
  const [row] = await executor.query({ text, values: [columnText(field)] })
  return row === undefined ? null : textOfColumn(row[0] as string)
}

interface Walked {
  readonly jobs: number
  readonly figures: Map<string, Counted>
  /** By name, who holds a unique key, and who has given it up. */
  readonly keys: Map<string, string>
  /** Jobs that wait for the end of another one. */
  readonly waiting: readonly JobDocument[]
}

/** What the jobs of a type tell of its figures. */
class Counted {
  readonly counts = new Map<JobState, number>()
  readonly machines = new MachineTally()
  /** The times at which dead jobs have ended, by the fingerprint of their error. */
  readonly dead = new Map<string, number[]>()

  add({ state, machine, failure, finishedAt }: JobDocument): void {
    this.counts.set(state, (this.counts.get(state) ?? 0) + 1)
    if (machine !== null && !isEnded(state)) this.machines.add(machine, 1)
    if (state === 'dead' && failure !== null)
      this.dead.set(failure, [...(this.dead.get(failure) ?? []), finishedAt ?? 0])
  }
}

/** Reads all jobs, and sets those aside that cannot be read. */
async function walk(executor: Executor, options: Options): Promise<Walked> {
  const [figures, keys, waiting] = [new Map<string, Counted>(), new Map<string, string>(), [] as JobDocument[]]
  let jobs = 0
  for (let after = -1; ;) {
    const rows = await executor.query({
      text: `SELECT s.base::float8, s.doc, s.facts, s.id, s.seq::float8, s.rev IS NULL FROM ${options.schema}.standing s
        WHERE s.seq > $1 ORDER BY s.seq LIMIT ${pageSize}`,
      values: [after],
    })
    const bad = rows.filter(isUnreadable)
    if (bad.length > 0) await setAside(executor, options, { ids: bad.map(([, , , id]) => id as string) })
    const read = rows
      .filter((each) => !bad.includes(each))
      .map((row) => ({ job: documentFrom(row[0], row[1], row[2]), isPlain: row[2] !== null, isLost: row[5] === true }))
    const documents = read.flatMap(({ job, isPlain }) => (isPlain ? [] : [job]))
    if (documents.length > 0) await repairColumns(executor, options.schema, documents)
    const lost = read.flatMap(({ job, isLost }) => (isLost ? [job.seq] : []))
    if (lost.length > 0) await claimLost(executor, options, lost)
    for (const each of read) {
      const job: JobDocument = each.isLost ? { ...each.job, state: 'running' } : each.job
      const counted = figures.get(job.type) ?? new Counted()
      figures.set(job.type, counted)
      counted.add(job)
      jobs++
      if (job.key !== null && !isEnded(job.state)) {
        keys.set(cellName(job.givenUpKey ? 'predecessors' : 'holders', keyName(job.type, job.key)), job.id)
        if (released(job) !== null) waiting.push(job)
      }
    }
    if (rows.length < pageSize) return { jobs, figures, keys, waiting }
    after = rows.at(-1)?.[4] as number
  }
}

async function repairColumns(executor: Executor, schema: string, jobs: readonly JobDocument[]): Promise<void> {
  const of = (row: string): string => followingColumns.map((name) => `${row}.${name}`).join(', ')
  await executor.query({
    text: `UPDATE ${schema}.jobs j SET (${followingColumns.join(', ')}) = ROW (${of('r')})
      FROM json_populate_recordset(NULL::${schema}.jobs, $1) r
      WHERE j.id = r.id AND NOT j.plain AND (${of('j')}) IS DISTINCT FROM (${of('r')})`,
    values: [rowsText(jobs.map((after) => ({ id: after.id, before: null, after })))],
  })
}

/** Plain jobs that were claimed, of which nothing tells by whom or how they have ended: their lease has run out. */
async function claimLost(executor: Executor, { schema, now }: Options, jobs: readonly number[]): Promise<void> {
  await executor.query({
    text: `INSERT INTO ${schema}.claims (rev, first, at, wake_at, jobs, token, worker, attempts)
      SELECT 2, greatest(1, ${lastOf(schema)} - cardinality($1::bigint[]) + 1), $2::bigint, $2::bigint, $1, '', '', '{}'`,
    values: [jobs, now()],
  })
}

/** Who holds a unique key, and who has given it up; a job that waits for one that is gone is due at its own time. */
async function repairKeys(executor: Executor, options: Options, { keys, waiting }: Walked): Promise<void> {
  const rows = await executor.query({
    text: `SELECT kind, field, value FROM ${options.schema}.cells WHERE kind IN ('holders', 'predecessors')`,
  })
  const kept = new Map<string, CellValue>(
    rows.map(([kind, column, value]) => {
      const [cells, field] = [kind as CellKind, textOfColumn(column as string)]
      return [cellName(cells, field), { cells, field, value: textOfColumn(value as string) }]
    }),
  )
  const wrong = [...kept.values()].flatMap(({ cells, field, value }) =>
    keys.get(cellName(cells, field)) === value ? [] : [{ cells, field, value: null }],
  )
  const missing = [...keys].flatMap(([name, value]): CellValue[] => {
    const space = name.indexOf(' ')
    const [cells, field] = [name.slice(0, space) as CellKind, name.slice(space + 1)]
    return kept.get(name)?.value === value ? [] : [{ cells, field, value }]
  })
  const jobs = waiting.flatMap((before): Writes['jobs'][number][] => {
    const field = keyName(before.type, before.key ?? '')
    return keys.has(cellName('predecessors', field)) ? [] : [{ id: before.id, before, after: released(before) }]
  })
  const revisions = new Map(jobs.map(({ id, before }) => [id, before && revisionOf(before)]))
  await committed(executor, options, { jobs, cells: [...wrong, ...missing], revisions })
}

const noMove = JSON.stringify({ now: 0, moves: [], activity: [], failures: [], outcomes: [], paused: [] })

/**
 * Writes figures down that agree with the jobs.
 * @param known up to where they were
 * @returns how many counts were wrong
 */
async function repairFigures(
  executor: Executor,
  schema: string,
  known: number,
  counted: ReadonlyMap<string, Counted>,
): Promise<number> {
  const reader = new FigureReader((text, values) => executor.query({ text, values }), schema)
  const { byType } = await reader.read()
  let wrong = 0
  const repaired = [...new Set([...byType.keys(), ...counted.keys()])].map((type) => {
    const [before, found] = [byType.get(type) ?? noFigures, counted.get(type) ?? new Counted()]
    for (const state of new Set([...Object.keys(before.counts), ...found.counts.keys()])) {
      if ((before.counts[state as JobState] ?? 0) !== (found.counts.get(state as JobState) ?? 0)) wrong++
    }
    return [type, found, figuresOf(before, found)] as const
  })
  // A move of its own, so that whoever knows the figures up to the last one reads them again.
  const [move] = await executor.query({
    text: `INSERT INTO ${schema}.moves (base, types, growth, body) VALUES (0, '{}', '{}', $1) RETURNING move::float8`,
    values: [noMove],
  })
  const backlog = [...statesTagged('backlog')]
  await executor.query({
    text: `SELECT ${schema}.fold($1, $2, $3, $4, $5)`,
    values: [
      known,
      move?.[0] as number,
      repaired.map(([type]) => columnText(type)),
      repaired.map(([, { counts }]) => backlog.reduce((sum, state) => sum + (counts.get(state) ?? 0), 0)),
      repaired.map(([, , figures]) => JSON.stringify(figures)),
    ],
  })
  return wrong
}

/** Activity, and how machines have ended, no job tells. */
const figuresOf = (before: TypeFigures, { counts, machines, dead }: Counted): TypeFigures => ({
  ...before,
  counts: Object.fromEntries(counts),
  machines: { ...machines.counts(), outcomes: before.machines.outcomes },
  failures: before.failures.map((group) => ({
    ...group,
    dead: (dead.get(group.fingerprint) ?? []).filter((at) => at >= group.firstAt).length,
  })),
})
