/** Terms that begin with a text: ids, unique keys and concurrency keys, whose indexes are in the order of bytes. */
import type { FoundTerm, FoundTerms, TermKind, TermQuery } from '../../store.ts'
import type { Param, ResultRow } from './connection.ts'
import { concurrencyColumn } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

type Ask = (text: string, values: readonly Param[]) => Promise<readonly ResultRow[]>

/** Follows all texts that begin with one. */
const last = '\u{10FFFF}'

interface TermColumn {
  readonly kind: TermKind
  readonly column: string
  /** The condition of its index, as its text has it. */
  readonly own: string
  /** A text as the column has it, and back. */
  readonly stored: (text: string) => string
  readonly read: (column: string) => string
}

const columns: readonly TermColumn[] = [
  { kind: 'id', column: 'id', own: 'TRUE', stored: columnText, read: textOfColumn },
  { kind: 'key', column: 'unique_key', own: 'unique_key IS NOT NULL', stored: columnText, read: textOfColumn },
  {
    kind: 'concurrencyKey',
    column: 'concurrency',
    own: "concurrency <> ''",
    stored: concurrencyColumn,
    read: (column) => textOfColumn(column.slice(1)),
  },
]

export async function findTerms(ask: Ask, schema: string, query: TermQuery): Promise<FoundTerms> {
  const terms = await Promise.all(columns.map((column) => termsOf(ask, schema, column, query)))
  return { kinds: columns.map(({ kind }) => kind), terms: terms.flat() }
}

/** Each term is found as the first one after that before, so that its jobs are not read. */
async function termsOf(
  ask: Ask,
  schema: string,
  { kind, column, own, stored, read }: TermColumn,
  { text, limit, countMax }: TermQuery,
): Promise<readonly FoundTerm[]> {
  const first = (from: string): string =>
    `SELECT ${column} FROM ${schema}.jobs WHERE ${own} AND ${column} ${from} AND ${column} < $2 ORDER BY ${column} LIMIT 1`
  const rows = await ask(
    `WITH RECURSIVE terms (term) AS (
       (${first('>= $1')})
       UNION ALL SELECT (${first('> terms.term')}) FROM terms WHERE terms.term IS NOT NULL)
     SELECT term, (SELECT count(*)::float8 FROM
       (SELECT 1 FROM ${schema}.jobs WHERE ${own} AND ${column} = term LIMIT $4::int) AS counted)
     FROM terms WHERE term IS NOT NULL LIMIT $3::int`,
    [stored(text), `${stored(text)}${last}`, limit, countMax + 1],
  )
  return rows.map(([term, jobs]) => ({
    kind,
    value: read(term as string),
    jobs: Math.min(jobs as number, countMax),
    more: (jobs as number) > countMax,
  }))
}
