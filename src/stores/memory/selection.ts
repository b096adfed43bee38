/** Selects rows by ids or by a filter. A filter looks at a bounded number of rows in one call. */
import { caps } from '../../core/caps.ts'
import { hasMeta, inTime, scanMax, selectionAfter, selectionRange } from '../../core/cursor.ts'
import type { SelectedRows } from '../../core/unit-of-work.ts'
import type { JobFilter, Selection } from '../../store.ts'
import type { LinkedList } from './linked-list.ts'
import type { TransitionLog } from './log.ts'
import type { MachineIndex } from './machine-index.ts'
import { phases, tally, type Phase } from './phases.ts'
import type { Queue } from './queue.ts'
import type { RowTable } from './row-table.ts'
import type { Row } from './row.ts'

/** What a search reads: the rows and their indexes. */
interface SearchedRows {
  readonly rows: RowTable
  readonly queues: ReadonlyMap<string, Queue<Row>>
  /** Leased and ended rows by the index of their phase, in the order in which they entered it. */
  readonly rowsByPhase: readonly LinkedList<Row>[]
  /** Rows by the index of their phase. */
  readonly counts: readonly number[]
  readonly unsupported: ReadonlySet<Row>
  readonly machineIndex: MachineIndex
  readonly log: TransitionLog
  /** The rows of all children of a job. */
  childrenOf(id: string): ReadonlySet<Row> | undefined
}

/** In which order rows are looked at, and how many of them. */
interface PageRange {
  /** By the end instead of the enqueue: then only ended rows are found. */
  readonly byEnd: boolean
  readonly newestFirst: boolean
  /** Starts after this number of a row (see `numberOf`); null = at the first. */
  readonly after: number | null
  /** Ends at this number, and leaves out jobs that have ended after it. */
  readonly until?: number
  readonly limit: number
}

interface RowPage {
  readonly rows: readonly Row[]
  /** The number to go on after; null at the end. */
  readonly next: number | null
}

/** What the order of a range goes by. */
export const numberOf = (row: Row, { byEnd }: Pick<PageRange, 'byEnd'>): number => (byEnd ? row.endedBy : row.seq)

/** The rows of a selection: as the ids name them, each once, or by filter those in an `eligible` phase, oldest first. */
export function select(
  store: SearchedRows,
  selection: Selection,
  eligible: (phase: Phase) => boolean,
): SelectedRows<Row> {
  if ('filter' in selection) {
    const { filter, after, limit = caps.selection } = selection
    const range = selectionRange(after, store.log.nextSeq - 1)
    const page = { byEnd: false, newestFirst: false, ...range, limit: Math.min(limit, caps.selection) }
    const { rows, next } = find(store, filter, eligible, page)
    return { rows, notFound: [], next: selectionAfter(next, range) }
  }
  const rows: Row[] = []
  const notFound: string[] = []
  for (const id of new Set(selection.ids)) {
    const row = store.rows.get(id)
    if (row === undefined) notFound.push(id)
    else rows.push(row)
  }
  return { rows, notFound, next: null }
}

/** The rows of a range that pass the filter. */
export function find(
  store: SearchedRows,
  filter: JobFilter,
  eligible: (phase: Phase) => boolean,
  range: PageRange,
): RowPage {
  const types = anyOf(filter.type)
  const states = anyOf(filter.state)
  const fits = (phase: Phase): boolean => eligible(phase) && (!range.byEnd || phase.ended)
  const among = phases.filter((phase) => fits(phase) && (states === null || states.has(phase.name)))
  const queues = types === null ? null : [...types].flatMap((type) => store.queues.get(type) ?? [])
  const counts = queues === null ? [store.counts] : queues.map((queue) => queue.counts)
  /** Rows of these phases and types that have not been looked at. */
  let left = counts.reduce((sum, each) => sum + tally(each, among), 0)
  const { until = Infinity } = range
  const rows: Row[] = []
  let looked = 0
  let last: number | null = null
  if (left === 0) return { rows, next: null }
  for (const row of candidates(store, filter, among, range)) {
    // There is one more row: the page ends at the number of its last row, which stays valid if that row is removed.
    if (looked === scanMax) return { rows, next: last }
    if (row.seq > until) break
    const isAmong = among.includes(row.phase) && (types === null || types.has(row.type))
    if (isAmong && !(row.phase.ended && row.endedBy > until) && passes(store, row, filter)) {
      if (rows.length === range.limit) return { rows, next: last }
      rows.push(row)
    }
    looked++
    last = numberOf(row, range)
    if (isAmong && --left === 0) break
  }
  return { rows, next: null }
}

