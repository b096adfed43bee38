/** Selects rows by a filter, which looks at a bounded number of rows in one call. */
import { caps } from '../../core/caps.ts'
import {
  comparePositions,
  hasMeta,
  inSequence,
  inTime,
  isListed,
  scanMax,
  selectionAfter,
  selectionRange,
  type PageRange,
  type Position,
} from '../../core/cursor.ts'
import type { SelectedRows, Selection } from '../../core/source.ts'
import type { JobFilter, ListOrder } from '../../store.ts'
import { valueOf } from '../../core/cell.ts'
import { Heap, type HeapItem } from '../../core/heap.ts'
import type { Families } from './families.ts'
import type { LinkedList } from './linked-list.ts'
import type { TransitionLog } from './log.ts'
import type { MachineIndex } from './machine-index.ts'
import { phases, tally, type Phase } from './phases.ts'
import type { Queue } from './queue.ts'
import type { RowTable } from './row-table.ts'
import type { Row } from './row.ts'
import type { Timers } from './timers.ts'

/** What a search reads: the rows and their indexes. */
interface SearchedRows {
  readonly rows: RowTable
  readonly queues: ReadonlyMap<string, Queue<Row>>
  /** Leased rows by the index of their phase, in the order in which they entered it. */
  readonly rowsByPhase: readonly LinkedList<Row>[]
  /** Rows by the index of their phase. */
  readonly counts: readonly number[]
  readonly machineIndex: MachineIndex
  readonly transitions: TransitionLog
  /** Rows with a due time. */
  readonly timers: Timers<Row>
  readonly families: Families
}

interface RowPage {
  readonly rows: readonly Row[]
  /** The position to go on after; null at the end. */
  readonly next: Position | null
}

/** Where a row of an order stands in it. */
export const positionIn = (by: ListOrder, row: Row): Position =>
  by === 'due' ? { dueAt: row.wakeAt ?? 0, number: row.seq } : inSequence(by === 'finished' ? row.lastSeq : row.seq)

/** The rows of a page that are in an `eligible` phase. */
export function select(
  store: SearchedRows,
  { filter, after, limit = caps.selection }: Selection,
  eligible: (phase: Phase) => boolean,
): SelectedRows<Row> {
  const range = selectionRange(after, store.transitions.lastSeq)
  const page = { by: 'enqueued', newestFirst: false, ...range, limit: Math.min(limit, caps.selection) } as const
  const { rows, next } = find(store, filter, eligible, page)
  return { rows, next: selectionAfter(next, range) }
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
  const fits = (phase: Phase): boolean => eligible(phase) && isListed(range.by, phase.name)
  const among = phases.filter((phase) => fits(phase) && (states === null || states.has(phase.name)))
  const queues = [...(types ?? store.queues.keys())].flatMap((type) => store.queues.get(type) ?? [])
  const counts = types === null ? [store.counts] : queues.map((queue) => queue.counts)
  /** Rows of these phases and types that have not been looked at. */
  let left = counts.reduce((sum, each) => sum + tally(each, among), 0)
  const { until = Infinity } = range
  const rows: Row[] = []
  let looked = 0
  let last: Row | null = null
  const next = (): Position | null => (last === null ? null : positionIn(range.by, last))
  if (left === 0) return { rows, next: null }
  for (const row of candidates(store, filter, among, queues, range)) {
    // There is one more row: the page ends at the number of its last row, which stays valid if that row is removed.
    if (looked === scanMax) return { rows, next: next() }
    if (row.seq > until) break
    const isAmong = among.includes(row.phase) && (types === null || types.has(row.type))
    if (isAmong && !(row.phase.ended && row.lastSeq > until) && passes(store, row, filter)) {
      if (rows.length === range.limit) return { rows, next: next() }
      rows.push(row)
    }
    looked++
    last = row
    if (isAmong && --left === 0) break
  }
  return { rows, next: null }
}

function passes(store: SearchedRows, row: Row, filter: JobFilter): boolean {
  const { tag, key, concurrencyKey, meta, failure, unsupported, parent, machineState, machineTag } = filter
  return (
    (tag === undefined || valueOf(row.terms.tags).includes(tag)) &&
    (key === undefined || row.key === key) &&
    (concurrencyKey === undefined || row.concurrencyKey === concurrencyKey) &&
    (meta === undefined || hasMeta(valueOf(row.terms.meta), meta)) &&
    (failure === undefined || isOneOf(failure, row.rarely.failure)) &&
    (unsupported === undefined || store.machineIndex.unsupported.has(row)) &&
    (parent === undefined || row.machine?.parent?.id === parent) &&
    (machineState === undefined || row.machine?.states.includes(machineState) === true) &&
    (machineTag === undefined || row.machine?.tags.includes(machineTag) === true) &&
    inTime(filter, row.enqueuedAt, row.finishedAt)
  )
}

