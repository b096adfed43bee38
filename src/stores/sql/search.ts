/**
 * One search over several sources, whose jobs are merged. Of sources in the order of the search a bounded number of
 * jobs is looked at.
 */
import { comparePositions, inSequence, scanMax, type Position } from '../../core/cursor.ts'
import type { ListOrder } from '../../core/figures.ts'
import type { RowValues } from './columns.ts'
import { ask, termOf, valuesIn, type Asking, type Condition, type Dialect } from './dialect.ts'
import { never } from './row.ts'
import { fromOf, type Source } from './sources.ts'

/** In which order jobs are found, and what is read of them. */
export interface PageRange {
  readonly by: ListOrder
  readonly newestFirst: boolean
  /** Starts after this position; null = at the first. */
  readonly after: Position | null
  /** Ends at this number of an enqueue, and leaves out jobs that have ended after it. */
  readonly until?: number
  /** No job that matches has a lower number: that of its end in the order of ends, otherwise that of its enqueue. */
  readonly since: number
  readonly limit: number
  readonly columns: string
}

export interface FoundPage {
  readonly found: readonly RowValues[]
  /** The position to go on after; null at the end. */
  readonly next: Position | null
}

/** Up to `limit` jobs of the sources that meet the conditions. */
export function* search(
  dialect: Dialect,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: PageRange,
): Asking<FoundPage> {
  const { limit } = range
  const bound = yield* boundOf(dialect, sources, conditions, range)
  let found: RowValues[] = []
  let until = bound
  for (const source of sources) {
    found = merged(found, yield* pageOf(dialect, source, conditions, range, until), range)
    // One row more than the page holds shows whether there is a next page. What comes after it is not read.
    if (found.length > limit) until = positionOf(found[limit] as RowValues, range)
  }
  if (found.length <= limit) return { found, next: bound }
  const page = found.slice(0, limit)
  return { found: page, next: positionOf(page.at(-1) as RowValues, range) }
}

/**
 * The position up to which jobs are looked at; null = all of them. Where all that is looked at matches, `limit` is the
 * bound.
 */
function* boundOf(
  dialect: Dialect,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: PageRange,
): Asking<Position | null> {
  const searched = sources.filter(({ inOrder, also }) => inOrder && (also.length > 0 || conditions.length > 0))
  const count = Math.ceil(scanMax / searched.length)
  const bounds: Position[] = []
  for (const source of searched) {
    const since = { term: `${numberColumn(source, range)} >= ?`, values: [range.since] }
    const own = [source.own, start(source, range), since]
    const from = range.by === 'finished' ? rowsOf(dialect, source) : fromOf(dialect, source)
    const text = `SELECT ${columnsOf(source, range).join(', ')} FROM ${from}
      WHERE ${termOf(own)} ORDER BY ${orderOf(source, range)} ${dialect.limit('1', '?')}`
    const last = yield* ask({
      text: dialect.statement(text),
      params: [...valuesIn(own), count - 1],
      decode: ([first]) => first as readonly number[] | undefined,
    })
    if (last === undefined) continue
    const [number, dueAt = 0] = last.toReversed() as [number, number?]
    bounds.push({ dueAt, number })
  }
  const [first] = bounds.toSorted((a, b) => compare(a, b, range))
  return first ?? null
}

function* pageOf(
  dialect: Dialect,
  source: Source,
  conditions: readonly Condition[],
  range: PageRange,
  until: Position | null,
): Asking<RowValues[]> {
  const { newestFirst, limit, columns, until: end, since } = range
  const number = numberColumn(source, range)
  const bounds = [start(source, range)]
  if (until !== null) bounds.push(beyond(source, range, newestFirst ? '>=' : '<=', until))
  if (end !== undefined) bounds.push({ term: `${number} <= ?`, values: [end] })
  if (since > 0) bounds.push({ term: `${number} >= ?`, values: [since] })
  const all: readonly Condition[] = [source.own, ...bounds, ...source.also, ...conditions]
  const text = `SELECT ${columns} FROM ${rowsOf(dialect, source)} WHERE ${termOf(all)} ORDER BY ${orderOf(source, range)} ${dialect.limit('?')}`
  return yield* ask({
    text: dialect.statement(text),
    params: [...valuesIn(all), limit === Infinity ? Number.MAX_SAFE_INTEGER : limit + 1],
    decode: (rows) => rows as RowValues[],
  })
}

