/**
 * Searches. An index has the jobs that may match in the order of the search; a bounded number of them is looked at in
 * one call, and what else the filter asks for is judged by their columns.
 */
import { documentMatches, type JobDocument } from '../remote/document.ts'
import type { EndedFacts, EndedQuery } from '../remote/ended.ts'
import type { FindQuery, Found, FoundIds } from '../remote/port.ts'
import { systemClock } from '../../core/clock.ts'
import { scanMax, type Position } from '../../core/cursor.ts'
import type { Ask, ResultRow } from './connection.ts'
import { documentColumns, documentOfRow } from './jobs.ts'
import {
  choicesOf,
  countTexts,
  fewestOf,
  isToldByColumns,
  scopeOf,
  searchTexts,
  type Choice,
  type Scope,
  type SearchTexts,
  type Source,
} from './sources.ts'
import { lastOf } from './figures.ts'
import { columnText, Params, textOfColumn } from './texts.ts'

/** So much of documents is read in one turn of the event loop. */
const turnChars = 1_000_000
/** So many documents are read at once of a search that they are to judge. */
const judgedMax = 500

/** What a search answers of each job: columns for `found`, and what they are read as. */
interface Answered<Item> {
  readonly columns: string
  readonly from: 'jobs' | 'standing'
  readonly read: (row: ResultRow) => Item
  /** Does it match? Default: as its columns tell. */
  readonly judge?: (item: Item) => boolean
}

/** @returns the documents that match, and the number of the last transition as of the search or before */
export async function find(ask: Ask, schema: string, query: FindQuery): Promise<Found> {
  const { items, ...found } = await searched<JobDocument>(ask, schema, query, {
    columns: documentColumns,
    from: 'standing',
    read: ([, , ...document]) => documentOfRow(document),
    ...(!isToldByColumns(query.filter) && { judge: (document) => documentMatches(document, query.filter) }),
  })
  return { documents: items, ...found }
}

/** The ids of those that `find` would answer; null if documents have to be read for that. */
export async function findIds(ask: Ask, schema: string, query: FindQuery): Promise<FoundIds | null> {
  if (!isToldByColumns(query.filter)) return null
  const { items, ...found } = await searched<readonly [string, Position]>(ask, schema, query, {
    columns: 's.id, NULL::float8, NULL::text, NULL::text',
    from: 'jobs',
    read: ([a, b, id]) => [textOfColumn(id as string), positionOf(query, a, b)],
  })
  return {
    ids: items.map(([id]) => id),
    ...found,
    next: found.next ?? (found.more ? (items.at(-1)?.[1] ?? null) : null),
  }
}

const positionOf = ({ by }: FindQuery, a: unknown, b: unknown): Position =>
  by === 'due' ? { dueAt: a as number, number: b as number } : { dueAt: 0, number: a as number }

interface Searched<Item> {
  readonly items: readonly Item[]
  readonly more: boolean
  /** Where to go on, if that is not behind the last one. */
  readonly next?: Position
  readonly last: number
}

async function searched<Item>(
  ask: Ask,
  schema: string,
  query: FindQuery,
  { columns, from, read, judge }: Answered<Item>,
): Promise<Searched<Item>> {
  const [head] = await ask(`SELECT ${lastOf(schema)}::float8`)
  const last = (head?.[0] ?? 0) as number
  const items: Item[] = []
  let { after } = query
  for (let [round, judged] = [0, 0]; judged < scanMax; round++) {
    const scope = scopeOf(schema, { ...query, after })
    const choices = choicesOf(scope)
    // Jobs that match are mostly found soon: sources are counted and compared only if not.
    const isTrial = round === 0 && choices.length > 1 && choices[0].isInOrder
    const sources = isTrial || choices.length === 1 ? choices[0].sources : await fewest(ask, scope, choices)
    const wanted = judge === undefined ? query.limit - items.length + 1 : judgedMax
    const text = textOf(scope, searchTexts(scope, sources, wanted, isTrial), { columns, from, wanted })
    let next: Position | null = null
    let [rows, chars] = [0, 0]
    for (const row of await ask(`SELECT * FROM ${schema}.found($1, $2)`, [text, scope.params.values])) {
      const [a, b, id, , doc] = row
      if (id === null) {
        next = positionOf(query, a, b)
        continue
      }
      rows++
      chars += (doc as string | null)?.length ?? 0
      if (chars > turnChars) {
        chars = 0
        await new Promise<void>((resolve) => systemClock.nextTurn(resolve))
      }
      const item = read(row)
      after = positionOf(query, a, b)
      if (judge?.(item) === false) continue
      if (items.length === query.limit) return { items, more: true, last }
      items.push(item)
    }
    judged += rows
    if (rows === wanted) continue
    if (next === null) return { items, more: false, last }
    after = next
    if (!isTrial) break
  }
  return { items, more: true, ...(after !== null && { next: after }), last }
}

