/**
 * Rebuilds what a schema keeps twice from the documents of the jobs: the columns that follow from them, counts, who
 * holds a unique key, and the number of the last transition. Plain jobs whose claim or end is gone get a claim that has
 * run out. Jobs that cannot be read are set aside, and those that were and can be read are brought back.
 *
 * What is wrong is looked for without the turn, and mended with it by small transactions, each of which looks again at
 * what it mends: writes of others go on in between. An interrupted repair has left nothing half done.
 */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type { RepairAnswer } from '../../store.ts'
import type { JobDocument } from '../remote/document.ts'
import { noFigures, type TypeFigures } from '../remote/figures.ts'
import { partsOf } from '../remote/parts.ts'
import { committed, setAside } from './aside.ts'
import { failed, type Ask, type Link, type ResultRow, type Target } from './connection.ts'
import { FigureReader, lastOf, writeFigures } from './figures.ts'
import { documentColumns, documentOrNull, followingColumns, followingOf } from './jobs.ts'
import { keyCells, keyOf, keyRepairs, Keys, keyWrites } from './keys.ts'
import type { OpenSchema, Schema } from './open.ts'
import { machineOfTerms } from './terms.ts'
import { columnText, textOfColumn } from './texts.ts'

/** Jobs that are read at once. */
const pageSize = 500

/** What a role or a database limits is meant for other statements. */
const unlimited =
  'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off'

/** How the parts of a repair read and write. */
interface Steps extends Schema {
  /** Reads the state of one moment, while others write. */
  readonly look: <T>(work: (ask: Ask) => Promise<T>) => Promise<T>
  /** Works in a transaction that has the turn, for which others wait. */
  readonly mend: <T>(work: (ask: Ask) => Promise<T>) => Promise<T>
}

/** @throws JobchartError STORE_UNAVAILABLE */
export async function repair({ connect, where }: Target, store: OpenSchema): Promise<RepairAnswer> {
  store.opened()
  // On a connection of its own: it may take longer than any other call.
  const link = await connect()
  try {
    return await repairOn(link, store)
  } catch (error) {
    throw failed(where, error)
  } finally {
    link.close()
  }
}

async function repairOn(link: Link, options: Schema): Promise<RepairAnswer> {
  const { schema } = options
  const steps: Steps = {
    ...options,
    look: (work) => link.transaction(`${unlimited}; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`, work),
    mend: (work) => link.transaction(`${unlimited}; SELECT ${schema}.take_turn()`, work),
  }
  await repairSequence(steps)
  const restored = await bringBack(steps)
  const walked = await walk(steps)
  await repairTerms(steps)
  await repairCheckpoints(steps)
  await repairKeys(steps, walked)
  const figures = await repairFigures(steps)
  return { ...figures, restored, unreadable: await steps.look((ask) => unreadable(ask, schema)) }
}

export async function unreadable(ask: Ask, schema: string): Promise<string[]> {
  const rows = await ask(`SELECT DISTINCT id FROM ${schema}.aside ORDER BY id`)
  return rows.map(([id]) => textOfColumn(id as string))
}

/** The next commit counts from the last number of the log: it must be that of the last transition. */
async function repairSequence({ schema, look, mend }: Steps): Promise<void> {
  const text = `SELECT greatest((SELECT max(seq) FROM ${schema}.jobs), (SELECT max(last_seq) FROM ${schema}.jobs),
    (SELECT max(ended + cardinality(jobs) - 1) FROM ${schema}.completions),
    (SELECT max(first + cardinality(jobs) - 1) FROM ${schema}.claims), 0)::float8`
  const [row] = await look((ask) => ask(text))
  await mend((ask) =>
    ask(
      `INSERT INTO ${schema}.log (last, ids, types, entry)
        SELECT $1, '{}', '{}', '{}' WHERE $1::bigint > coalesce(${lastOf(schema)}, 0)`,
      [row?.[0] as number],
    ),
  )
}

/** Brings jobs back that can be read, and whose ids are free. */
async function bringBack(steps: Steps): Promise<string[]> {
  const { schema, look, mend } = steps
  const rows = await look((ask) =>
    ask(`SELECT a.id, a.base::float8, a.doc, a.facts, a.ctid::text FROM ${schema}.aside a`),
  )
  const restored: string[] = []
  for (const row of rows) {
    const job = documentOrNull(row)
    if (job !== null && (await mend((ask) => bringJobBack(ask, steps, job, row[4] as string)))) restored.push(job.id)
  }
  return restored
}

