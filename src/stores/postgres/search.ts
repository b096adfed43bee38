/** Searches: statements that an index answers, and the rest of the filter over the documents that they find. */
import { documentMatches, type JobDocument } from '../remote/document.ts'
import type { EndedFacts, EndedQuery } from '../remote/ended.ts'
import type { FindQuery, Found } from '../remote/port.ts'
import { positionIn } from '../remote/store.ts'
import { systemClock } from '../../core/clock.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { JobFilter } from '../../store.ts'
import type { Param, ResultRow } from './connection.ts'
import { concurrencyColumn, documentColumns, documentOfRow } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

type Ask = (text: string, values: readonly Param[]) => Promise<readonly ResultRow[]>

/** Columns of the orders of documents; a literal condition of each is that of an index. */
const orders = {
  enqueued: { columns: ['j.seq'], where: 'NOT j.plain' },
  finished: { columns: ['j.last_seq'], where: "j.state IN ('done', 'dead', 'cancelled')" },
  due: {
    columns: ['j.wake_at', 'j.seq'],
    where: "j.state IN ('scheduled', 'retrying', 'waiting') AND j.wake_at IS NOT NULL",
  },
} as const

/** Texts that became parameters: those of a list are in columns as they are. */
class Params {
  readonly values: string[] = []

  add(value: string | number | readonly string[]): string {
    const text = typeof value === 'object' ? `{${value.map(quoted).join(',')}}` : String(value)
    return `$1[${this.values.push(text)}]`
  }
}

/** So much of documents is read in one turn of the event loop. */
const turnChars = 1_000_000

const quoted = (item: string): string => `"${item.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** @returns the documents that match, and the number of the last transition as of the search or before */
export async function find(ask: Ask, schema: string, query: FindQuery): Promise<Found> {
  const [head] = await ask(`SELECT max(last)::float8 FROM ${schema}.log`, [])
  const last = (head?.[0] ?? 0) as number
  const documents: JobDocument[] = []
  let { after } = query
  for (let rounds = 0; ; rounds++) {
    const limit = Math.max(query.limit - documents.length + 1, rounds === 0 ? 0 : 500)
    const params = new Params()
    const text = textOf(schema, params, { ...query, after, limit })
    const rows = await ask(`SELECT * FROM ${schema}.found($1, $2)`, [text, params.values])
    let read = 0
    for (const row of rows) {
      read += (row[1] as string).length
      if (read > turnChars) {
        read = 0
        await new Promise<void>((resolve) => systemClock.nextTurn(resolve))
      }
      const document = documentOfRow(row)
      after = positionIn(query.by, document)
      if (!query.states.has(document.state) || !documentMatches(document, query.filter)) continue
      if (documents.length === query.limit) return { documents, more: true, last }
      documents.push(document)
    }
    if (rows.length < limit) return { documents, more: false, last }
  }
}

/** The jobs of a type that ended first: documents, and plain jobs that have completed. */
export async function findEnded(
  ask: (text: string, values: readonly Param[], name: string) => Promise<readonly ResultRow[]>,
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
  const text = `SELECT t.number::float8, j.id, NULL::text
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
  const rows = await ask(`SELECT * FROM ${schema}.found($1, $2)`, [text, params.values])
  const byNumber = new Map(rows.map(([number, id]) => [number as number, textOfColumn(id as string)]))
  return types.map((_, i) => byNumber.get(i + 1) ?? null)
}

/** First where the jobs are, then the documents of those that come first. */
function textOf(schema: string, params: Params, query: FindQuery): string {
  const [first, ...others] = sourcesOf(schema, params, query)
  const direction = query.newestFirst ? ' DESC' : ''
  const order = query.by === 'due' ? `1${direction}, 2${direction}` : `1${direction}`
  const parts = [first, ...others].map((part) => `(${part} ORDER BY ${order} LIMIT ${query.limit})`)
  return `SELECT ${documentColumns}
    FROM (SELECT * FROM (${parts.join(' UNION ALL ')}) f ORDER BY ${order} LIMIT ${query.limit}) f
    JOIN ${schema}.standing s ON s.seq = f.seq ORDER BY ${order.replaceAll(/\d/g, (n) => `f.at${n}`)}`
}

