/**
 * Searches for jobs by a filter, which becomes a WHERE: one search over several sources, whose jobs are merged. Of
 * sources in the order of the search a bounded number of jobs is looked at.
 */
import { caps } from '../../core/caps.ts'
import {
  comparePositions,
  inSequence,
  isListed,
  scanMax,
  selectionAfter,
  selectionRange,
  type PageRange,
  type Position,
} from '../../core/cursor.ts'
import { isEnded, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { Selection } from '../../core/source.ts'
import type { JobFilter } from '../../store.ts'
import { columns as allColumns, never, type RowValues } from './columns.ts'
import { conditionsOf, termOf, valuesIn, type Condition } from './conditions.ts'
import type { Minutes } from './minutes.ts'
import type { Queues } from './queues.ts'
import { ended, sourcesOf, type Source } from './sources.ts'
import type { Statements } from './statements.ts'

/** What a search reads. */
interface SearchedFile {
  readonly sql: Statements
  readonly queues: Queues
  readonly minutes: Minutes
  /** The number of the last transition. */
  readonly seq: number
  /** Writes what the transaction has changed. */
  flush(): void
}

/** Jobs in an order, and what is read of them. */
interface ColumnRange extends PageRange {
  readonly columns: string
}

interface FoundPage {
  readonly found: readonly RowValues[]
  /** The position to go on after; null at the end. */
  readonly next: Position | null
}

/** The jobs of a page that are in one of the states. */
export function select(
  file: SearchedFile,
  { filter, after, limit = caps.selection }: Selection,
  states: ReadonlySet<JobState>,
): { readonly found: readonly RowValues[]; readonly next: string | null } {
  const range = selectionRange(after, file.seq)
  const page = {
    by: 'enqueued',
    newestFirst: false,
    ...range,
    limit: Math.min(limit, caps.selection),
    columns: allColumns,
  } as const
  const { found, next } = find(file, filter, page, states)
  return { found, next: selectionAfter(next, range) }
}

/**
 * The jobs of a range that pass the filter. The counts tell which states and queues can have any: those that cannot are
 * not looked at.
 */
export function find(
  file: SearchedFile,
  filter: JobFilter,
  range: ColumnRange,
  eligible?: ReadonlySet<JobState>,
): FoundPage {
  file.flush()
  const { sql } = file
  const { by } = range
  const allQueues = file.queues.all()
  const types = filter.type === undefined ? null : [...new Set([filter.type].flat())]
  const queues = types === null ? allQueues : types.flatMap((type) => file.queues.known(type) ?? [])
  const wanted = filter.state === undefined ? jobStates : [filter.state].flat()
  const isEndedOnly = filter.finishedAfter !== undefined || filter.finishedBefore !== undefined
  const fits = (state: JobState): boolean =>
    wanted.includes(state) && isListed(by, state) && (isEnded(state) || !isEndedOnly) && eligible?.has(state) !== false
  const states = jobStates.filter((state) => fits(state) && queues.some((queue) => queue.in(state) > 0))
  if (states.length === 0) return { found: [], next: null }
  const conditions = conditionsOf(filter)
  if (range.until !== undefined && states.every(isEnded))
    conditions.push({ term: 'lives.last_seq <= ?', values: [range.until] })
  const numberSince = (time: number | undefined): number => (time === undefined ? 0 : file.minutes.firstSince(time))
  const endedSince = numberSince(filter.finishedAfter)
  const hasMore = conditions.length > 0
  const sources = sourcesOf({ sql, filter, queues, states, allQueues, by, hasMore, endedSince })
  const since = by === 'finished' ? endedSince : numberSince(filter.enqueuedAfter)
  return search(sql, sources, conditions, { ...range, since })
}

interface SearchedRange extends ColumnRange {
  /** No job that matches has a lower number: that of its end in the order of ends, otherwise that of its enqueue. */
  readonly since: number
}

/** Up to `limit` jobs of the sources that meet the conditions. */
function search(
  sql: Statements,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: SearchedRange,
): FoundPage {
  const { limit } = range
  const bound = boundOf(sql, sources, conditions, range)
  let found: RowValues[] = []
  let until = bound
  for (const source of sources) {
    found = merged(found, pageOf(sql, source, conditions, range, until), range)
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
function boundOf(
  sql: Statements,
  sources: readonly Source[],
  conditions: readonly Condition[],
  range: SearchedRange,
): Position | null {
  const searched = sources.filter(({ inOrder, also }) => inOrder && (also.length > 0 || conditions.length > 0))
  const count = Math.ceil(scanMax / searched.length)
  const bounds = searched.flatMap((source): Position[] => {
    const since = { term: `${numberColumn(source, range)} >= ?`, values: [range.since] }
    const own = [source.own, start(source, range), since]
    const from = range.by === 'finished' ? rowsOf(source) : source.from
    const text = `SELECT ${columnsOf(source, range).join(', ')} FROM ${from}
      WHERE ${termOf(own)} ORDER BY ${orderOf(source, range)} LIMIT +1 OFFSET +?`
    const [last] = sql.query<[dueAt: number, number: number] | [number: number]>(text, [...valuesIn(own), count - 1])
    if (last === undefined) return []
    return [last.length === 2 ? { dueAt: last[0], number: last[1] } : inSequence(last[0])]
  })
  return bounds.toSorted((a, b) => compare(a, b, range))[0] ?? null
}

function pageOf(
  sql: Statements,
  source: Source,
  conditions: readonly Condition[],
  range: SearchedRange,
  until: Position | null,
): RowValues[] {
  const { newestFirst, limit, columns, until: end, since } = range
  const number = numberColumn(source, range)
  const bounds = [start(source, range)]
  if (until !== null) bounds.push(beyond(source, range, newestFirst ? '>=' : '<=', until))
  if (end !== undefined) bounds.push({ term: `${number} <= ?`, values: [end] })
  if (since > 0) bounds.push({ term: `${number} >= ?`, values: [since] })
  const all: readonly Condition[] = [source.own, ...bounds, ...source.also, ...conditions]
  const text = `SELECT ${columns} FROM ${rowsOf(source)} WHERE ${termOf(all)} ORDER BY ${orderOf(source, range)} LIMIT +?`
  return sql.query(text, [...valuesIn(all), limit + 1])
}

/**
 * The first rows of two lists in the order of the range, one more than its limit. What has not been listed for long may
 * be in two sources.
 */
function merged(some: RowValues[], others: RowValues[], range: ColumnRange): RowValues[] {
  if (some.length === 0) return others
  if (others.length === 0) return some
  return [...some, ...others]
    .toSorted((a, b) => compare(positionOf(a, range), positionOf(b, range), range))
    .filter((row, i, all) => row[0] !== all[i - 1]?.[0])
    .slice(0, range.limit + 1)
}

/** What the order of a range goes by: columns of a source, and their values in a row. */
const numberColumn = ({ job, order = job }: Source, { by }: ColumnRange): string =>
  by === 'finished' ? 'lives.last_seq' : order
const columnsOf = (source: Source, range: ColumnRange): readonly string[] => [
  ...(range.by === 'due' ? ['due_at'] : []),
  numberColumn(source, range),
]
const positionOf = (values: RowValues, { by }: ColumnRange): Position =>
  by === 'due'
    ? { dueAt: values[16] ?? 0, number: values[0] }
    : inSequence((by === 'finished' ? values[22] : null) ?? values[0])

const compare = (a: Position, b: Position, { newestFirst }: ColumnRange): number =>
  newestFirst ? comparePositions(b, a) : comparePositions(a, b)

const orderOf = (source: Source, range: ColumnRange): string =>
  [...(isInOrderOfEnds(source, range) ? ['ended.last'] : []), ...columnsOf(source, range)]
    .map((column) => (range.newestFirst ? `${column} DESC` : column))
    .join(', ')

const isInOrderOfEnds = ({ from }: Source, { by }: ColumnRange): boolean => by === 'finished' && from === ended

/** The rows of the jobs of a source. */
function rowsOf({ from, job }: Source): string {
  if (job === 'lives.job') return `${from} CROSS JOIN jobs ON jobs.seq = lives.job`
  const jobs = job === 'jobs.seq' ? from : `${from} CROSS JOIN jobs ON jobs.seq = ${job}`
  return `${jobs} LEFT JOIN lives ON lives.job = jobs.seq`
}

/** Jobs on one side of a position. */
function beyond(source: Source, range: ColumnRange, operator: string, { dueAt, number }: Position): Condition {
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
const start = (source: Source, range: ColumnRange): Condition =>
  range.newestFirst
    ? beyond(source, range, '<', range.after ?? last)
    : beyond(source, range, '>', range.after ?? inSequence(0))
