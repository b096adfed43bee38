/** Selects jobs by ids, or by a filter that becomes a WHERE. Each search looks at a bounded number of jobs. */
import type { SQLInputValue } from 'node:sqlite'
import { caps } from '../../core/caps.ts'
import { scanMax, selectionAfter, selectionRange } from '../../core/cursor.ts'
import type { SelectedRows } from '../../core/unit-of-work.ts'
import { isEnded, isLeased, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter, Selection } from '../../store.ts'
import { conditionsOf, sourcesOfFew, type Condition, type Source } from './conditions.ts'
import { columns, type RowValues } from './columns.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import type { Rows } from './rows.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'

/** What a search reads. */
interface SearchedFile {
  readonly sql: Statements
  readonly queues: Queues
  readonly rows: Rows
  /** The number of the last transition. */
  readonly seq: number
}

/** In which order jobs are found, and what is read of them. */
interface PageRange {
  /** By the end instead of the enqueue: then only ended jobs are found. */
  readonly byEnd: boolean
  readonly newestFirst: boolean
  /** Starts after this number of a job: that of its enqueue or of its end; null = at the first. */
  readonly after: number | null
  /** Ends at this number, and leaves out jobs that have ended after it. */
  readonly until?: number
  readonly limit: number
  readonly columns: string
}

interface FoundPage {
  readonly found: readonly RowValues[]
  /** The number to go on after; null at the end. */
  readonly next: number | null
}

/** The jobs of a selection: as the ids name them, each once, or by filter those in an `eligible` state, oldest first. */
export function select(
  file: SearchedFile,
  selection: Selection,
  eligible: (state: JobState) => boolean,
): SelectedRows<Row> {
  if ('filter' in selection) {
    const { filter, after, limit = caps.selection } = selection
    const range = selectionRange(after, file.seq)
    const page = { byEnd: false, newestFirst: false, ...range, limit: Math.min(limit, caps.selection), columns }
    const { found, next } = find(file, filter, eligible, page)
    return { rows: found.map((values) => file.rows.from(values)), notFound: [], next: selectionAfter(next, range) }
  }
  const rows: Row[] = []
  const notFound: string[] = []
  for (const id of new Set(selection.ids)) {
    const row = file.rows.of(id)
    if (row === undefined) notFound.push(id)
    else rows.push(row)
  }
  return { rows, notFound, next: null }
}

/**
 * The jobs of a range that pass the filter. The counts tell which states and queues can have any: those that cannot are not
 * looked at.
 */
export function find(
  file: SearchedFile,
  filter: JobFilter,
  eligible: (state: JobState) => boolean,
  range: PageRange,
): FoundPage {
  file.rows.write()
  const queues =
    filter.type === undefined
      ? file.queues.all()
      : [...new Set([filter.type].flat())].flatMap((type) => file.queues.known(type) ?? [])
  const wanted = filter.state === undefined ? jobStates : [filter.state].flat()
  const jobsIn = (state: JobState): number => queues.reduce((sum, queue) => sum + queue.in(state), 0)
  const fits = (state: JobState): boolean => wanted.includes(state) && eligible(state) && jobsIn(state) > 0
  const states = jobStates.filter((state) => fits(state) && (!range.byEnd || isEnded(state)))
  if (states.length === 0) return { found: [], next: null }
  const notLater = range.until !== undefined && states.every(isEnded) ? [endedBy(range.until)] : []
  const conditions = [...conditionsOf(filter, queues), ...notLater]
  if (range.byEnd) return new Search(file, range, states.map(endedSource), conditions).page()
  // All states that have jobs: no condition is needed, and no index helps.
  const anyState = jobStates.every((state) => jobsIn(state) === 0 || states.includes(state))
  const entries = anyState ? Infinity : states.reduce((sum, state) => sum + entriesOf(file, state), 0)
  const [few] = sourcesOfFew(filter)
  if (entries <= (few === undefined ? fewJobs : scanMax)) {
    return new Search(file, range, states.map(fewSource), conditions, 'few').page()
  }
  const inStates = anyState ? [] : [stateIn(states)]
  return new Search(file, range, [few ?? wholeTable], [...inStates, ...conditions]).page()
}

/** The number of entries in the index of a state's jobs: the timed states share one. */
function entriesOf({ queues }: SearchedFile, state: JobState): number {
  const sharing = timed.has(state) ? [...timed] : [state]
  return queues.all().reduce((sum, queue) => sum + sharing.reduce((jobs, each) => jobs + queue.in(each), 0), 0)
}

const timed = statesTagged('timed')

const endedBy = (seq: number): Condition => ({ term: 'moved <= ?', values: [seq] })

const stateIn = (states: readonly JobState[]): Condition => ({
  term: `state IN (${states.map((state) => `'${state}'`).join(', ')})`,
  values: [],
})