/** Of each source the positions of its jobs in the order, and their numbers. */
function sourcesOf(schema: string, params: Params, query: FindQuery): string[] {
  const { by, states, filter, limit, newestFirst, among } = query
  // LIMIT: the order of the join is not up to the planner.
  const row = `CROSS JOIN LATERAL (SELECT * FROM ${schema}.jobs j WHERE j.seq = p.job LIMIT 1) j`
  const where = (conditions: readonly string[]): string =>
    `${row} WHERE ${conditions.length === 0 ? 'true' : conditions.join(' AND ')}`
  if (among !== undefined) {
    // What they are now is told by their documents.
    const ids = `j.id = ANY(${params.add(among.map(columnText))}::text[])`
    const conditions = [ids, ...positionOf(params, query, ['j.seq'])].join(' AND ')
    return [`SELECT j.seq AS at1, NULL::bigint AS at2, j.seq FROM ${schema}.jobs j WHERE ${conditions}`]
  }
  const sources = [documentsSource(schema, params, query)]
  if (by === 'due' || !mayBePlain(filter)) return sources
  const isWanted = (state: JobState): boolean =>
    states.has(state) && (filter.state === undefined || [filter.state].flat().includes(state))
  const isLive = by === 'enqueued' && filter.finishedAfter === undefined && filter.finishedBefore === undefined
  const own = (number: string): string[] => [...positionOf(params, query, [number]), ...filterOf(params, filter, 'p')]
  const types = (table: string, condition: string): string => typesIn(`${schema}.${table}`, condition, params, filter)
  const add = (of: string, number: string, from: string, conditions: readonly string[]): void => {
    const order = `ORDER BY ${number}${newestFirst ? ' DESC' : ''} LIMIT ${limit}`
    sources.push(`SELECT q.at1, NULL::bigint AS at2, q.seq FROM (${of}) t CROSS JOIN LATERAL (
        SELECT ${number} AS at1, j.seq FROM ${from} WHERE ${[...conditions, ...own(number)].join(' AND ')} ${order}) q`)
  }
  const plain = `(SELECT t.type, ${schema}.front(t.type) AS upto FROM (${types('jobs', 'p.plain')}) t OFFSET 0)`
  const ofType = ['j.plain', 'j.type = t.type']
  if (isWanted('queued') && isLive) add(plain, 'j.seq', `${schema}.jobs j`, [...ofType, 'j.seq > t.upto'])
  if (isWanted('done') && by === 'enqueued') {
    const ended = `CROSS JOIN LATERAL (SELECT * FROM ${schema}.completions d WHERE d.job = j.seq LIMIT 1) p`
    add(plain, 'j.seq', `${schema}.jobs j ${ended}`, [...ofType, 'j.seq <= t.upto'])
  }
  if (isWanted('done') && by === 'finished')
    add(types('completions', 'true'), 'p.ended', `${schema}.completions p ${row}`, ['p.type = t.type'])
  if (isWanted('running') && isLive) {
    sources.push(`SELECT j.seq AS at1, NULL::bigint AS at2, j.seq
      FROM (SELECT unnest(c.jobs) AS job FROM ${schema}.claims c WHERE c.claim >= ${schema}.claims_from()) p
      ${where(own('p.job'))}`)
  }
  return sources
}

function documentsSource(schema: string, params: Params, query: FindQuery): string {
  const { columns, where } = orders[query.by]
  const conditions = [
    where,
    `j.state = ANY(${params.add([...query.states])}::text[])`,
    ...positionOf(params, query, columns),
    ...filterOf(params, query.filter, 'j'),
  ]
  const [at1, at2 = 'NULL::bigint'] = columns
  return `SELECT ${at1} AS at1, ${at2} AS at2, j.seq FROM ${schema}.jobs j WHERE ${conditions.join(' AND ')}`
}

