/**
 * A transaction of the file, as a unit of work. Jobs are inserted, changed and removed only here, so that rows, counts,
 * key groups, the log and the hints always agree.
 *
 * What is cached between transactions (queues, leased rows, the number of the last transition) is valid as long as no
 * other process has written to the file, which `data_version` of SQLite shows.
 */
import type { EndedJob, EndedState, PruneUnit } from '../../core/prune.ts'
import type {
  CompiledArrow,
  InsertUnit,
  LeaseKey,
  LoggedTransition,
  SelectedRows,
  TransitionOptions,
} from '../../core/unit-of-work.ts'
import { enqueueCounted, type Counted } from '../../core/activity.ts'
import { handOverRoom } from '../../core/hand-over.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { checkpointEntry, enqueueEntry, transitionEntry } from '../../core/history.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isEnded, isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { InboxMessage, InboxEntry, NewCheckpoint } from '../../core/machine-record.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import {
  writeFields,
  type FieldReaders,
  type FieldWriters,
  type ReadFields,
  type WrittenFields,
} from '../../core/row-fields.ts'
import { changeCounters } from '../../core/transition.ts'
import { sameJson } from '../../core/unique.ts'
import type { Hint, NewJob, RetentionPolicy, WrittenTransition, Selection, SettleAnswer } from '../../store.ts'
import { isBusy, isFileFault, storeError } from './errors.ts'
import { FailureTable } from './failure-table.ts'
import { Hints } from './hints.ts'
import { historyUntil, packedSettledOf, packSettled, settledOf, withTransition } from './history.ts'
import type { RowValues } from './columns.ts'
import { packJob, type PackedJob } from './insert.ts'
import { inboxOf } from './stored-machine.ts'
import { KeyGroups } from './key-groups.ts'
import { InboxWatch } from './inbox-watch.ts'
import { LogWriter } from './log.ts'
import { Machine } from './machine.ts'
import { Machines } from './machines.ts'
import { Queues } from './queues.ts'
import { Removals, type Removable } from './removals.ts'
import { Prunes } from './prunes.ts'
import { readersOf, writersOf } from './row-fields.ts'
import { changes, keyWeightOf, packed, unpacked, type Row } from './row.ts'
import { Rows } from './rows.ts'
import { claimable, never } from './state-names.ts'
import { select } from './selection.ts'
import type { Statements } from './statements.ts'
import { workerSlots } from './slots.ts'
import { forgetSteps, saveSteps } from './steps.ts'
import { replaceTags } from './tags.ts'
import { Minutes } from './minutes.ts'
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import { ScheduleTable } from './schedules.ts'

const timed = statesTagged('timed')

/** An ended job, as much of it as its removal needs. */
type Ended = Removable & EndedJob

export class FileUnit implements InsertUnit<Row, PackedJob>, PruneUnit<Ended>, ScheduleUnit {
  readonly sql: Statements
  readonly hints = new Hints()
  readonly queues: Queues
  readonly machines: Machines
  readonly rows: Rows
  readonly keyGroups: KeyGroups
  readonly inboxWatch: InboxWatch
  readonly schedules: ScheduleTable
  readonly failures: FailureTable
  readonly minutes: Minutes
  readonly prunes: Prunes
  private readonly readers: FieldReaders<Row>
  private readonly writers: FieldWriters<Row>
  readonly transitionsMax: number
  now = 0
  /** The number of the last transition. */
  seq = 0
  private readonly logWriter: LogWriter
  private readonly removals: Removals
  /** Does any job of the file have a parent? null = not known in this transaction. */
  private hasChildren: boolean | null = null
  /** Is there a live job that has given up its unique key? null = not known in this transaction. */
  private hasLeaving: boolean | null = null

  /** May each item of a call fail alone? This costs savepoints, and so is set only after a call has failed. */
  private careful = false
  private readonly path: string

