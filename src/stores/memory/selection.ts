/** Which rows: by id, or by a filter that walks no more rows than it must. */
import type { JobFilter, Selection } from '../../store.ts'
import type { MemoryUnit } from './unit.ts'
import { phases, tally, type Phase } from './phases.ts'
import type { Row } from './row.ts'

export interface Selected {
  readonly rows: readonly Row[]
  readonly notFound: readonly string[]
}

/** The rows of a selection: as the ids name them, each once, or by filter those in an `eligible` phase, oldest first. */
export function select(unit: MemoryUnit, selection: Selection, eligible: (phase: Phase) => boolean): Selected {
  if ('filter' in selection) {
    const rows: Row[] = []
    walk(unit, selection.filter, eligible, 0, (row) => {
      rows.push(row)
      return 'more'
    })
    return { rows, notFound: [] }
  }
  const rows: Row[] = []
  const notFound: string[] = []
  for (const id of new Set(selection.ids)) {
    const row = unit.rows.get(id)
    if (row === undefined) notFound.push(id)
    else rows.push(row)
  }
  return { rows, notFound }
}

/** Visits the rows after `seq` that pass the filter, oldest first, until `visit` has had enough. */
export function walk(
  unit: MemoryUnit,
  filter: JobFilter,
  eligible: (phase: Phase) => boolean,
  seq: number,
  visit: (row: Row) => 'more' | 'enough',
): void {
  const types = anyOf(filter.type)
  const states = anyOf(filter.state)
  const among = phases.filter((phase) => eligible(phase) && (states === null || states.has(phase.name)))
  const queues = types === null ? null : [...types].flatMap((type) => unit.queues.get(type) ?? [])
  const counts = queues === null ? [unit.counts] : queues.map((queue) => queue.counts)
  let left = counts.reduce((sum, each) => sum + tally(each, among), 0)
  if (left === 0) return
  const look = (row: Row): 'more' | 'enough' => {
    if (!among.includes(row.phase) || (types !== null && !types.has(row.type))) return 'more'
    left--
    const answer = passes(row, filter) ? visit(row) : 'more'
    return left === 0 ? 'enough' : answer
  }
  const few = filter.unsupported === true ? bySeq([...unit.unsupported]) : fewRows(unit, among)
  if (few === null) return unit.rows.walk(seq, look)
  for (const row of few) if (row.seq > seq && look(row) === 'enough') return
}

const passes = (row: Row, { tag, key, concurrencyKey }: JobFilter): boolean =>
  (tag === undefined || row.terms.tags.includes(tag)) &&
  (key === undefined || row.key === key) &&
  (concurrencyKey === undefined || row.concurrencyKey === concurrencyKey)

function anyOf<T extends string>(wanted: T | readonly T[] | undefined): ReadonlySet<string> | null {
  if (wanted === undefined) return null
  return new Set<string>(typeof wanted === 'string' ? [wanted] : wanted)
}

const bySeq = (rows: readonly Row[]): Row[] => rows.toSorted((a, b) => a.seq - b.seq)

/** The rows of some phases in their order, if they are few and at hand. */
function fewRows(unit: MemoryUnit, among: readonly Phase[]): Row[] | null {
  const atHand = among.every((phase) => phase.leased || phase.ended)
  if (!atHand || tally(unit.counts, among) * 20 > unit.rows.size) return null
  const rows = among.flatMap((phase) => unit.chains[phase.index]?.toArray() ?? [])
  return bySeq(rows)
}
