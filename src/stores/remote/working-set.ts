/**
 * What an operation works over: rows, small values and answers of indexes as they were loaded, or as this process
 * believes them to be. The commit is conditional on each row and each small value; answers of indexes are hints, and
 * the operation judges the rows that they name.
 */
import type { ErrorRecord } from '../../core/failure.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Selection } from '../../core/source.ts'
import { cellName, type CellKind } from './cells.ts'
import { NotLoaded, type HeadsNeed, type Need, type Timers } from './needs.ts'

/** A row as it was loaded: that of a transaction is made of it, which may happen more than once. */
export interface LoadedRow {
  /** Another one after each write; also that of a later job of the same id is another. */
  readonly revision: string
  decode(id: string): JobRow
}

/** Jobs in an index of times, the earliest first. */
export type Timed = readonly (readonly [id: string, at: number])[]

interface Limited<T> {
  readonly limit: number
  readonly found: T
}

/** The page of a selection by filter. */
export interface SelectedIds {
  readonly ids: readonly string[]
  readonly next: string | null
  /** The cursor behind the last page. */
  readonly end: string
}

/** The name of a page. */
export const selectionName = (selection: Selection, among?: readonly string[]): string =>
  JSON.stringify([selection, among])

/** A queued job, and what its place in the order of claims depends on. */
export interface QueuedJob {
  readonly id: string
  readonly priority: number
  readonly place: number
  readonly keyWeight: number
}

/** The order in which jobs are claimed, without shares of keys. */
export const byTurn = (a: QueuedJob, b: QueuedJob): number => b.priority - a.priority || a.place - b.place

/** The queued jobs of a concurrency key of a type. */
export interface QueueGroup {
  /** Null: of the jobs without one. */
  readonly key: string | null
  /** The first ones, by priority and then by place. */
  readonly first: readonly QueuedJob[]
  /** How many there are. */
  readonly queued: number
  /** How many jobs of the key are leased. */
  readonly leased: number
}

/** What may be claimed of a type. */
export interface QueueHeads {
  /** The jobs without a concurrency key, and those of each key that has jobs among these. */
  readonly groups: readonly QueueGroup[]
  /** The last job with a key that is told, if others come behind it; null: something of each key is told. */
  readonly upto: QueuedJob | null
}

export class WorkingSet {
  /** See `Server.epoch`. */
  readonly epoch: string
  readonly rows = new Map<string, LoadedRow | null>()
  /** By `cellName`; null = not there. */
  readonly cells = new Map<string, string | null>()
  /** Small values by their kind: hints like the answers of indexes. */
  readonly values = new Map<CellKind, readonly string[]>()
  readonly inboxes = new Map<string, readonly InboxEntry[]>()
  readonly children = new Map<string, readonly string[]>()
  readonly timers = new Map<Timers, Limited<Timed>>()
  readonly heads = new Map<string, QueueHeads>()
  /** By `selectionName`: an operation that runs again may make its selection anew. */
  readonly selections = new Map<string, SelectedIds>()
  /** Items of a call that have failed. */
  readonly failures = new Map<unknown, ErrorRecord>()
  /** Jobs that are left out, because somebody else holds their rows; null: the commit waits for them. */
  held: Set<string> | null = null
  counts: ReadonlyMap<string, number> | null = null
  private believedCounts: ReadonlyMap<string, number> | null = null
  /** Free slots for jobs that are handed over, by type. */
  private readonly slots = new Map<string, number>()
  /** Is anything in it that was not loaded for this operation? Then also what writes nothing must be confirmed. */
  believed = false

  constructor(epoch: string) {
    this.epoch = epoch
  }

  /** What this process believes, without having asked. */
  believeRow(id: string, row: LoadedRow | null): void {
    if (this.rows.has(id)) return
    this.rows.set(id, row)
    this.believed = true
  }

  believeCell(cells: CellKind, field: string, value: string | null): void {
    const name = cellName(cells, field)
    if (this.cells.has(name)) return
    this.cells.set(name, value)
    this.believed = true
  }

  /** There are no jobs: the commit compares the backlog with the capacity. */
  believeNoJobs(): void {
    this.counts = this.believedCounts = new Map()
  }

  /** Before a refusal, which no commit compares: the counts must be those of the store. */
  confirmCounts(): void {
    if (this.counts === this.believedCounts) throw new NotLoaded([{ kind: 'counts' }])
  }

  /** There are this many free slots for jobs of a type: the commit confirms it, or tells how many there are. */
  believeSlots(type: string, free: number): void {
    this.slots.set(type, free)
  }

  /** Forgets what has changed meanwhile, as the commit has named it, and all answers of indexes. */
  forget(stale: readonly string[]): void {
    for (const name of stale) {
      const [, free, typeOfSlots] = /^slots (-?\d+) ([^]*)$/.exec(name) ?? []
      if (typeOfSlots !== undefined) this.slots.set(typeOfSlots, Number(free))
      const id = name.startsWith('row ') ? name.slice(4) : null
      if (id === null) this.cells.delete(name)
      else {
        this.rows.delete(id)
        this.inboxes.delete(id)
      }
    }
    this.failures.clear()
    this.values.clear()
    this.children.clear()
    this.timers.clear()
    this.heads.clear()
    this.selections.clear()
    this.counts = null
  }

  // ── reading: throws NotLoaded ────────────────────────────────────────────────────────────────────────────────────

  row(id: string): LoadedRow | null {
    const row = this.rows.get(id)
    if (row === undefined) throw new NotLoaded([{ kind: 'row', id }])
    return row
  }

  cell(cells: CellKind, field: string): string | null {
    const value = this.cells.get(cellName(cells, field))
    if (value === undefined) throw new NotLoaded([{ kind: 'cell', cells, field }])
    return value
  }

  valuesOf(cells: CellKind): readonly string[] {
    return orNeed(this.values.get(cells), { kind: 'values', cells })
  }

  inbox(id: string): readonly InboxEntry[] {
    return orNeed(this.inboxes.get(id), { kind: 'inbox', id })
  }

  childrenOf(id: string): readonly string[] {
    return orNeed(this.children.get(id), { kind: 'children', id })
  }

  first(of: Timers, limit: number): Timed {
    const known = this.timers.get(of)
    return orNeed(known !== undefined && known.limit >= limit ? known.found : undefined, { kind: 'timers', of, limit })
  }

  headsOf(need: HeadsNeed): QueueHeads {
    return orNeed(this.heads.get(need.type), need)
  }

  handOverRoom(type: string): number {
    return this.slots.get(type) ?? 0
  }

  count(name: string): number {
    return orNeed(this.counts ?? undefined, { kind: 'counts' }).get(name) ?? 0
  }
}

function orNeed<T>(value: T | undefined, need: Need): T {
  if (value === undefined) throw new NotLoaded([need])
  return value
}
