/** One search over several sources, whose jobs are merged. Of sources in the order of the search a bounded number of jobs is looked at. */
import { scanMax } from '../../core/cursor.ts'
import type { Condition } from './conditions.ts'
import type { RowValues } from './columns.ts'
import type { Source } from './sources.ts'
import type { Statements } from './statements.ts'

/** In which order jobs are found, and what is read of them. */
export interface PageRange {
  /** By the end instead of the enqueue: then only ended jobs are found. */
  readonly byEnd: boolean
  readonly newestFirst: boolean
  /** Starts after this number of a job: that of its enqueue or of its end; null = at the first. */
  readonly after: number | null
  /** Ends at this number, and leaves out jobs that have ended after it. */
  readonly until?: number
  /** No job that matches has a lower number. */
  readonly since: number
  readonly limit: number
  readonly columns: string
}

export interface FoundPage {
  readonly found: readonly RowValues[]
  /** The number to go on after; null at the end. */
  readonly next: number | null
}

/** Up to `limit` jobs of the sources that meet the conditions. */
export function search(
  sql: Statements,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: PageRange,
): FoundPage {
  const { limit } = range
  const bound = boundOf(sql, sources, conditions, range)
  let found: RowValues[] = []
  let until = bound
  for (const source of sources) {
    found = merged(found, pageOf(sql, source, conditions, range, until), range)
    // One row more than the page holds shows whether there is a next page. What comes after it is not read.
    if (found.length > limit) until = numberOf(found[limit] as RowValues, range)
  }
  if (found.length <= limit) return { found, next: bound }
  const page = found.slice(0, limit)
  return { found: page, next: numberOf(page.at(-1) as RowValues, range) }
}

/** The number up to which jobs are looked at; null = all of them. Where all that is looked at matches, `limit` is the bound. */
function boundOf(
  sql: Statements,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: PageRange,
): number | null {
  const { newestFirst, since } = range
  const searched = sources.filter(({ inOrder, also }) => inOrder && (also.length > 0 || conditions.length > 0))
  const count = Math.ceil(scanMax / searched.length)
  const [compare, direction, last] = newestFirst ? ['<', 'DESC', 'min'] : ['>', '', 'max']
  const bounds = searched.flatMap((source) => {
    const number = numberColumn(source, range)
    const text = `SELECT count(*), ${last}(number) FROM (SELECT ${number} AS number FROM ${source.from}
      WHERE ${source.own.term} AND ${number} ${compare} ? AND ${number} >= ? ORDER BY ${number} ${direction} LIMIT +?)`
    const [looked, bound] = sql.lastOf(text, ...source.own.values, after(range), since, count)
    return looked < count || bound === null ? [] : [bound]
  })
  if (bounds.length === 0) return null
  return newestFirst ? Math.max(...bounds) : Math.min(...bounds)
}

function pageOf(
  sql: Statements,
  source: Source,
  conditions: readonly Condition[],
  range: PageRange,
  until: number | null,
): RowValues[] {
  const { newestFirst, limit, columns, until: end, since } = range
  const number = numberColumn(source, range)
  const table = source.job === 'seq' ? source.from : `${source.from} CROSS JOIN jobs ON seq = ${source.job}`
  const [compare, before, direction] = newestFirst ? ['<', '>=', 'DESC'] : ['>', '<=', '']
  const bounds = [{ term: `${number} ${compare} ?`, values: [after(range)] }]
  if (until !== null) bounds.push({ term: `${number} ${before} ?`, values: [until] })
  if (end !== undefined) bounds.push({ term: `${number} <= ?`, values: [end] })
  if (since > 0) bounds.push({ term: `${number} >= ?`, values: [since] })
  const all: readonly Condition[] = [source.own, ...bounds, ...source.also, ...conditions]
  const text = `SELECT ${columns} FROM ${table} WHERE ${all.map(({ term }) => term).join(' AND ')}
    ORDER BY ${number} ${direction} LIMIT +?`
  const values = all.flatMap((condition) => condition.values)
  return sql.jobs(text, ...values, limit === Infinity ? -1 : limit + 1)
}

/** The first rows of two lists in the order of the range, one more than its limit. */
function merged(some: RowValues[], others: RowValues[], range: PageRange): RowValues[] {
  if (some.length === 0) return others
  const direction = range.newestFirst ? -1 : 1
  return [...some, ...others]
    .toSorted((a, b) => direction * (numberOf(a, range) - numberOf(b, range)))
    .slice(0, range.limit + 1)
}

const after = ({ after: number, newestFirst }: PageRange): number =>
  number ?? (newestFirst ? Number.MAX_SAFE_INTEGER : 0)

/** What the order of a range goes by: a column of a source, and its value in a row. */
const numberColumn = ({ job }: Source, { byEnd }: PageRange): string => (byEnd ? 'moved' : job)
const numberOf = (values: RowValues, { byEnd }: PageRange): number => (byEnd ? values[16] : values[0])
