/**
 * A unit of work over loaded rows. It collects the writes of an operation; `plan.ts` makes the commit from them. The
 * commit assigns the numbers of transitions: until then they count from `pending`, so that they are later than all
 * others.
 */
import type {
  CompiledArrow,
  InsertUnit,
  LeaseKey,
  LoggedTransition,
  SelectedRows,
  TransitionOptions,
} from '../../core/unit-of-work.ts'
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import { enqueueCounted, type Counted } from '../../core/activity.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { recordError } from '../../core/failure.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { checkpointEntry, enqueueEntry, transitionEntry } from '../../core/history.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isEnded, isLeased, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, InboxEntry, InboxMessage, NewCheckpoint } from '../../core/machine-record.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import { writeFields, type ReadFields, type WrittenFields } from '../../core/row-fields.ts'
import { changeCounters } from '../../core/transition.ts'
import { sameJson } from '../../core/unique.ts'
import type { Hint, NewJob, Selection, SettleAnswer, WrittenTransition } from '../../store.ts'
import { Backlog } from './backlog.ts'
import { Counting } from './counting.ts'
import { cellName, keyName, type CellKind } from './cells.ts'
import { NotLoaded, type Need, type Timers } from './needs.ts'
import { historyEntries } from './history-text.ts'
import { readers, writers } from './row-fields.ts'
import { Row, type Journal } from './row.ts'
import { answerBefore, keepAnswer, settledOf } from './settled.ts'
import { UniqueKeys } from './unique-keys.ts'
import { selectionName, type SelectedIds, type WorkingSet } from './working-set.ts'

/** The first of the numbers that the commit replaces: beyond all that are given, and exact as a number. */
export const pending = 9e15

/** An entry of the log, to be written. */
interface LogEntry {
  readonly id: string
  readonly type: string
  readonly entry: HistoryEntry
  /** Does it become part of the job's history? */
  inHistory: boolean
}

/** The jobs of a selection, and the cursor behind them. */
export type Only = Pick<SelectedIds, 'ids' | 'next'>

/** An ended job, and the number of the transition that has ended it. */
interface EndedJob {
  readonly id: string
  readonly endedBy: number
}

interface Savepoint {
  readonly rows: Map<Row, ReturnType<Row['save']>>
  readonly cells: Map<string, string | null | undefined>
  readonly logged: number
  readonly counted: ReturnType<Counting['save']>
  readonly hints: number
  readonly backlog: ReturnType<Backlog['save']>
}

export class RemoteUnit implements InsertUnit<Row, NewJob>, ScheduleUnit, Journal {
  readonly now: number
  readonly set: WorkingSet
  readonly rows = new Map<string, Row>()
  /** Small values that were written, by `cellName`. */
  readonly cells = new Map<string, string | null>()
  readonly log: LogEntry[] = []
  readonly hints: Hint[] = []
  readonly counting = new Counting()
  readonly waiting: Backlog
  private readonly uniqueKeys = new UniqueKeys(this)
  /** Where set, a selection by filter has those of these jobs that match. */
  among: readonly string[] | undefined
  private readonly only: Only | null
  private savepoint: Savepoint | null = null

  /** @param only a selection has only these jobs */
  constructor(set: WorkingSet, now: number, only: Only | null = null) {
    this.set = set
    this.now = now
    this.only = only
    this.waiting = new Backlog(set)
  }

  /** The number of the next transition, until the commit replaces it. */
  private get nextSeq(): number {
    return pending + this.log.length
  }

  // ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Acts on each item: one that throws fails alone. The rows that any item needs are loaded together. */
  each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
    const needs: Need[] = []
    const answers = items.map((item) => {
      const { log, hints, counting, waiting } = this
      this.savepoint = {
        rows: new Map(),
        cells: new Map(),
        logged: log.length,
        counted: counting.save(),
        hints: hints.length,
        backlog: waiting.save(),
      }
      try {
        return act(item)
      } catch (error) {
        this.rollBack(this.savepoint)
        if (!(error instanceof NotLoaded)) return failed(recordError(error), item)
        needs.push(...error.needs)
        return null
      } finally {
        this.savepoint = null
      }
    })
    if (needs.length > 0) throw new NotLoaded(needs)
    return answers as A[]
  }

  changing(row: Row): void {
    if (this.savepoint !== null && !this.savepoint.rows.has(row)) this.savepoint.rows.set(row, row.save())
  }

  private rollBack(savepoint: Savepoint): void {
    for (const [row, saved] of savepoint.rows) row.restore(saved)
    for (const [name, value] of savepoint.cells) {
      if (value === undefined) this.cells.delete(name)
      else this.cells.set(name, value)
    }
    this.log.length = savepoint.logged
    this.counting.restore(savepoint.counted)
    this.hints.length = savepoint.hints
    this.waiting.restore(savepoint.backlog)
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  get backlog(): number {
    return this.waiting.of(null)
  }

  backlogOf(type: string): number {
    return this.waiting.of(type)
  }

  isPaused(type: string): boolean {
    return this.cell('paused', type) === '1'
  }

  find(id: string): Row | undefined {
    const row = this.rowOf(id)
    return row.there ? row : undefined
  }

  /** The row of an id, whether the job is there or not. */
  private rowOf(id: string): Row {
    let row = this.rows.get(id)
    if (row === undefined) {
      row = new Row(id, this.set.row(id), this)
      this.rows.set(id, row)
    }
    return row
  }

  findLeased(id: string): Row | undefined {
    return this.find(id)
  }

  /** @throws NotLoaded, naming all that are missing */
  private findAll(ids: readonly string[]): Row[] {
    const missing = ids.filter((id) => !this.rows.has(id) && !this.set.rows.has(id))
    if (missing.length > 0) throw new NotLoaded(missing.map((id) => ({ kind: 'row', id })))
    return ids.flatMap((id) => this.find(id) ?? [])
  }

  holder(type: string, key: string): Row | undefined {
    const id = this.uniqueKeys.holder(type, key)
    return id === null ? undefined : this.find(id)
  }

  hasPredecessor(type: string, key: string): boolean {
    return this.uniqueKeys.hasPredecessor(type, key)
  }

  successor(job: Row): { readonly row: Row; readonly dueAt: number } | null {
    const next = this.uniqueKeys.predecessorEnded(job)
    const row = next === null ? undefined : this.find(next.id)
    return row === undefined || next === null ? null : { row, dueAt: next.dueAt }
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    if ('filter' in selection) {
      const found = this.only ?? this.set.selections.get(selectionName(selection, this.among))
      if (found === undefined)
        throw new NotLoaded([{ kind: 'selected', selection, states, ...(this.among && { among: this.among }) }])
      // The rows may have changed since the index was read.
      return { rows: this.findAll(found.ids).filter(({ state }) => states.has(state)), notFound: [], next: found.next }
    }
    const ids = this.only?.ids ?? [...new Set(selection.ids)]
    const rows = this.findAll(ids)
    const there = new Set(rows.map(({ id }) => id))
    return { rows, notFound: ids.filter((id) => !there.has(id)), next: null }
  }

  children({ id }: Row): readonly Row[] {
    if (!this.set.children.has(id)) {
      // A cancel continues with the children of all jobs that it has marked so far: they are loaded together.
      const marked = [...this.rows.values()].filter((row) => row.there && row.cancelMark !== null).map((row) => row.id)
      const ids = [id, ...marked.filter((each) => !this.set.children.has(each))]
      throw new NotLoaded(ids.map((each) => ({ kind: 'children', id: each })))
    }
    const rows = this.findAll(this.set.childrenOf(id)).filter((child) => child.isLive)
    return rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  }

  due(limit: number): Iterable<Row> {
    return this.timedOut('due', limit).filter((row) => row.dueAt !== null)
  }

  expired(limit: number): Iterable<Row> {
    return this.timedOut('leases', limit).filter(({ state }) => isLeased(state))
  }

  private timedOut(of: Timers, limit: number): Row[] {
    const ids = this.set.first(of, limit).flatMap(([id, at]) => (at <= this.now ? id : []))
    return this.findAll(ids.slice(0, limit)).filter((row) => (row.number('wakeAt') ?? Infinity) <= this.now)
  }

  get nextDueAt(): number | null {
    return this.nextOf('due')
  }

  get nextExpiryAt(): number | null {
    return this.nextOf('leases')
  }

  /** The first entry of the index whose row this unit has not changed. */
  private nextOf(of: Timers): number | null {
    for (const [id, at] of this.set.timers.get(of)?.found ?? []) {
      if ((this.rows.get(id)?.latest ?? null) === null) return at
    }
    return null
  }

  /** Removes ended jobs, each if it is still the one that the transition of this number has ended. */
  removeEnded(jobs: readonly EndedJob[]): void {
    const endedBy = new Map(jobs.map((job) => [job.id, job.endedBy]))
    for (const row of this.findAll([...endedBy.keys()])) {
      if (!row.isLive && row.number('last') === endedBy.get(row.id)) this.remove(row)
    }
  }

  // ── small values ─────────────────────────────────────────────────────────────────────────────────────────────────

  cell(kind: CellKind, field: string): string | null {
    const written = this.cells.get(cellName(kind, field))
    return written === undefined ? this.set.cell(kind, field) : written
  }

  setCell(kind: CellKind, field: string, value: string | null): void {
    // The write is conditional on the loaded value.
    this.set.cell(kind, field)
    const name = cellName(kind, field)
    if (this.savepoint !== null && !this.savepoint.cells.has(name)) this.savepoint.cells.set(name, this.cells.get(name))
    this.cells.set(name, value)
  }

  schedule(name: string): StoredSchedule | undefined {
    const text = this.cell('schedules', name)
    return text === null ? undefined : (JSON.parse(text) as StoredSchedule)
  }

  saveSchedule(schedule: StoredSchedule): void {
    const { name, paused, nextAt } = schedule
    this.setCell('schedules', name, JSON.stringify(schedule))
    if (!paused && nextAt !== null) this.hints.push({ kind: 'schedule', at: nextAt })
  }

  removeSchedule(name: string): boolean {
    if (this.cell('schedules', name) === null) return false
    this.setCell('schedules', name, null)
    return true
  }

  pause(type: string, paused: boolean): void {
    if (this.isPaused(type) !== paused) this.hints.push({ kind: 'queue', type, paused })
    this.setCell('paused', type, paused ? '1' : '0')
    if (!paused) this.hints.push({ kind: 'ready', type })
  }

  // ── transitions ──────────────────────────────────────────────────────────────────────────────────────────────────

  existing(jobs: readonly NewJob[]): ReadonlyMap<string, string> {
    return new Map(this.findAll(jobs.map(({ id }) => id)).map(({ id, type }) => [id, type]))
  }

  insert(job: NewJob, state: JobState, dueAt: number | null): number | null {
    const row = this.rowOf(job.id)
    if (row.there) return null
    const seq = this.nextSeq
    this.append(job, enqueueEntry(state, seq, this.now), false)
    this.changing(row)
    row.there = true
    const values = { type: job.type, state, seq, enqueuedAt: this.now, maxAttempts: job.maxAttempts }
    for (const [field, value] of Object.entries(values)) row.set(field as keyof typeof values, value)
    if (job.priority !== 0) row.set('priority', job.priority)
    row.setPayload('input', job.input)
    if (job.tags.length > 0) row.setJson('tags', job.tags)
    for (const field of ['meta', 'pins', 'parent'] as const)
      if (job[field] !== undefined) row.setJson(field, job[field])
    // The claim takes the key from a job that holds it until its start.
    if (job.key !== null && job.until === 'start') row.set('keyName', keyName(job.type, job.key))
    for (const field of ['concurrencyKey', 'keyWeight', 'key', 'version'] as const) {
      const value = job[field] ?? null
      if (value !== null) row.set(field, value)
    }
    if (dueAt !== null) row.set('wakeAt', dueAt)
    this.uniqueKeys.take(job)
    this.waiting.moved(job.type, null, state)
    this.counting.count(job.type, enqueueCounted, 0)
    if (job.parent !== undefined || job.version !== undefined) row.makeMachine()
    if (job.checkpoint !== undefined) {
      this.pushCheckpoint(row, { number: 1, state: job.checkpoint, seq, at: this.now, note: 'fork' })
    }
    return seq
  }

  /** The id is assumed to be free, which the commit checks. */
  insertMade(job: NewJob, state: JobState): number | null {
    this.set.believeRow(job.id, null)
    return this.insert(job, state, null)
  }

  count({ type }: Row, counted: Counted, ms: number): void {
    this.counting.count(type, counted, ms)
  }

  countFailure({ type, id }: Row, failure: Failure): void {
    this.counting.countFailure({ type, id, seq: this.nextSeq, failure })
  }

  countOutcome({ type }: Row, outcome: string): void {
    this.counting.countOutcome(type, outcome)
  }

  apply(row: Row, arrow: CompiledArrow, options: TransitionOptions): LoggedTransition {
    const { from, to } = arrow
    this.changing(row)
    if (isEnded(from)) row.setJson('settled', settledOf(row, row.loadedAttempt))
    changeCounters(row, arrow)
    const entry = (row.latest = transitionEntry(row, arrow, options, this.nextSeq, this.now))
    this.append(row, entry, true)
    row.set('state', to)
    row.set('last', entry.seq)
    if (arrow.takesPlace) row.set('place', entry.seq)
    if (arrow.key === 'taken') this.uniqueKeys.take(row)
    else if (arrow.key === 'freed') this.uniqueKeys.free(row)
    if (options.output !== undefined && to === 'done') row.setPayload('output', options.output)
    if (arrow.lease !== 'goes on') row.set('wakeAt', arrow.timed ? (options.dueAt ?? null) : null)
    if (isEnded(to)) row.set('finishedAt', this.now)
    else if (isEnded(from)) row.set('finishedAt', null)
    this.waiting.moved(row.type, from, to)
    return { ...entry, from, to }
  }

  /** Writes an entry of the log. */
  private append({ id, type }: Pick<NewJob, 'id' | 'type'>, entry: HistoryEntry, inHistory: boolean): void {
    this.log.push({ id, type, entry, inHistory })
  }

  extendLease(row: Row, until: number): void {
    row.set('wakeAt', until)
  }

  remove(row: Row): void {
    this.changing(row)
    row.removed = true
    row.there = false
  }

  lastTransition(row: Row, error?: ErrorRecord): WrittenTransition {
    if (row.latest === null) throw new TypeError(`job ${row.id} has made no transition`)
    return { id: row.id, type: row.type, ...row.latest, ...(error !== undefined && { error }) }
  }

  // ── what is kept of a job beside its state ───────────────────────────────────────────────────────────────────────

  read<Field extends keyof ReadFields>(row: Row, field: Field): ReadFields[Field] {
    return readers[field](row)
  }

  write(row: Row, fields: Partial<WrittenFields>): void {
    writeFields(writers, row, fields)
  }

  giveUpKey(row: Row): void {
    this.uniqueKeys.giveUp(row)
  }

  waitForPredecessor(row: Row, dueAt: number): void {
    this.uniqueKeys.awaitPredecessor(row, dueAt)
  }

  setDue(row: Row, dueAt: number): void {
    row.set('wakeAt', dueAt)
  }

  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void {
    row.set('steps', 1)
    const texts = Object.entries(steps).map(([name, result]) => [name, JSON.stringify(result)])
    row.add({ steps: { ...row.additions.steps, ...(Object.fromEntries(texts) as Record<string, string>) } })
  }

  forgetSteps(row: Row, names?: readonly string[]): void {
    if (row.text('steps') === undefined) return
    if (names === undefined) {
      row.set('steps', null)
      row.add({ steps: {}, forgetsSteps: true })
    } else row.add({ steps: { ...row.additions.steps, ...Object.fromEntries(names.map((name) => [name, null])) } })
  }

  hasSameInput(row: Row, { input }: NewJob): boolean {
    return sameJson(row.json<Json | undefined>('input', undefined), input)
  }

  replaceInput(row: Row, { input, tags, meta, version }: NewJob): void {
    row.setPayload('input', input)
    row.setJson('tags', tags.length > 0 ? tags : null)
    row.setJson('meta', meta)
    this.forgetSteps(row)
    if (version !== undefined) row.makeMachine()
    if (row.isMachine) row.set('version', version ?? null)
  }

  settledBefore(row: Row, lease: LeaseKey): SettleAnswer | null {
    return answerBefore(row, lease)
  }

  keepSettled(row: Row, lease: LeaseKey, answer: SettleAnswer): void {
    keepAnswer(row, lease, answer)
  }

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  inbox(row: Row, after: number): readonly InboxEntry[] {
    const { machine } = row
    if (machine === null) return []
    const { lastRead } = machine
    const deferred = new Set(machine.deferred.filter((number) => number > after))
    if (machine.lastMessage <= Math.max(after, lastRead) && deferred.size === 0) return []
    const added = row.additions.messages
    const first = added[0]?.number ?? Infinity
    const isAdded = deferred.size === 0 && first <= Math.max(after, lastRead) + 1
    const kept = isAdded ? [] : this.set.inbox(row.id).filter(({ number }) => number < first)
    return [...kept, ...added.map(({ entry }) => entry)].filter(
      ({ number }) => number > after && (number > lastRead || deferred.has(number)),
    )
  }

  markRead(row: Row, read: number, deferred: readonly number[]): void {
    row.makeMachine()
    row.set('lastRead', read)
    row.setJson('deferred', deferred.length > 0 ? deferred : null)
  }

  addCheckpoint(row: Row, checkpoint: NewCheckpoint): void {
    const { number, state, note, takesCancel, states = [], tags = [] } = checkpoint
    const seq = this.nextSeq
    this.append(row, checkpointEntry(row, seq, this.now, note), false)
    this.pushCheckpoint(row, { number, state, seq, at: this.now, note })
    row.set('takesCancel', takesCancel ? 1 : null)
    this.setStanding(row, { states, tags })
  }

  setStanding(row: Row, { states, tags }: MachineStanding): void {
    row.setJson('machineStates', states.length > 0 ? [...new Set(states)] : null)
    row.setJson('machineTags', tags.length > 0 ? [...new Set(tags)] : null)
  }

  private pushCheckpoint(row: Row, entry: CheckpointEntry): void {
    row.makeMachine()
    row.set('checkpoint', entry.number)
    row.set('checkpointSeq', entry.seq)
    row.set('checkpointAt', entry.at)
    row.add({ checkpoints: [...row.additions.checkpoints, entry] })
  }

  forgetCheckpoints(row: Row): void {
    if (!row.isMachine) return
    row.add({ checkpoints: [], forgetsCheckpoints: true })
    for (const field of [
      'checkpoint',
      'checkpointSeq',
      'checkpointAt',
      'takesCancel',
      'machineStates',
      'machineTags',
    ] as const)
      row.set(field, null)
  }

  addMessage(row: Row, message: InboxMessage): void {
    row.makeMachine()
    const number = (row.machine?.lastMessage ?? 0) + 1
    row.set('lastMessage', number)
    row.add({ messages: [...row.additions.messages, { number, entry: { number, at: this.now, message } }] })
    if (isLeased(row.state)) this.hints.push({ kind: 'messages', ids: [row.id] })
  }

  forgetHistoryAfter(row: Row, seq: number): void {
    const kept = historyEntries(row.loaded?.history ?? '')
    row.add({ historyDropped: kept.filter((entry) => entry.seq > seq).length })
    for (const logged of this.log) if (logged.id === row.id && logged.entry.seq > seq) logged.inHistory = false
  }

  handOverRoom(type: string): number {
    return this.set.handOverRoom(type)
  }

  refusedFull(type: string | null, isHandOver: boolean): void {
    this.set.confirmCounts()
    if (type !== null && isHandOver) this.waiting.refusedHandOver(type)
    else this.waiting.refused(type)
  }
}