/** @param place of its row among those that were set aside */
async function bringJobBack(ask: Ask, steps: Steps, job: JobDocument, place: string): Promise<boolean> {
  const { schema } = steps
  const free = await ask(
    `SELECT FROM ${schema}.aside a WHERE a.ctid = $1::tid AND a.id = $2
      AND NOT EXISTS (SELECT FROM ${schema}.jobs j WHERE j.id = a.id)`,
    [place, columnText(job.id)],
  )
  if (free.length === 0) return false
  const known = job.key === null ? [] : await keyCells(ask, schema, [keyOf(job)])
  const isTaken = known.some(({ cells }) => cells === 'holders')
  // Written as a new row; its key is left to the one that has taken it.
  const after: JobDocument = { ...job, rev: 1, ...(isTaken && { key: null }) }
  const writes = { jobs: [{ id: job.id, before: null, after }], cells: [], revisions: new Map() }
  if (!(await committed(ask, steps, writes))) return false
  await ask(`DELETE FROM ${schema}.aside WHERE ctid = $1::tid`, [place])
  return true
}

/** Reads all jobs, and mends those of which something is wrong. */
async function walk(steps: Steps): Promise<Keys> {
  const keys = new Keys()
  for (let after = -1; ;) {
    const page = await steps.look((ask) => readPage(ask, steps, 's.seq > $1', after))
    const wrong: number[] = []
    for (const row of page) {
      const { job, isWrong } = judged(row)
      if (isWrong) wrong.push(row[4] as number)
      if (job !== null) keys.add(job)
    }
    for (const part of partsOf(wrong)) await steps.mend((ask) => repairJobs(ask, steps, part))
    if (page.length < pageSize) return keys
    after = page.at(-1)?.[4] as number
  }
}

const isNumber = new Set(['last_seq', 'place', 'wake_at', 'finished_at'])
const columns = followingColumns.map((name) => (isNumber.has(name) ? `j.${name}::float8` : `j.${name}`)).join(', ')

const readPage = (
  ask: Ask,
  { schema }: Schema,
  which: string,
  value: number | readonly number[],
): Promise<readonly ResultRow[]> =>
  ask(
    `SELECT ${documentColumns}, s.seq::float8, s.rev IS NULL, ${columns}
      FROM ${schema}.standing s CROSS JOIN LATERAL (SELECT * FROM ${schema}.jobs o WHERE o.seq = s.seq LIMIT 1) j
      WHERE ${which} ORDER BY s.seq LIMIT ${pageSize}`,
    [value],
  )

/** A job of a page: null if it cannot be read. */
function judged(row: ResultRow): { readonly job: JobDocument | null; readonly isWrong: boolean } {
  const job = documentOrNull(row)
  const [, , , facts, , isLost, ...stored] = row
  if (job === null) return { job, isWrong: true }
  if (facts !== null) return { job, isWrong: isLost === true }
  const own = followingOf(job)
  return { job, isWrong: followingColumns.some((name, i) => JSON.stringify(own[name]) !== JSON.stringify(stored[i])) }
}

/** @param numbers of jobs that were wrong when they were read: they are read again */
async function repairJobs(ask: Ask, options: Schema, numbers: readonly number[]): Promise<void> {
  const rows = await readPage(ask, options, 's.seq = ANY($1::bigint[])', numbers)
  const wrong = rows.map((row) => ({ row, ...judged(row) })).filter(({ isWrong }) => isWrong)
  const bad = wrong.flatMap(({ row, job }) => (job === null ? (row[0] as string) : []))
  if (bad.length > 0) await setAside(ask, options, bad)
  const read = wrong.flatMap(({ row, job }) => (job === null ? [] : { job, isPlain: row[3] !== null }))
  const documents = read.flatMap(({ job, isPlain }) => (isPlain ? [] : job))
  if (documents.length > 0) await repairColumns(ask, options.schema, documents)
  const lost = read.flatMap(({ job, isPlain }) => (isPlain ? job.seq : []))
  if (lost.length > 0) await claimLost(ask, options, lost)
}

