/** Terms that begin with a text, by the indexes of ids, keys, tags and members of meta. */
import { termKinds, type FoundTerm, type FoundTerms, type TermKind, type TermQuery } from '../../core/terms.ts'
import type { SqlValue } from './driver.ts'
import type { Statements } from './statements.ts'

/** Where terms of a kind are: the columns of an index, the first of which is the text. */
interface TermIndex {
  readonly from: string
  readonly columns: readonly [value: string, name?: string, type?: string]
  /** The condition of a partial index, as its text has it. */
  readonly own: string
  /**
   * Where there are several columns, the one after them: by it all rows of a term are passed over at once, and not one
   * by one.
   */
  readonly job?: string
}

const indexes: Readonly<Record<Exclude<TermKind, 'id'>, TermIndex>> = {
  key: { from: 'jobs INDEXED BY with_key', columns: ['key'], own: 'key IS NOT NULL' },
  concurrencyKey: {
    from: 'jobs INDEXED BY with_concurrency_key',
    columns: ['concurrency_key'],
    own: 'concurrency_key IS NOT NULL',
  },
  tag: { from: 'job_tags', columns: ['tag'], own: 'TRUE' },
  meta: { from: 'job_meta', columns: ['value', 'name', 'type'], own: 'TRUE', job: 'job' },
}

/** Follows all texts that begin with one. */
const last = '\u{10FFFF}'

export function termsOf(sql: Statements, query: TermQuery): FoundTerms {
  const { text, limit } = query
  const ids = sql.query<[id: string]>('SELECT id FROM jobs WHERE id >= ? AND id < ? ORDER BY id LIMIT +?', [
    text,
    `${text}${last}`,
    limit,
  ])
  const terms: FoundTerm[] = ids.map(([value]) => ({ kind: 'id', value, jobs: 1, more: false }))
  for (const kind of ['key', 'concurrencyKey', 'tag', 'meta'] as const) terms.push(...termsIn(sql, kind, query))
  return { kinds: termKinds, terms }
}

/** One term after the other: each is the first one after that before, so that its jobs are not read. */
function termsIn(sql: Statements, kind: Exclude<TermKind, 'id'>, { text, limit, countMax }: TermQuery): FoundTerm[] {
  const { from, columns, own, job } = indexes[kind]
  const names = columns.join(', ')
  const marks = columns.map(() => '?').join(', ')
  const isAfter =
    job === undefined ? `(${names}) > (${marks})` : `(${names}, ${job}) > (${marks}, ${Number.MAX_SAFE_INTEGER})`
  const terms: FoundTerm[] = []
  for (let before: readonly SqlValue[] | null = null; terms.length < limit;) {
    const after: string = before === null ? `${columns[0]} >= ?` : isAfter
    const [next]: SqlValue[][] = sql.query(
      `SELECT ${names} FROM ${from} WHERE ${own} AND ${after} AND ${columns[0]} < ? ORDER BY ${names} LIMIT +1`,
      [...(before ?? [text]), `${text}${last}`],
    )
    if (next === undefined) break
    const [[jobs] = [0]] = sql.query<[count: number]>(
      `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${own} AND (${names}) = (${marks}) LIMIT +?) AS counted`,
      [...next, countMax + 1],
    )
    const [value, name, type] = next.map(String)
    terms.push({
      kind,
      ...(name !== undefined && { name }),
      ...(type === 'integer' && { isNumber: true as const }),
      value: value ?? '',
      jobs: Math.min(jobs, countMax),
      more: jobs > countMax,
    })
    before = next
  }
  return terms
}