  constructor(sql: Statements, transitionsMax: number, path: string) {
    this.path = path
    this.sql = sql
    this.transitionsMax = transitionsMax
    this.logWriter = new LogWriter(sql, transitionsMax)
    this.queues = new Queues(sql)
    this.failures = new FailureTable(sql, this.queues)
    this.minutes = new Minutes(sql)
    this.prunes = new Prunes(sql)
    this.machines = new Machines(sql, this.queues)
    this.removals = new Removals(this)
    this.rows = new Rows(sql, this.queues, this.machines)
    this.readers = readersOf(this.machines)
    this.writers = writersOf(sql)
    this.keyGroups = new KeyGroups(sql, this.rows, this.queues)
    this.inboxWatch = new InboxWatch(sql, this.hints)
    this.schedules = new ScheduleTable(sql, this.hints)
  }

  /**
   * Begins with the current state of the file.
   * @param stale has another process written to it?
   * @param careful may each item of a call fail alone?
   */
  begin(now: number, stale: boolean, careful: boolean): void {
    this.careful = careful
    this.now = now
    if (stale) {
      this.queues.markStale()
      this.prunes.forget()
      this.rows.forget()
      this.seq = this.sql.get('lastSeq')?.[0] ?? 0
    }
    this.logWriter.begin(this.seq + 1)
    this.minutes.begin(this.seq + 1)
    this.hasChildren = this.hasLeaving = null
  }

  /** Writes the changes that were delayed until the end of the transaction. */
  finish(): void {
    this.rows.finish()
    this.removals.write()
    this.prunes.write()
    this.queues.write()
    this.inboxWatch.finish()
    this.minutes.write(this.seq, this.now)
    this.logWriter.write(this.seq, this.now)
  }

  /** Returns and removes the hints of committed transactions. */
  takeHints(): Hint[] {
    return this.hints.take((type) => (type === null ? this.backlog : this.backlogOf(type)))
  }