async function repairColumns(ask: Ask, schema: string, jobs: readonly JobDocument[]): Promise<void> {
  const names = followingColumns.join(', ')
  await ask(
    `UPDATE ${schema}.jobs j SET (${names}) = ROW (${followingColumns.map((name) => `r.${name}`).join(', ')})
      FROM json_populate_recordset(NULL::${schema}.jobs, $1) r WHERE j.seq = r.seq AND NOT j.plain`,
    [JSON.stringify(jobs.map((job) => ({ seq: job.seq, ...followingOf(job) })))],
  )
}

/** Plain jobs that were claimed, of which nothing tells by whom or how they have ended: their lease has run out. */
async function claimLost(ask: Ask, { schema, now }: Schema, jobs: readonly number[]): Promise<void> {
  await ask(
    `INSERT INTO ${schema}.claims (rev, first, at, wake_at, jobs, token, worker, attempts)
      SELECT 2, greatest(1, ${lastOf(schema)} - cardinality($1::bigint[]) + 1), $2::bigint, $2::bigint, $1, '', '', '{}'`,
    [jobs, now()],
  )
}

async function repairTerms(steps: Steps): Promise<void> {
  const { schema } = steps
  const isWrong = `NOT EXISTS (SELECT FROM ${schema}.jobs j WHERE j.seq = t.job AND t.term = ANY(j.terms))`
  await mendTerms(steps, {
    find: `SELECT t.term, t.job::float8 FROM ${schema}.terms t WHERE ${isWrong}`,
    mend: `DELETE FROM ${schema}.terms t USING unnest($1::text[], $2::bigint[]) AS u(term, job)
      WHERE t.term = u.term AND t.job = u.job AND ${isWrong}`,
  })
  await mendTerms(steps, {
    find: `SELECT u.term, j.seq::float8 FROM ${schema}.jobs j CROSS JOIN LATERAL unnest(j.terms) AS u(term)
      WHERE NOT EXISTS (SELECT FROM ${schema}.terms t WHERE t.term = u.term AND t.job = j.seq)`,
    mend: `INSERT INTO ${schema}.terms (term, job)
      SELECT u.term, j.seq FROM unnest($1::text[], $2::bigint[]) AS u(term, job)
      JOIN ${schema}.jobs j ON j.seq = u.job AND u.term = ANY(j.terms) ON CONFLICT DO NOTHING`,
  })
}

/** Those of jobs that are gone. Of those that were set aside some may be brought back. */
const repairCheckpoints = async ({ schema, mend }: Steps): Promise<void> => {
  const isGone = `NOT EXISTS (SELECT FROM ${schema}.jobs j WHERE j.seq = c.job)`
  await mend((ask) =>
    ask(`DELETE FROM ${schema}.checkpoints c WHERE ${isGone} AND NOT EXISTS (SELECT FROM ${schema}.aside)`),
  )
}

async function mendTerms(
  { look, mend }: Steps,
  texts: { readonly find: string; readonly mend: string },
): Promise<void> {
  const wrong = await look((ask) => ask(texts.find))
  for (const part of partsOf(wrong)) {
    const values = [part.map(([term]) => term as string), part.map(([, job]) => job as number)]
    await mend((ask) => ask(texts.mend, values))
  }
}

/** Who holds a unique key, and who has given it up; a job that waits for one that is gone is due at its own time. */
async function repairKeys(steps: Steps, known: Keys): Promise<void> {
  const { schema } = steps
  const wrong = keyWrites(known, await steps.look((ask) => keyCells(ask, schema, null)))
  const fields = new Set([...wrong.cells.map(({ field }) => field), ...wrong.jobs.map(({ before }) => keyOf(before))])
  for (const part of partsOf([...fields])) {
    await steps.mend(async (ask) => committed(ask, steps, await keyRepairs(ask, schema, part)))
  }
}

/** What the jobs of a type tell of its figures. */
class Counted {
  readonly counts: Partial<Record<JobState, number>> = {}
  readonly machines = new MachineTally()
  /** The times at which dead jobs have ended, by the fingerprint of their error. */
  readonly dead = new Map<string, number[]>()
}

const namesOf = (states: Iterable<JobState>): string => [...states].map((state) => `'${state}'`).join(', ')