/**
 * The first rows of two lists in the order of the range, one more than its limit. What has not been listed for long may
 * be in two sources.
 */
function merged(some: RowValues[], others: RowValues[], range: PageRange): RowValues[] {
  if (some.length === 0) return others
  if (others.length === 0) return some
  return [...some, ...others]
    .toSorted((a, b) => compare(positionOf(a, range), positionOf(b, range), range))
    .filter((row, i, all) => row[0] !== all[i - 1]?.[0])
    .slice(0, range.limit + 1)
}

/** What the order of a range goes by: columns of a source, and their values in a row. */
const numberColumn = ({ job, order = job }: Source, { by }: PageRange): string =>
  by === 'finished' ? 'lives.last_seq' : order
const columnsOf = (source: Source, range: PageRange): readonly string[] => [
  ...(range.by === 'due' ? ['due_at'] : []),
  numberColumn(source, range),
]
const positionOf = (values: RowValues, { by }: PageRange): Position =>
  by === 'due'
    ? { dueAt: values[16] ?? 0, number: values[0] }
    : inSequence((by === 'finished' ? values[22] : null) ?? values[0])

const compare = (a: Position, b: Position, { newestFirst }: PageRange): number =>
  newestFirst ? comparePositions(b, a) : comparePositions(a, b)

const orderOf = (source: Source, range: PageRange): string =>
  [...(isInOrderOfEnds(source, range) ? ['ended.last'] : []), ...columnsOf(source, range)]
    .map((column) => (range.newestFirst ? `${column} DESC` : column))
    .join(', ')

const isInOrderOfEnds = ({ table }: Source, { by }: PageRange): boolean => by === 'finished' && table === 'ended'

/** The rows of the jobs of a source. */
function rowsOf(dialect: Dialect, source: Source): string {
  const from = fromOf(dialect, source)
  if (source.job === 'lives.job') return dialect.join(from, 'jobs', 'jobs.seq = lives.job')
  const jobs = source.table === 'jobs' ? from : dialect.join(from, 'jobs', `jobs.seq = ${source.job}`)
  return `${jobs} LEFT JOIN lives ON lives.job = jobs.seq`
}

/** Jobs on one side of a position. */
function beyond(source: Source, range: PageRange, operator: string, { dueAt, number }: Position): Condition {
  const names = columnsOf(source, range)
  const marks = names.map(() => '?')
  const term = `(${names.join(', ')}) ${operator} (${marks.join(', ')})`
  if (range.by === 'due') return { term, values: [dueAt, number] }
  if (!isInOrderOfEnds(source, range)) return { term, values: [number] }
  // The rows from that on, or up to that, which has the position.
  const last = operator.startsWith('>')
    ? 'ended.last >= ?'
    : `ended.last <= coalesce((SELECT min(other.last) FROM ended AS other
      WHERE other.queue = ? AND other.state = ? AND other.last >= ?), ${Number.MAX_SAFE_INTEGER})`
  const of = operator.startsWith('>') ? [] : source.own.values.slice(0, 2)
  return { term: `${last} AND ${term}`, values: [...of, number, number] }
}

const last: Position = { dueAt: never, number: Number.MAX_SAFE_INTEGER }

/** Jobs after the start of the range. */
const start = (source: Source, range: PageRange): Condition =>
  range.newestFirst
    ? beyond(source, range, '<', range.after ?? last)
    : beyond(source, range, '>', range.after ?? inSequence(0))
