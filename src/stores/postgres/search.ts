/** Searches: statements that an index answers, and the rest of the filter over the documents that they find. */
import { documentMatches, type JobDocument } from '../remote/document.ts'
import type { FindQuery, Found } from '../remote/port.ts'
import { positionIn } from '../remote/store.ts'
import type { Position } from '../../core/cursor.ts'
import type { JobFilter } from '../../store.ts'
import type { Param, ResultRow } from './connection.ts'
import { concurrencyColumn, documentColumns, documentOfRow } from './jobs.ts'
import { columnText, listText } from './texts.ts'

type Ask = (text: string, values: readonly Param[]) => Promise<readonly ResultRow[]>

/** Columns of the orders; a literal condition of each is that of an index. */
const orders = {
  enqueued: { columns: ['j.seq'], where: 'true' },
  finished: { columns: ['j.last_seq'], where: "j.state IN ('done', 'dead', 'cancelled')" },
  due: {
    columns: ['j.wake_at', 'j.seq'],
    where: "j.state IN ('scheduled', 'retrying', 'waiting') AND j.wake_at IS NOT NULL",
  },
} as const

/** Texts that became parameters. */
class Params {
  readonly values: Param[] = []

  add(value: Param): string {
    return `$${this.values.push(value)}`
  }
}

/** @returns the documents that match, and the number of the last transition as of the search or before */
export async function find(ask: Ask, schema: string, query: FindQuery): Promise<Found> {
  const [head] = await ask(`SELECT max(seq)::float8 FROM ${schema}.log`, [])
  const last = (head?.[0] ?? 0) as number
  const documents: JobDocument[] = []
  let { after } = query
  for (let rounds = 0; ; rounds++) {
    const limit = Math.max(query.limit - documents.length + 1, rounds === 0 ? 0 : 500)
    const params = new Params()
    const where = conditionsOf(params, { ...query, after }).join(' AND ')
    const { columns } = orders[query.by]
    const direction = query.newestFirst ? ' DESC' : ''
    const order = columns.map((column) => `${column}${direction}`).join(', ')
    const rows = await ask(
      `SELECT ${documentColumns} FROM ${schema}.jobs j WHERE ${where} ORDER BY ${order} LIMIT ${params.add(limit)}`,
      params.values,
    )
    for (const document of rows.map(documentOfRow)) {
      after = positionIn(query.by, document)
      if (!documentMatches(document, query.filter)) continue
      if (documents.length === query.limit) return { documents, more: true, last }
      documents.push(document)
    }
    if (rows.length < limit) return { documents, more: false, last }
  }
}

function conditionsOf(params: Params, { by, newestFirst, filter, states, among, after }: FindQuery): string[] {
  const { columns, where } = orders[by]
  return [
    where,
    `j.state = ANY(${params.add([...states])}::text[])`,
    ...(among === undefined ? [] : [`j.id = ANY(${params.add(among.map(columnText))}::text[])`]),
    ...(after === null
      ? []
      : [`(${columns.join(', ')}) ${newestFirst ? '<' : '>'} (${positionOf(params, by, after)})`]),
    ...filterOf(params, filter),
  ]
}

const positionOf = (params: Params, by: FindQuery['by'], { dueAt, number }: Position): string =>
  (by === 'due' ? [dueAt, number] : [number]).map((each) => `${params.add(each)}::bigint`).join(', ')

/** What columns tell of a filter: all but `meta`. */
function filterOf(params: Params, filter: JobFilter): string[] {
  const { type, state, tag, key, concurrencyKey, failure, unsupported, parent, machineState, machineTag } = filter
  const among = (column: string, wanted: string | readonly string[] | undefined): string[] => {
    if (wanted === undefined) return []
    const all = typeof wanted === 'string' ? [wanted] : wanted
    return [`${column} = ANY(${params.add(all.map(columnText))}::text[])`]
  }
  const is = (column: string, wanted: string | undefined): string[] =>
    wanted === undefined ? [] : [`${column} = ${params.add(columnText(wanted))}`]
  const has = (column: string, wanted: string | undefined): string[] =>
    wanted === undefined ? [] : [`${column} @> ${params.add(listText([wanted]))}::text[]`]
  const at = (column: string, sign: string, time: number | undefined): string[] =>
    time === undefined ? [] : [`${column} ${sign} ${params.add(time)}::float8`]
  return [
    ...among('j.type', type),
    ...among('j.state', state),
    ...has('j.tags', tag),
    ...is('j.unique_key', key),
    ...(concurrencyKey === undefined
      ? []
      : [`j.concurrency = ${params.add(concurrencyColumn(concurrencyKey))}`, "j.concurrency <> ''"]),
    ...is('j.failure', failure),
    ...(unsupported === undefined ? [] : ['j.unsupported']),
    ...is('j.parent', parent),
    ...has('j.machine_states', machineState),
    ...has('j.machine_tags', machineTag),
    ...at('j.enqueued_at', '>=', filter.enqueuedAfter),
    ...at('j.enqueued_at', '<', filter.enqueuedBefore),
    ...at('j.finished_at', '>=', filter.finishedAfter),
    ...at('j.finished_at', '<', filter.finishedBefore),
  ]
}