/** The sources with the fewest jobs. */
async function fewest(ask: Ask, scope: Scope, choices: readonly Choice[]): Promise<readonly Source[]> {
  const counts = countTexts(scope, choices).map((text) => `(${text})`)
  const text = `SELECT c.n, NULL::float8, NULL, NULL::float8, NULL, NULL FROM unnest(ARRAY[${counts.join(', ')}]::float8[]) AS c(n)`
  const rows = await ask(`SELECT a FROM ${scope.schema}.found($1, $2)`, [text, scope.params.values])
  return fewestOf(
    scope,
    choices,
    rows.map(([n]) => n as number),
  )
}

/** The jobs of a type that ended first: documents, and plain jobs that have completed. */
export async function findEnded(
  ask: Ask,
  schema: string,
  { type, state, from, limit }: EndedQuery,
): Promise<readonly EndedFacts[]> {
  const values = [columnText(type), state, from, limit]
  const rows = await ask(`SELECT * FROM ${schema}.first_ended($1, $2, $3, $4)`, values, 'jobchart first_ended')
  return rows.map(([id, seq, lastSeq, finishedAt, plain]) => ({
    id: textOfColumn(id as string),
    type,
    seq: seq as number,
    lastSeq: lastSeq as number,
    finishedAt: finishedAt as number | null,
    plain: plain as boolean,
  }))
}

/** Of each type the queued job that comes first: that of each concurrency key is found by an index. */
export async function firstQueued(
  ask: Ask,
  schema: string,
  types: readonly string[],
): Promise<readonly (string | null)[]> {
  const params = new Params()
  const queued = `FROM ${schema}.jobs j WHERE j.state = 'queued' AND j.place >= t.place AND j.type = t.type`
  const text = `SELECT t.number::float8, NULL::float8, j.id, NULL::float8, NULL, NULL
    FROM (SELECT u.type, u.number, ${schema}.queued_from(u.type, NULL) AS place
      FROM unnest(${params.add(types.map(columnText))}::text[]) WITH ORDINALITY AS u(type, number) OFFSET 0) t
    CROSS JOIN LATERAL (
      WITH RECURSIVE keys AS (
        (SELECT j.concurrency AS name ${queued} ORDER BY j.concurrency LIMIT 1)
        UNION ALL SELECT (SELECT j.concurrency ${queued} AND j.concurrency > keys.name ORDER BY j.concurrency LIMIT 1)
        FROM keys WHERE keys.name IS NOT NULL)
      SELECT f.seq FROM (
        SELECT q.* FROM keys CROSS JOIN LATERAL (SELECT j.seq, j.priority, j.place ${queued}
          AND j.concurrency = keys.name ORDER BY j.priority DESC, j.place LIMIT 1) q
        UNION ALL (SELECT j.seq, 0, j.seq FROM ${schema}.jobs j
          WHERE j.plain AND j.type = t.type AND j.seq > ${schema}.front(t.type) ORDER BY j.seq LIMIT 1)) f
      ORDER BY f.priority DESC, f.place LIMIT 1) f
    JOIN ${schema}.jobs j ON j.seq = f.seq`
  const rows = await ask(`SELECT a, id FROM ${schema}.found($1, $2)`, [text, params.values])
  const byNumber = new Map(rows.map(([number, id]) => [number as number, textOfColumn(id as string)]))
  return types.map((_, i) => byNumber.get(i + 1) ?? null)
}

/**
 * The documents, or the ids, of the jobs that are found. A row without an id tells up to where they were looked
 * for, if there may be more.
 */
function textOf(
  { schema, by, newestFirst }: Scope,
  { found, upto }: SearchTexts,
  { columns, from, wanted }: Pick<Answered<unknown>, 'columns' | 'from'> & { readonly wanted: number },
): string {
  const direction = newestFirst ? ' DESC' : ''
  const order = `ORDER BY c.a${direction}${by === 'due' ? `, c.b${direction}` : ''}`
  const jobs = `SELECT * FROM (SELECT c.a::float8, c.b::float8, ${columns}
    FROM (SELECT * FROM (${found}) c ${order} LIMIT ${wanted}) c
    CROSS JOIN LATERAL (SELECT * FROM ${schema}.${from} s WHERE s.seq = c.seq LIMIT 1) s ${order}) f`
  if (upto === null) return jobs
  return `WITH h AS MATERIALIZED (${upto})
    ${jobs} UNION ALL SELECT h.a::float8, h.b::float8, NULL, NULL::float8, NULL, NULL FROM h`
}