/** The types that have rows in a table, of which an index for the condition begins with the type. */
function typesIn(table: string, condition: string, params: Params, { type }: JobFilter): string {
  if (type !== undefined) return `SELECT unnest(${params.add([type].flat().map(columnText))}::text[]) AS type`
  const first = (more: string): string =>
    `(SELECT p.type FROM ${table} p WHERE ${condition}${more} ORDER BY p.type LIMIT 1)`
  return `WITH RECURSIVE t AS (${first('')} UNION ALL
      SELECT ${first(' AND p.type > t.type')} FROM t WHERE t.type IS NOT NULL)
    SELECT t.type FROM t WHERE t.type IS NOT NULL`
}

/** May a job that matches be a plain one? */
const mayBePlain = (filter: JobFilter): boolean =>
  filter.key === undefined &&
  filter.concurrencyKey === undefined &&
  filter.failure === undefined &&
  filter.unsupported === undefined &&
  filter.parent === undefined &&
  filter.machineState === undefined &&
  filter.machineTag === undefined

const positionOf = (params: Params, { by, after, newestFirst }: FindQuery, columns: readonly string[]): string[] => {
  if (after === null) return []
  const { dueAt, number } = after
  const position = (by === 'due' ? [dueAt, number] : [number]).map((each) => `${params.add(each)}::bigint`)
  return [`(${columns.join(', ')}) ${newestFirst ? '<' : '>'} (${position.join(', ')})`]
}

/** What columns tell of a filter: all but `meta`. @param ended `p`: of plain jobs, whose state is known */
function filterOf(params: Params, filter: JobFilter, ended: 'j' | 'p'): string[] {
  const { type, state, tag, key, concurrencyKey, failure, unsupported, parent, machineState, machineTag } = filter
  const among = (column: string, wanted: string | readonly string[] | undefined): string[] => {
    if (wanted === undefined) return []
    const all = typeof wanted === 'string' ? [wanted] : wanted
    return [`${column} = ANY(${params.add(all.map(columnText))}::text[])`]
  }
  const is = (column: string, wanted: string | undefined): string[] =>
    wanted === undefined ? [] : [`${column} = ${params.add(columnText(wanted))}`]
  const has = (column: string, wanted: string | undefined): string[] =>
    wanted === undefined ? [] : [`${column} @> ${params.add([columnText(wanted)])}::text[]`]
  const at = (column: string, sign: string, time: number | undefined): string[] =>
    time === undefined ? [] : [`${column} ${sign} ${params.add(time)}::float8`]
  return [
    ...among('j.type', type),
    ...has('j.tags', tag),
    ...at('j.enqueued_at', '>=', filter.enqueuedAfter),
    ...at('j.enqueued_at', '<', filter.enqueuedBefore),
    ...at(`${ended}.finished_at`, '>=', filter.finishedAfter),
    ...at(`${ended}.finished_at`, '<', filter.finishedBefore),
    ...(ended === 'p'
      ? []
      : [
          ...among('j.state', state),
          ...is('j.unique_key', key),
          ...(concurrencyKey === undefined
            ? []
            : [`j.concurrency = ${params.add(concurrencyColumn(concurrencyKey))}`, "j.concurrency <> ''"]),
          // Of one the index has the jobs in order.
          ...(failure?.length === 1 || typeof failure === 'string'
            ? is('j.failure', [failure].flat()[0])
            : among('j.failure', failure)),
          ...(unsupported === undefined ? [] : ['j.unsupported']),
          ...is('j.parent', parent),
          ...has('j.machine_states', machineState),
          ...has('j.machine_tags', machineTag),
        ]),
  ]
}