function passes(store: SearchedRows, row: Row, filter: JobFilter): boolean {
  const { tag, key, concurrencyKey, meta, failure, unsupported, parent, machineState, machineTag } = filter
  return (
    (tag === undefined || row.terms.tags.includes(tag)) &&
    (key === undefined || row.key === key) &&
    (concurrencyKey === undefined || row.concurrencyKey === concurrencyKey) &&
    (meta === undefined || hasMeta(row.terms.meta, meta)) &&
    (failure === undefined || row.past?.failure === failure) &&
    (unsupported === undefined || store.unsupported.has(row)) &&
    (parent === undefined || row.machine?.parent?.id === parent) &&
    (machineState === undefined || row.machine?.states.includes(machineState) === true) &&
    (machineTag === undefined || row.machine?.tags.includes(machineTag) === true) &&
    inTime(filter, row.came.at, row.phase.ended ? row.endedAt : null)
  )
}

function anyOf<T extends string>(wanted: T | readonly T[] | undefined): ReadonlySet<string> | null {
  if (wanted === undefined) return null
  return new Set<string>(typeof wanted === 'string' ? [wanted] : wanted)
}

/** Up to this many rows are gathered and sorted; of more, all rows are looked at in their order. */
const fewRows = 4 * scanMax

/** A superset of the rows that pass the filter, in the order of the range. */
function candidates(store: SearchedRows, filter: JobFilter, among: readonly Phase[], range: PageRange): Iterable<Row> {
  const { after, newestFirst, byEnd } = range
  if (byEnd) return byTheirEnd(store, among, range)
  const few = fewOf(store, filter, among)
  if (few === null) return newestFirst ? store.rows.before(after ?? Infinity) : store.rows.after(after ?? 0)
  if (newestFirst) return few.filter(({ seq }) => seq < (after ?? Infinity)).toSorted((a, b) => b.seq - a.seq)
  return few.filter(({ seq }) => seq > (after ?? 0)).toSorted((a, b) => a.seq - b.seq)
}

const noRows: ReadonlySet<Row> = new Set()

/** The smallest indexed superset, if it is small; unordered. */
function fewOf(store: SearchedRows, filter: JobFilter, among: readonly Phase[]): readonly Row[] | null {
  const { unsupported, parent, machineState, machineTag } = filter
  const { machineIndex } = store
  const sets: ReadonlySet<Row>[] = []
  if (unsupported === true) sets.push(store.unsupported)
  if (parent !== undefined) sets.push(store.childrenOf(parent) ?? noRows)
  if (machineState !== undefined) sets.push(machineIndex.states.get(machineState) ?? noRows)
  if (machineTag !== undefined) sets.push(machineIndex.tags.get(machineTag) ?? noRows)
  const smallest = sets.toSorted((a, b) => a.size - b.size)[0]
  if (smallest !== undefined && smallest.size <= fewRows) return [...smallest]
  const atHand = among.every((phase) => phase.leased || phase.ended)
  const count = tally(store.counts, among)
  if (!atHand || count > fewRows || count * 20 > store.rows.size) return null
  return among.flatMap((phase) => store.rowsByPhase[phase.index]?.toArray() ?? [])
}

/** The ended rows of some phases in the order of their end: each phase has a list in that order. */
function* byTheirEnd(
  store: SearchedRows,
  among: readonly Phase[],
  { after, newestFirst }: Pick<PageRange, 'after' | 'newestFirst'>,
): Iterable<Row> {
  const next = (row: Row): Row | null => (newestFirst ? row.prev : row.next)
  const isPast = ({ endedBy }: Row): boolean => after !== null && (newestFirst ? endedBy >= after : endedBy <= after)
  const heads = among.map(({ index }): Row | null => {
    const rows = store.rowsByPhase[index]
    let row = (newestFirst ? rows?.tail : rows?.head) ?? null
    while (row !== null && isPast(row)) row = next(row)
    return row
  })
  for (;;) {
    let first = -1
    for (const [i, row] of heads.entries()) {
      const best = heads[first] ?? null
      if (row !== null && (best === null || (newestFirst ? row.endedBy > best.endedBy : row.endedBy < best.endedBy))) {
        first = i
      }
    }
    const row = heads[first] ?? null
    if (row === null) return
    heads[first] = next(row)
    yield row
  }
}
