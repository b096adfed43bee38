/** Selects jobs by a filter, which becomes a WHERE. Each search looks at a bounded number of jobs. */
import { caps } from '../../core/caps.ts'
import { isListed, selectionAfter, selectionRange } from '../../core/cursor.ts'
import type { SelectedRows, Selection } from '../../core/source.ts'
import { isEnded, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter } from '../../store.ts'
import { conditionsOf } from '../sql/conditions.ts'
import { columns } from '../sql/columns.ts'
import type { Minutes } from './minutes.ts'
import type { Queues } from './queues.ts'
import type { RowValues } from '../sql/columns.ts'
import type { Row } from './row-cache.ts'
import { search, type FoundPage, type PageRange } from '../sql/search.ts'
import { sourcesOf } from '../sql/sources.ts'
import { sqlite } from './dialect.ts'
import type { Statements } from './statements.ts'

/** What a search reads. */
interface SearchedFile {
  readonly sql: Statements
  readonly queues: Queues
  readonly minutes: Minutes
  from(values: RowValues): Row
  /** Writes what the transaction has changed. */
  flush(): void
}

/** The jobs of a page that are in an `eligible` state. */
export function select(
  file: SearchedFile,
  { filter, after, limit = caps.selection }: Selection,
  last: number,
  eligible: (state: JobState) => boolean,
): SelectedRows<Row> {
  const range = selectionRange(after, last)
  const page = {
    by: 'enqueued',
    newestFirst: false,
    ...range,
    limit: Math.min(limit, caps.selection),
    columns,
  } as const
  const { found, next } = find(file, filter, eligible, page)
  return { rows: found.map((values) => file.from(values)), next: selectionAfter(next, range) }
}

/**
 * The jobs of a range that pass the filter. The counts tell which states and queues can have any: those that cannot are
 * not looked at.
 */
export function find(
  file: SearchedFile,
  filter: JobFilter,
  eligible: (state: JobState) => boolean,
  range: Omit<PageRange, 'since'>,
): FoundPage {
  file.flush()
  const { by } = range
  const allQueues = file.queues.all()
  const types = filter.type === undefined ? null : [...new Set([filter.type].flat())]
  const queues = types === null ? allQueues : types.flatMap((type) => file.queues.known(type) ?? [])
  const wanted = filter.state === undefined ? jobStates : [filter.state].flat()
  const isEndedOnly = filter.finishedAfter !== undefined || filter.finishedBefore !== undefined
  const fits = (state: JobState): boolean =>
    wanted.includes(state) && eligible(state) && isListed(by, state) && (isEnded(state) || !isEndedOnly)
  const states = jobStates.filter((state) => fits(state) && queues.some((queue) => queue.in(state) > 0))
  if (states.length === 0) return { found: [], next: null }
  const conditions = conditionsOf(sqlite, filter)
  if (range.until !== undefined && states.every(isEnded))
    conditions.push({ term: 'lives.last_seq <= ?', values: [range.until] })
  const since = (time: number | undefined): number => (time === undefined ? 0 : file.minutes.firstSince(time))
  const endedSince = since(filter.finishedAfter)
  const hasMore = conditions.length > 0
  const scope = { dialect: sqlite, filter, queues, states, allQueues, by, hasMore, endedSince }
  const sources = file.sql.answer(sourcesOf(scope))
  const first = by === 'finished' ? endedSince : since(filter.enqueuedAfter)
  return file.sql.answer(search(sqlite, sources, conditions, { ...range, since: first }))
}