/** Up to this many jobs are gathered from an index in another order and sorted; of more, the table is read in its order. */
const fewJobs = 4 * scanMax

const wholeTable: Source = { from: 'jobs NOT INDEXED', job: 'seq', own: { term: 'TRUE', values: [] } }

/** Ended jobs of a state, in the order of their end. */
const endedSource = (state: JobState): Source => ({
  from: 'jobs INDEXED BY ended',
  job: 'seq',
  own: { term: `state = '${state}' AND finished_at IS NOT NULL`, values: [] },
})

/** Jobs of a state where it has an index, which is in another order. */
function fewSource(state: JobState): Source {
  if (isEnded(state)) return endedSource(state)
  const own = `state = '${state}'`
  const source = (from: string, more = ''): Source => ({ from, job: 'seq', own: { term: own + more, values: [] } })
  if (state === claimable) return source('jobs INDEXED BY queued')
  if (isLeased(state)) return source('jobs INDEXED BY leases', ' AND lease_at IS NOT NULL')
  return source('jobs INDEXED BY due', ' AND due_at IS NOT NULL')
}

/** One search over several sources in the same order, up to the number that all of them have reached. */
class Search {
  private readonly file: SearchedFile
  private readonly range: PageRange
  private readonly sources: readonly Source[]
  private readonly conditions: readonly Condition[]
  private readonly jobs: 'few' | 'many'

  /** @param jobs may all of them be looked at? */
  constructor(
    file: SearchedFile,
    range: PageRange,
    sources: readonly Source[],
    conditions: readonly Condition[],
    jobs: 'few' | 'many' = 'many',
  ) {
    this.jobs = jobs
    this.file = file
    this.range = range
    this.sources = sources
    this.conditions = conditions
  }

  page(): FoundPage {
    const { limit } = this.range
    const until = this.bound()
    const pages = this.sources.map((source) => this.pageOf(source, until))
    const found = pages.length === 1 ? (pages[0] as RowValues[]) : pages.flat().toSorted(this.inOrder)
    // One row more than the page holds shows whether there is a next page.
    if (found.length <= limit) return { found, next: until }
    const page = found.slice(0, limit)
    return { found: page, next: numberOf(page.at(-1) as RowValues, this.range) }
  }

  private readonly inOrder = (a: RowValues, b: RowValues): number => {
    const difference = numberOf(a, this.range) - numberOf(b, this.range)
    return this.range.newestFirst ? -difference : difference
  }

  private number({ job }: Source): string {
    return this.range.byEnd ? 'moved' : job
  }

  /** The number up to which jobs are looked at; null = all of them. Where all that is looked at matches, `limit` is the bound. */
  private bound(): number | null {
    const { newestFirst } = this.range
    if (this.jobs === 'few' || this.conditions.length === 0) return null
    const [compare, direction, last] = newestFirst ? ['<', 'DESC', 'min'] : ['>', '', 'max']
    const bounds = this.sources.flatMap((source) => {
      const number = this.number(source)
      const sql = `SELECT count(*), ${last}(number) FROM (SELECT ${number} AS number FROM ${source.from}
        WHERE ${source.own.term} AND ${number} ${compare} ? ORDER BY ${number} ${direction} LIMIT ${scanMax})`
      const [count, bound] = this.file.sql.lastOf(sql, ...source.own.values, this.after)
      return count < scanMax || bound === null ? [] : [bound]
    })
    if (bounds.length === 0) return null
    return newestFirst ? Math.max(...bounds) : Math.min(...bounds)
  }

  private get after(): number {
    return this.range.after ?? (this.range.newestFirst ? Number.MAX_SAFE_INTEGER : 0)
  }

  private pageOf(source: Source, until: number | null): RowValues[] {
    const { newestFirst, limit, columns: list, until: end } = this.range
    const number = this.number(source)
    const table = source.job === 'seq' ? source.from : `${source.from} CROSS JOIN jobs ON seq = ${source.job}`
    const [after, before, direction] = newestFirst ? ['<', '>=', 'DESC'] : ['>', '<=', '']
    const bounds = [{ term: `${number} ${after} ?`, values: [this.after] }]
    if (until !== null) bounds.push({ term: `${number} ${before} ?`, values: [until] })
    if (end !== undefined) bounds.push({ term: `${number} <= ?`, values: [end] })
    const all: readonly Condition[] = [source.own, ...bounds, ...this.conditions]
    const sql = `SELECT ${list} FROM ${table} WHERE ${all.map(({ term }) => term).join(' AND ')}
      ORDER BY ${number} ${direction} LIMIT +?`
    const values: SQLInputValue[] = all.flatMap((condition) => condition.values)
    return this.file.sql.jobs(sql, ...values, limit === Infinity ? -1 : limit + 1)
  }
}

/** What the order of a range goes by. */
const numberOf = (values: RowValues, { byEnd }: PageRange): number => (byEnd ? values[16] : values[0])