const isOneOf = (wanted: string | readonly string[], value: string | null): boolean =>
  typeof wanted === 'string' ? wanted === value : value !== null && wanted.includes(value)

function anyOf<T extends string>(wanted: T | readonly T[] | undefined): ReadonlySet<string> | null {
  if (wanted === undefined) return null
  return new Set<string>(typeof wanted === 'string' ? [wanted] : wanted)
}

/** Up to this many rows are gathered and sorted; of more, all rows are looked at in their order. */
const fewRows = 4 * scanMax

/** A superset of the rows that pass the filter, in the order of the range. */
function candidates(
  store: SearchedRows,
  filter: JobFilter,
  among: readonly Phase[],
  queues: readonly Queue<Row>[],
  range: PageRange,
): Iterable<Row> {
  const { after, newestFirst, by } = range
  if (by === 'finished') return byTheirEnd(endedLists(queues, among), range)
  const few = fewOf(store, filter, among, queues)
  if (few !== null) return sorted(by === 'due' ? few.filter(({ dueAt }) => dueAt !== null) : few, range)
  if (by === 'due') return newestFirst ? store.timers.before(after) : store.timers.after(after)
  return newestFirst ? store.rows.before(after?.number ?? Infinity) : store.rows.after(after?.number ?? 0)
}

/** Those of some rows that come after the start of a range, in its order. */
function sorted(rows: readonly Row[], { by, after, newestFirst }: PageRange): readonly Row[] {
  const direction = newestFirst ? -1 : 1
  return rows
    .map((row) => ({ row, position: positionIn(by, row) }))
    .filter(({ position }) => after === null || direction * comparePositions(position, after) > 0)
    .toSorted((a, b) => direction * comparePositions(a.position, b.position))
    .map(({ row }) => row)
}

const noRows: ReadonlySet<Row> = new Set()

/** The smallest indexed superset, if it is small; unordered. */
function fewOf(
  store: SearchedRows,
  filter: JobFilter,
  among: readonly Phase[],
  queues: readonly Queue<Row>[],
): readonly Row[] | null {
  const { unsupported, parent, machineState, machineTag } = filter
  const { machineIndex } = store
  const sets: ReadonlySet<Row>[] = []
  if (unsupported === true) sets.push(machineIndex.unsupported)
  if (parent !== undefined) sets.push(store.families.childrenOf(parent) ?? noRows)
  if (machineState !== undefined) sets.push(machineIndex.states.get(machineState) ?? noRows)
  if (machineTag !== undefined) sets.push(machineIndex.tags.get(machineTag) ?? noRows)
  const smallest = sets.toSorted((a, b) => a.size - b.size)[0]
  if (smallest !== undefined && smallest.size <= fewRows) return [...smallest]
  const atHand = among.every((phase) => phase.leased || phase.ended)
  const count = queues.reduce((sum, queue) => sum + tally(queue.counts, among), 0)
  if (!atHand || count > fewRows || count * 20 > store.rows.size) return null
  const leased = among.flatMap((phase) => (phase.leased ? (store.rowsByPhase[phase.index] ?? []) : []))
  return [...leased, ...endedLists(queues, among)].flatMap((rows) => rows.toArray())
}

/** The ended rows of some phases, a list for each queue and phase in the order of their end. */
const endedLists = (queues: readonly Queue<Row>[], among: readonly Phase[]): LinkedList<Row>[] =>
  queues.flatMap(({ ended }) => among.flatMap((phase) => (phase.ended ? (ended[phase.index] ?? []) : [])))

/** The next row of a list that is walked. */
interface Head extends HeapItem {
  row: Row
}

/** The rows of some lists, merged in the order of their end. */
function* byTheirEnd(
  lists: readonly LinkedList<Row>[],
  { after, newestFirst }: Pick<PageRange, 'after' | 'newestFirst'>,
): Iterable<Row> {
  const next = (row: Row): Row | null => (newestFirst ? row.prev : row.next)
  const isPast = ({ lastSeq }: Row): boolean =>
    after !== null && (newestFirst ? lastSeq >= after.number : lastSeq <= after.number)
  const heads = new Heap<Head>(({ row: a }, { row: b }) =>
    newestFirst ? a.lastSeq > b.lastSeq : a.lastSeq < b.lastSeq,
  )
  for (const { head: first, tail } of lists) {
    let row = newestFirst ? tail : first
    while (row !== null && isPast(row)) row = next(row)
    if (row !== null) heads.push({ row, heapIndex: -1 })
  }
  for (let head = heads.peek(); head !== undefined; head = heads.peek()) {
    const { row } = head
    const following = next(row)
    yield row
    if (following === null) heads.pop()
    else {
      head.row = following
      heads.update(head)
    }
  }
}
