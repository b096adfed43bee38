/**
 * What a unit asks, answered from what was loaded and from what the unit has changed since. What is missing is thrown
 * as `NotLoaded`, all of it together. Answers of indexes are hints: the rows that they name are judged as they are now.
 */
import type { Changes } from '../../core/changes.ts'
import { JobRow, Terms, type JobToInsert, type Tick } from '../../core/job-row.ts'
import { isEnded, isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { SelectedRows, Selection, Source } from '../../core/source.ts'
import { cellName, keyName } from './cells.ts'
import { NotLoaded, type Need, type Timers } from './needs.ts'
import { selectionName, type SelectedIds, type WorkingSet } from './working-set.ts'

const backlog = statesTagged('backlog')

/** What a selection finds in place of what was loaded. */
export type Given = Omit<SelectedIds, 'next'> & { readonly next: string }

export class LoadedSource implements Source<JobRow> {
  /** Where set, a selection has those of these jobs that match. */
  among: readonly string[] | undefined
  /** Is no selection the last one? Jobs of it are left. */
  leavesJobs = false
  private readonly set: WorkingSet
  private readonly changes: Changes<JobRow>
  private readonly now: number
  private readonly given: Given | null
  /** What was asked for, and what was added; null: there is none. */
  readonly rows = new Map<string, JobRow | null>()
  /** Those of them that have a unique key, by its name. */
  private readonly keyed = new Map<string, JobRow[]>()

  /** @param given what a selection finds; null = what was loaded */
  constructor(set: WorkingSet, changes: Changes<JobRow>, now: number, given: Given | null) {
    this.set = set
    this.changes = changes
    this.now = now
    this.given = given
  }

  find(id: string): JobRow | undefined {
    let row = this.rows.get(id)
    if (row === undefined) {
      row = this.set.row(id)?.decode(id) ?? null
      this.keep(id, row)
    }
    return row === null || row.isRemoved ? undefined : row
  }

  findLeased(id: string): JobRow | undefined {
    return this.find(id)
  }

  private keep(id: string, row: JobRow | null): void {
    this.rows.set(id, row)
    if (row === null || row.key === null) return
    const name = keyName(row.type, row.key)
    const others = this.keyed.get(name)
    if (others === undefined) this.keyed.set(name, [row])
    else others.push(row)
  }

  /** @throws NotLoaded, naming all that are missing */
  findAll(ids: readonly string[]): JobRow[] {
    const missing = ids.filter((id) => !this.rows.has(id) && !this.set.rows.has(id))
    if (missing.length > 0) throw new NotLoaded(missing.map((id) => ({ kind: 'row', id })))
    return ids.flatMap((id) => this.find(id) ?? [])
  }

  existing(ids: readonly string[]): ReadonlyMap<string, string> {
    return new Map(this.findAll(ids).map(({ id, type }) => [id, type]))
  }

  newRow(job: JobToInsert, state: JobState, seq: number, came: Tick): JobRow {
    return new JobRow(job, new Terms(job), state, seq, came)
  }

  /** An id that was not asked for is believed to be free. */
  add(row: JobRow): boolean {
    this.set.believeRow(row.id, null)
    if (this.find(row.id) !== undefined) return false
    this.keep(row.id, row)
    return true
  }

  holder(type: string, key: string): JobRow | undefined {
    const name = keyName(type, key)
    const known = (this.keyed.get(name) ?? []).filter(({ isRemoved }) => !isRemoved)
    const holder = known.find(({ holdsKey }) => holdsKey)
    // A row that has held it as it was loaded tells that no other did.
    if (holder !== undefined || known.some(({ change }) => change?.holdsKey === true)) return holder
    const id = this.ofKey('holders', name)
    const row = id === null ? undefined : this.find(id)
    return row?.type === type && row.key === key && row.holdsKey ? row : undefined
  }

  hasPredecessor(type: string, key: string): boolean {
    const name = keyName(type, key)
    const isLeaving = (row: JobRow): boolean => !row.isRemoved && !isEnded(row.state) && !row.holdsKey
    if (this.keyed.get(name)?.some(isLeaving) === true) return true
    const id = this.ofKey('predecessors', name)
    return id !== null && !this.rows.has(id)
  }

  /** @throws NotLoaded, naming what is missing of all jobs with a key: they are asked for one after the other */
  private ofKey(cells: 'holders' | 'predecessors', name: string): string | null {
    const { set } = this
    if (set.cells.has(cellName(cells, name))) return set.cell(cells, name)
    const kinds = ['holders', 'predecessors'] as const
    const needs = [...new Set([name, ...this.keyed.keys()])].flatMap((field) =>
      kinds.flatMap((kind): Need[] =>
        set.cells.has(cellName(kind, field)) ? [] : [{ kind: 'cell', cells: kind, field }],
      ),
    )
    throw new NotLoaded(needs)
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<JobRow> {
    const found = this.given ?? this.set.selections.get(selectionName(selection, this.among))
    if (found === undefined)
      throw new NotLoaded([{ kind: 'selected', selection, states, ...(this.among && { among: this.among }) }])
    const next = found.next ?? (this.leavesJobs ? found.end : null)
    return { rows: this.findAll(found.ids).filter(({ state }) => states.has(state)), next }
  }

  children({ id }: JobRow): readonly JobRow[] {
    const { children } = this.set
    if (!children.has(id)) {
      // A cancel continues with the children of all jobs that it has marked so far: they are loaded together.
      const marked = this.changes.rows.filter((row) => row.cancelMark !== null).map((row) => row.id)
      const ids = [id, ...marked.filter((each) => !children.has(each))]
      throw new NotLoaded(ids.map((each) => ({ kind: 'children', id: each })))
    }
    return this.findAll(this.set.childrenOf(id)).filter(({ state }) => !isEnded(state))
  }

  due(limit: number): readonly JobRow[] {
    return this.timedOut('due', limit).filter(({ dueAt }) => dueAt !== null)
  }

  expired(limit: number): readonly JobRow[] {
    return this.timedOut('leases', limit).filter(({ state }) => isLeased(state))
  }

  private timedOut(of: Timers, limit: number): JobRow[] {
    const ids = this.set.first(of, limit).flatMap(([id, at]) => (at <= this.now ? id : []))
    return this.findAll(ids.slice(0, limit)).filter(({ wakeAt }) => (wakeAt ?? Infinity) <= this.now)
  }

  nextDueAt(): number | null {
    return this.nextOf('due')
  }

  nextExpiryAt(): number | null {
    return this.nextOf('leases')
  }

  /** The first entry of the index that the transaction has not moved. */
  private nextOf(of: Timers): number | null {
    for (const [id, at] of this.set.timers.get(of)?.found ?? []) {
      const { change = null, wakeAt, state } = this.rows.get(id) ?? {}
      if (change === null || (change.wakeAt === wakeAt && change.state === state)) return at
    }
    return null
  }

  backlogOf(type: string | null): number {
    let sum = this.changes.backlogOf(type)
    for (const state of backlog) sum += this.set.count(type === null ? state : `${state}:${type}`)
    return sum
  }

  isPaused(type: string): boolean {
    return this.set.cell('paused', type) === '1'
  }

  inbox({ id }: JobRow): readonly InboxEntry[] {
    return this.set.inbox(id)
  }

  handOverRoom(type: string): number {
    return this.set.handOverRoom(type)
  }
}