async function countJobs(ask: Ask, schema: string): Promise<Map<string, Counted>> {
  const byType = new Map<string, Counted>()
  const counted = (type: unknown): Counted => {
    const name = textOfColumn(type as string)
    const known = byType.get(name) ?? new Counted()
    byType.set(name, known)
    return known
  }
  const states = await ask(
    `SELECT s.type, s.state, count(*)::float8 FROM ${schema}.standing s GROUP BY s.type, s.state`,
  )
  for (const [type, state, n] of states) counted(type).counts[state as JobState] = n as number
  const machines =
    await ask(`SELECT j.type, u.term, count(*)::float8 FROM ${schema}.jobs j CROSS JOIN LATERAL unnest(j.terms) AS u(term)
      WHERE j.state NOT IN (${namesOf(statesTagged('ended'))}) GROUP BY j.type, u.term`)
  for (const [type, term, n] of machines) counted(type).machines.add(machineOfTerms([term as string]), n as number)
  const dead = await ask(`SELECT j.type, j.failure, j.finished_at::float8 FROM ${schema}.jobs j
      WHERE j.failure IS NOT NULL AND j.state = 'dead'`)
  for (const [type, column, at] of dead) {
    const [ends, failure] = [counted(type).dead, textOfColumn(column as string)]
    ends.set(failure, [...(ends.get(failure) ?? []), at as number])
  }
  return byType
}

const noMove = JSON.stringify({ now: 0, moves: [], activity: [], failures: [], outcomes: [], paused: [] })

/**
 * Writes figures down that agree with the jobs: those of one moment are compared with the jobs then, and what they lack
 * is added to those of now.
 */
async function repairFigures({ schema, look, mend }: Steps): Promise<Pick<RepairAnswer, 'jobs' | 'counts'>> {
  const read = async (ask: Ask): Promise<ReadonlyMap<string, TypeFigures>> =>
    (await new FigureReader(ask, schema).read()).byType
  const [found, before] = await look(async (ask) => [await countJobs(ask, schema), await read(ask)])
  let [jobs, counts] = [0, 0]
  for (const type of new Set([...before.keys(), ...found.keys()])) {
    const [own, is] = [before.get(type)?.counts ?? {}, found.get(type)?.counts ?? {}]
    for (const state of Object.keys({ ...own, ...is }) as JobState[]) {
      if ((own[state] ?? 0) !== (is[state] ?? 0)) counts++
      jobs += is[state] ?? 0
    }
  }
  await mend(async (ask) => {
    const [folds] = await ask(`SELECT upto::float8 FROM ${schema}.folds FOR UPDATE`)
    const now = await read(ask)
    const repaired = [...new Set([...now.keys(), ...found.keys()])].map(
      (type) => [type, figuresOf(now.get(type) ?? noFigures, before.get(type) ?? noFigures, found.get(type))] as const,
    )
    // A move of its own, so that whoever knows the figures up to the last one reads them again.
    const [move] = await ask(
      `INSERT INTO ${schema}.moves (base, types, growth, leases, body) VALUES (0, '{}', '{}', '{}', $1) RETURNING move::float8`,
      [noMove],
    )
    await writeFigures(ask, schema, folds?.[0] as number, move?.[0] as number, repaired)
  })
  return { jobs, counts }
}

/**
 * What the figures of now are, if those of before should have been as the jobs were found. Activity, and how machines
 * have ended, no job tells.
 */
function figuresOf(now: TypeFigures, before: TypeFigures, found = new Counted()): TypeFigures {
  const machines = found.machines.counts()
  return {
    ...now,
    counts: corrected(now.counts, before.counts, found.counts),
    machines: {
      states: corrected(now.machines.states, before.machines.states, machines.states),
      tags: corrected(now.machines.tags, before.machines.tags, machines.tags),
      outcomes: now.machines.outcomes,
    },
    failures: now.failures.map((group) => {
      const known = before.failures.find(({ fingerprint }) => fingerprint === group.fingerprint)
      if (known === undefined) return group
      const dead = (found.dead.get(group.fingerprint) ?? []).filter((at) => at >= known.firstAt).length
      return { ...group, dead: group.dead - known.dead + dead }
    }),
  }
}

type Numbers = Readonly<Record<string, number>>

/** Those that are not 0. */
const corrected = (now: Numbers, before: Numbers, found: Numbers): Record<string, number> =>
  Object.fromEntries(
    Object.keys({ ...now, ...found }).flatMap((name) => {
      const number = (found[name] ?? 0) + (now[name] ?? 0) - (before[name] ?? 0)
      return number === 0 ? [] : [[name, number]]
    }),
  )