  /** Answers item by item. Where a call has failed before, an item that throws fails alone, and has no effect. */
  each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
    if (!this.careful) return items.map(act)
    return items.map((item) => {
      try {
        return this.attempt(() => act(item))
      } catch (error) {
        if (isBusy(error) || isFileFault(error)) throw error
        return failed(recordError(storeError(error, this.path)), item)
      }
    })
  }

  /** Runs a function within a savepoint: if it throws, its changes are rolled back. */
  private attempt<T>(act: () => T): T {
    const { seq } = this
    this.rows.write()
    this.removals.write()
    this.sql.run('savepoint')
    this.queues.mark()
    this.logWriter.mark()
    let done = false
    try {
      const answer = act()
      this.rows.write()
      done = true
      return answer
    } finally {
      if (!done) {
        this.sql.run('rollBackToSavepoint')
        this.rows.forget()
        this.removals.forget()
        this.seq = seq
      }
      this.logWriter.endMark(done)
      this.sql.run('releaseSavepoint')
      this.queues.endMark(done)
    }
  }

  /** Empties the caches after a rollback. */
  forget(): void {
    this.queues.forget()
    this.inboxWatch.forget()
    this.rows.forget()
    this.hints.forget()
    this.removals.forget()
    this.prunes.forget()
    this.minutes.forget()
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  get backlog(): number {
    return this.queues.backlog()
  }

  backlogOf(type: string): number {
    return this.queues.known(type)?.backlog ?? 0
  }

  isPaused(type: string): boolean {
    return this.queues.known(type)?.paused === true
  }

  find(id: string): Row | undefined {
    return this.rows.of(id)
  }

  findLeased(id: string): Row | undefined {
    return this.rows.of(id)
  }

  holder(type: string, key: string): Row | undefined {
    const queue = this.queues.known(type)
    return queue === undefined ? undefined : this.rows.holder(queue, key)
  }

  hasPredecessor(type: string, key: string): boolean {
    const queue = this.queues.known(type)
    if (queue === undefined) return false
    this.rows.write()
    // Most files have no such job: then no key is queried.
    this.hasLeaving ??= this.sql.get('anyPredecessor') !== undefined
    return this.hasLeaving && this.sql.get('predecessor', queue.number, key) !== undefined
  }

  successor({ queue, key, heldKey }: Row): { readonly row: Row; readonly dueAt: number } | null {
    const row = key === null || heldKey !== null ? undefined : this.rows.holder(this.queues.at(queue), key)
    if (row === undefined || !timed.has(row.state) || row.dueAt !== null) return null
    const dueAt = this.sql.get('dueAfterPredecessor', row.seq)?.[0] ?? null
    return dueAt === null ? null : { row, dueAt }
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    return select(this, selection, (state) => states.has(state))
  }

  children({ id }: Row): readonly Row[] {
    this.rows.write()
    // Most files have no child jobs: then they are not queried.
    this.hasChildren ??= this.sql.get('anyChild') !== undefined
    if (!this.hasChildren) return []
    return this.sql.all('childrenOf', id).flatMap(([child]) => this.rows.of(child) ?? [])
  }

  due(limit: number): readonly Row[] {
    this.rows.write()
    return this.found(this.sql.all('due', this.now, limit))
  }

  expired(limit: number): readonly Row[] {
    this.rows.write()
    return this.found(this.sql.all('expired', this.now, limit))
  }

  get nextDueAt(): number | null {
    this.rows.write()
    return this.sql.get('nextDue')?.[0] ?? null
  }

  get nextExpiryAt(): number | null {
    this.rows.write()
    return this.sql.get('nextLease')?.[0] ?? null
  }

  existing(jobs: readonly PackedJob[]): ReadonlyMap<string, string> {
    const found = this.sql.all('existing', JSON.stringify(jobs.map(({ id }) => id)))
    return new Map(found.map(([id, queue]) => [id, this.queues.at(queue).type]))
  }

  schedule(name: string): StoredSchedule | undefined {
    return this.schedules.get(name)
  }

  saveSchedule(schedule: StoredSchedule): void {
    this.schedules.save(schedule)
  }

  // ── transitions ──────────────────────────────────────────────────────────────────────────────────────────────────

  insert(job: PackedJob, state: JobState, dueAt: number | null): number | null {
    const queue = this.queues.of(job.type)
    const { id, priority, concurrencyKey } = job
    const seq = this.seq + 1
    if (!this.rows.add(seq, queue, job, state, this.now, dueAt)) return null
    this.seq = seq
    this.queues.count(queue, state, 1)
    this.queues.countActivity(queue, enqueueCounted, 0, this.now)
    if (concurrencyKey !== null) queue.keyed = true
    if (state === claimable && queue.hasKeyGroup(concurrencyKey)) {
      this.keyGroups.arrive(queue, { concurrencyKey, priority, place: seq, keyWeight: keyWeightOf(job.options) })
    }
    this.logWriter.add(queue.number, id, enqueueEntry(state, seq, this.now))
    this.hints.moved(queue, id, null, state)
    if (dueAt !== null) this.hints.due(dueAt)
    if (job.parent !== null || job.version !== null || job.checkpoint !== null) this.insertMachine(seq, job)
    return seq
  }

  insertMade(job: NewJob, state: JobState): number | null {
    return this.insert(packJob(job), state, null)
  }

  count({ queue }: Row, counted: Counted, ms: number): void {
    this.queues.countActivity(this.queues.at(queue), counted, ms, this.now)
  }

  countFailure(row: Row, failure: Failure): void {
    this.failures.add(row, failure, this.seq + 1, this.now)
  }

  countOutcome({ queue }: Row, outcome: string): void {
    this.queues.countOutcome(this.queues.at(queue), outcome)
  }

  apply(row: Row, arrow: CompiledArrow, options: TransitionOptions): LoggedTransition {
    const { from, to, lease } = arrow
    const queue = this.queues.at(row.queue)
    // The token of an ended job answers a repeated settlement; this transition removes it from the row.
    if (isEnded(from) && row.settled === null) row.settled = packedSettledOf(row)
    changeCounters(row, arrow)
    const seq = ++this.seq
    row.state = to
    row.lastSeq = seq
    row.dueAt = arrow.timed ? (options.dueAt ?? null) : null
    if (!isLeased(to)) row.leaseAt = row.token = null
    row.finishedAt = isEnded(to) ? this.now : null
    if (arrow.takesPlace) row.place = seq
    if (arrow.key === 'freed') row.heldKey = null
    else if (arrow.key === 'taken') row.heldKey = row.key
    if (to === 'done') row.output = packed(options.output)
    const entry = transitionEntry(row, arrow, options, seq, this.now)
    row.history = withTransition(row, entry)
    row.lastEntry = entry
    const isEnd = lease === 'ends' && isEnded(to)
    this.rows.changed(row, lease === 'begins' ? changes.claim : isEnd ? changes.end : changes.otherTransition)
    this.queues.count(queue, from, -1)
    this.queues.count(queue, to, 1)
    if (isEnded(from) || isEnded(to)) this.prunes.changed(queue.number)
    if (isEnded(from) !== isEnded(to) && row.machine !== null)
      this.machines.countStanding(row, row.machine.stands, isEnded(to) ? -1 : 1)
    if (queue.hasKeyGroup(row.concurrencyKey)) this.keyGroups.moved(queue, row, from)
    this.log(row, entry)
    this.failures.countDead(row, 1)
    if (row.dueAt !== null) this.hints.due(row.dueAt)
    return { seq, at: this.now, from, to, attempt: row.attempt }
  }

  lastTransition({ id, type, lastEntry }: Row, error?: ErrorRecord): WrittenTransition {
    if (lastEntry === null) throw new TypeError(`job ${id} has made no transition in this transaction`)
    return { id, type, ...lastEntry, ...(error !== undefined && { error }) }
  }

  /** Removal is delayed until the end of the transaction. */
  remove(row: Row): void {
    this.rows.removed(row.id)
    this.removals.add(row)
    this.prunes.changed(row.queue)
  }

  typesToPrune(limit: number): readonly string[] {
    return this.prunes.due(this.now, limit).map((queue) => this.queues.at(queue).type)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.prunes.retentionOf(type)
  }

  endedCount(type: string, state: EndedState): number {
    return this.queues.known(type)?.in(state) ?? 0
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly Ended[] {
    const { number: queue } = this.queues.of(type)
    this.rows.write()
    return this.sql.all('ended', queue, state, limit).map(([seq, endedAt, checkpointed, failure, tags]) => {
      return { seq, queue, finishedAt: endedAt, checkpointed, failure, tags, state }
    })
  }

  lookAgain(type: string, at: number): void {
    this.prunes.lookAgain(this.queues.of(type).number, at)
  }

  get nextLookAt(): number {
    return this.prunes.nextLookAt
  }

  removeEnded(jobs: readonly Ended[]): void {
    this.removals.add(...jobs)
  }

  // ── what is kept of a job beside its state ───────────────────────────────────────────────────────────────────────

  read<Field extends keyof ReadFields>(row: Row, field: Field): ReadFields[Field] {
    return this.readers[field](row)
  }

  write(row: Row, fields: Partial<WrittenFields>): void {
    if (fields.failure !== undefined) this.failures.countDead(row, -1)
    writeFields(this.writers, row, fields)
    this.rows.changed(row, 0)
    if (fields.failure !== undefined) this.failures.countDead(row, 1)
  }

  giveUpKey(row: Row): void {
    if (row.heldKey === null) return
    row.heldKey = null
    this.hasLeaving = true
    this.rows.changed(row, changes.otherTransition)
  }

  waitForPredecessor(row: Row, dueAt: number): void {
    this.sql.run('waitForPredecessor', never, dueAt, row.seq)
  }

  setDue(row: Row, dueAt: number): void {
    row.dueAt = dueAt
    this.rows.changed(row, changes.otherTransition)
    this.hints.due(dueAt)
  }

  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void {
    saveSteps(this.sql, row, steps)
  }

  forgetSteps(row: Row, names?: readonly string[]): void {
    forgetSteps(this.sql, row, names)
  }

  hasSameInput(row: Row, { input }: PackedJob): boolean {
    return row.input === input || sameJson(unpacked(row.input, undefined), unpacked(input, undefined))
  }

  replaceInput(row: Row, { input, tags, meta, version }: PackedJob): void {
    row.input = input
    if (row.tags !== tags) replaceTags(this.sql, row, tags)
    row.meta = meta
    if (row.machine !== null || version !== null) this.machineOf(row).version = version
    forgetSteps(this.sql, row)
    this.rows.changed(row, changes.data)
  }

  extendLease(row: Row, until: number): void {
    row.leaseAt = Math.ceil(until)
    this.rows.changed(row, changes.lease)
  }

  settledBefore(row: Row, { attempt, token }: LeaseKey): SettleAnswer | null {
    const last = settledOf(row)
    return last?.token === token && last.attempt === attempt ? last.answer : null
  }

  /** The token of an attempt that ended its job stays in the row: with the history it gives the answer again. */
  keepSettled(row: Row, { attempt, token }: LeaseKey, answer: SettleAnswer): void {
    const ended = isEnded(row.state)
    if (ended) row.token = token
    const isAlone = answer.successor === undefined && answer.hook === undefined
    const simple = ended && answer.woken === undefined && isAlone
    row.settled = simple ? null : packSettled({ token, attempt, answer })
    this.rows.changed(row, ended ? changes.end : changes.otherTransition)
  }

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  inbox(row: Row, after: number): readonly InboxEntry[] {
    const { machine } = row
    return machine === null ? [] : inboxOf(this.machines.inbox(row, machine, after))
  }

  addCheckpoint(row: Row, checkpoint: NewCheckpoint): void {
    const seq = ++this.seq
    this.logWriter.add(row.queue, row.id, checkpointEntry(row, seq, this.now, checkpoint.note))
    this.machines.addCheckpoint(row, this.machineOf(row, changes.checkpoint), checkpoint, seq, this.now)
  }

  setStanding(row: Row, standing: MachineStanding): void {
    this.machines.keepStanding(row, this.machineOf(row), standing)
  }

  forgetCheckpoints(row: Row): void {
    const { machine } = row
    if (machine === null) return
    this.machines.forgetCheckpoints(row, machine)
    this.rows.changed(row, changes.machine)
  }

  addMessage(row: Row, message: InboxMessage): void {
    this.machines.addMessage(row, this.machineOf(row), message, this.now)
    this.inboxWatch.posted()
    if (isLeased(row.state)) this.hints.messagesArrived(row.id)
  }

  markRead(row: Row, read: number, deferred: readonly number[]): void {
    this.machines.markRead(row, this.machineOf(row, changes.checkpoint), read, deferred)
  }

  forgetHistoryAfter(row: Row, seq: number): void {
    row.history = historyUntil(row, seq)
    this.rows.changed(row, changes.otherTransition)
  }

  handOverRoom(type: string): number {
    this.rows.write()
    return handOverRoom(type, workerSlots(this.sql, this.now), (each) => this.queues.known(each))
  }

  refusedFull(type: string | null, isHandOver: boolean): void {
    if (type !== null && isHandOver) this.hints.refusedHandOver(type, this.handOverRoom(type))
    else this.hints.refused(type, type === null ? this.backlog : this.backlogOf(type))
  }

  /** The machine of a row, which is about to change. */
  private machineOf(row: Row, what: number = changes.machine): Machine {
    if (row.checkpointed === null) row.checkpointedAttempts = 0
    this.rows.changed(row, what)
    return row.machine as Machine
  }

  private insertMachine(seq: number, { parent, version, checkpoint }: PackedJob): void {
    const machine = new Machine(parent)
    if (parent !== null) this.hasChildren = true
    machine.version = version
    if (checkpoint !== null) {
      machine.checkpoint = { number: 1, seq }
      this.sql.run('addCheckpoint', seq, seq, 1, this.now, 'fork', checkpoint)
    }
    this.machines.write({ seq }, machine, false)
    this.sql.run('writeCheckpointed', 0, seq)
  }

  private found(rows: readonly RowValues[]): Row[] {
    return rows.map((values) => this.rows.from(values))
  }

  private log(row: Row, entry: HistoryEntry): void {
    this.logWriter.add(row.queue, row.id, entry)
    this.hints.moved(this.queues.at(row.queue), row.id, entry.from, entry.to)
  }
}
