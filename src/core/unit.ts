/**
 * A unit of work: what operations do to rows, written once. Operations read rows and answers of indexes through it, and
 * change rows through it alone; what comes out are `Changes`, which a store writes.
 *
 * Finding the same job twice gives the same row, with every change made so far. A change is visible to later calls at
 * once. Operations decide before they write, so that one that throws has changed nothing.
 */
import { enqueueCounted, type Counted } from './activity.ts'
import { Packed, valueOf, type Cell } from './cell.ts'
import type { ErrorRecord } from './failure.ts'
import type { Failure } from './fingerprint.ts'
import { changeCounters, type CompiledArrow, type TransitionOptions } from './compiled-arrows.ts'
import { checkpointArrow } from './history.ts'
import { part, RowTransition, Tick, type RowChange, type JobRow, type JobToInsert } from './job-row.ts'
import { statesTagged, type JobState } from './lifecycle.ts'
import type { InboxEntry, InboxMessage, NewCheckpoint } from './machine-record.ts'
import type { ParkedStanding } from './machine-values.ts'
import type { Json } from './payload.ts'
import { partOf, readField, writeField, type ReadFields, type WrittenFields } from './row-fields.ts'
import type { Recorder } from './recorder.ts'
import type { SelectedRows, Selection, Source } from './source.ts'
import { sameJson } from './unique.ts'
import type { LeaseKey, SettleAnswer, WrittenTransition } from './values.ts'

const timed = statesTagged('timed')

const noMessages: readonly InboxEntry[] = []

export class Unit<Row extends JobRow = JobRow> {
  private tick = new Tick(0)
  /** The number of the last transition. */
  seq = 0
  private readonly source: Source<Row>
  private readonly recorder: Recorder<Row>

  constructor(source: Source<Row>, recorder: Recorder<Row>) {
    this.source = source
    this.recorder = recorder
  }

  /** The store's time, the same for all that is done together; ms since the epoch. */
  get now(): number {
    return this.tick.at
  }

  set now(now: number) {
    if (now !== this.tick.at) this.tick = new Tick(now)
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Jobs in the backlog, of all types. */
  get backlog(): number {
    return this.source.backlogOf(null)
  }

  /** The backlog of a type. */
  backlogOf(type: string): number {
    return this.source.backlogOf(type)
  }

  isPaused(type: string): boolean {
    return this.source.isPaused(type)
  }

  find(id: string): Row | undefined {
    return this.source.find(id)
  }

  findLeased(id: string): Row | undefined {
    return this.source.findLeased(id)
  }

  existing(jobs: readonly JobToInsert[]): ReadonlyMap<string, string> {
    return this.source.existing(jobs.map(({ id }) => id))
  }

  /** The live job of a type that holds a unique key. */
  holder(type: string, key: string): Row | undefined {
    return this.source.holder(type, key)
  }

  /** Is a job live that has given up this key? A job that takes the key now waits for the end of that job. */
  hasPredecessor(type: string, key: string): boolean {
    return this.source.hasPredecessor(type, key)
  }

  /** The job that waits for the end of this one, which has just ended, and its own due time. */
  successor({ type, key, holdsKey }: Row): { readonly row: Row; readonly dueAt: number } | null {
    const row = key === null || holdsKey ? undefined : this.holder(type, key)
    if (row === undefined || !timed.has(row.state) || row.dueAt !== null) return null
    const { dueAfter } = row.rarely
    return dueAfter === null ? null : { row, dueAt: dueAfter }
  }

  /** Jobs by id, each once, and the ids of which there is no job. */
  findEach(ids: readonly string[]): { readonly rows: readonly Row[]; readonly notFound: readonly string[] } {
    const wanted = [...new Set(ids)]
    const rows = this.source.findAll(wanted)
    if (rows.length === wanted.length) return { rows, notFound: [] }
    const found = new Set(rows.map(({ id }) => id))
    return { rows, notFound: wanted.filter((id) => !found.has(id)) }
  }

  /** The jobs of a page that are in one of the states. */
  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    return this.source.select(selection, states)
  }

  /** The live child jobs of a job, ordered by priority and then by age. */
  children(row: Row): readonly Row[] {
    const children = this.source.children(row)
    return children.length < 2 ? children : children.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  }

  /** Jobs that are due, earliest first, `limit` at most. */
  due(limit: number): readonly Row[] {
    return this.source.due(limit)
  }

  /** Jobs whose lease has run out, earliest first, `limit` at most. */
  expired(limit: number): readonly Row[] {
    return this.source.expired(limit)
  }

  get nextDueAt(): number | null {
    return this.source.nextDueAt()
  }

  get nextExpiryAt(): number | null {
    return this.source.nextExpiryAt()
  }

  handOverRoom(type: string): number {
    return this.source.handOverRoom(type)
  }

  refusedFull(type: string | null, isHandOver: boolean): void {
    this.recorder.refused(type, isHandOver)
  }

  // ── transitions ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** ENQUEUE of a job whose key is free. @returns its number; null if its id exists already */
  insert(job: JobToInsert, state: JobState, dueAt: number | null): number | null {
    const { recorder } = this
    const seq = this.seq + 1
    const row = this.source.newRow(job, state, seq, this.tick)
    row.wakeAt = dueAt
    if (!this.source.add(row)) return null
    this.seq = seq
    const change = recorder.begin(row, true)
    recorder.log(row, null)
    recorder.count(row, enqueueCounted, 0)
    if (job.checkpoint !== undefined) this.pushCheckpoint(row, change, 1, seq, 'fork', job.checkpoint)
    recorder.changed(row, change)
    return seq
  }

  insertMade(job: JobToInsert, state: JobState): number | null {
    return this.insert(job, state, null)
  }

  /**
   * Adds a transition to the activity of the queue of a job.
   * @param ms how long it has waited, or the attempt has run
   */
  count(row: Row, counted: Counted, ms: number): void {
    this.recorder.count(row, counted, ms)
  }

  /** Adds a failed attempt to its group, right before the transition or the checkpoint that tells of it. */
  countFailure(row: Row, failure: Failure): void {
    this.recorder.countFailure(row, failure, this.seq + 1)
  }

  countOutcome({ type }: Row, outcome: string): void {
    this.recorder.countOutcome(type, outcome)
  }

  countHeat(row: Row, counts: NonNullable<NewCheckpoint['heat']>): void {
    for (const [name, count] of counts) this.recorder.countHeat(row, name, count)
  }

  /** A row is about to change. */
  private changing(row: Row, parts: number): RowChange {
    const change = row.change ?? this.recorder.begin(row, false)
    change.parts |= parts
    return change
  }

  apply(row: Row, arrow: CompiledArrow, options: TransitionOptions): void {
    const { to, lease } = arrow
    const change = this.changing(row, part.transition)
    // What told the last settlement of an ended job is about to change.
    if (arrow.key === 'taken') keepLastSettled(row, change)
    changeCounters(row, arrow)
    const seq = ++this.seq
    const worker = loggedWorker(row, arrow, options)
    const { reason = null } = options
    row.last = new RowTransition(arrow, seq, this.tick, row.attempt, worker, reason, row.last)
    this.recorder.log(row, row.last)
    row.stateIndex = arrow.toIndex
    row.lastSeq = seq
    if (arrow.takesPlace) row.place = seq
    if (lease === 'begins') this.beginLease(row, options)
    else if (lease !== 'goes on') {
      row.wakeAt = arrow.timed ? (options.dueAt ?? null) : null
      if (row.run !== null) row.run.token = null
    }
    if (arrow.key === 'freed') end(row, change, this.tick)
    else if (arrow.key === 'taken') revive(row, change)
    if (options.output !== undefined && to === 'done') {
      row.withRun().output = options.output
      change.parts |= part.output
    }
    this.recorder.changed(row, change)
  }

  private beginLease(row: Row, { worker, token, leaseMs = 0 }: TransitionOptions): void {
    const run = row.withRun()
    run.worker = worker ?? null
    run.token = token ?? null
    run.startedAt = this.tick
    row.wakeAt = Math.ceil(this.now + leaseMs)
    if (row.rare !== null && row.rare.dueAfter !== null) row.rare.dueAfter = null
  }

  lastTransition(row: Row, error?: ErrorRecord): WrittenTransition {
    if (row.last === null) throw new TypeError(`job ${row.id} has made no transition`)
    return { id: row.id, type: row.type, ...row.last.entry, ...(error !== undefined && { error }) }
  }

  /** Deletes an ended job. */
  remove(row: Row): void {
    const change = this.changing(row, 0)
    change.isRemoved = true
    this.recorder.changed(row, change)
  }

  extendLease(row: Row, until: number): void {
    const change = this.changing(row, part.wakeAt)
    row.wakeAt = Math.ceil(until)
    this.recorder.changed(row, change)
  }

  /** Sets when a timed job is due. */
  setDue(row: Row, dueAt: number): void {
    const change = this.changing(row, part.wakeAt)
    row.wakeAt = dueAt
    if (row.rare !== null) row.rare.dueAfter = null
    this.recorder.changed(row, change)
  }

  /** Lets a live job give up its unique key, so that another job may take it. */
  giveUpKey(row: Row): void {
    if (!row.holdsKey) return
    const change = this.changing(row, part.key)
    row.withRare().hasGivenUpKey = true
    this.recorder.changed(row, change)
  }

  /** Makes a job wait for the end of its predecessor, and then for its own due time. May be repeated with another. */
  waitForPredecessor(row: Row, dueAt: number): void {
    const change = this.changing(row, part.key)
    row.withRare().dueAfter = dueAt
    this.recorder.changed(row, change)
  }

  // ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────

  read<Field extends keyof ReadFields>(row: Row, field: Field): ReadFields[Field] {
    return readField(row, field)
  }

  /** Writes fields; those that are left out stay as they are. */
  write(row: Row, fields: Partial<WrittenFields>): void {
    const change = this.changing(row, 0)
    for (const field of Object.keys(fields) as (keyof WrittenFields)[]) {
      change.parts |= partOf[field]
      writeField(row, field, fields[field])
    }
    this.recorder.changed(row, change)
  }

  hasSameInput(row: Row, { input }: JobToInsert): boolean {
    if (row.input instanceof Packed && input instanceof Packed && row.input.json === input.json) return true
    return sameJson(valueOf(row.input), valueOf(input))
  }

  /** Replaces input, tags, meta and version of a job in the backlog; removes its step results. */
  replaceInput(row: Row, { input, tags, meta, version }: JobToInsert): void {
    const change = this.changing(row, part.input | part.terms)
    row.input = input
    row.terms = row.terms.with({ tags, meta: meta ?? null })
    if (row.isMachine || version !== undefined) {
      row.withMachine().version = version ?? null
      change.parts |= part.machine
    }
    this.forgetSteps(row)
  }

  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void {
    const change = this.changing(row, 0)
    const added = change.withAdditions()
    for (const [name, result] of Object.entries(steps)) added.steps.set(name, result)
    this.recorder.changed(row, change)
  }

  /** Removes results of steps; without names all of them. */
  forgetSteps(row: Row, names?: readonly string[]): void {
    const change = this.changing(row, 0)
    const added = change.withAdditions()
    if (names === undefined) {
      added.steps.clear()
      added.forgetsSteps = true
    } else for (const name of names) added.steps.set(name, null)
    this.recorder.changed(row, change)
  }

  /** The answer to the last settlement of the job, if it was by this lease; otherwise null. */
  settledBefore(row: Row, { attempt, token }: LeaseKey): SettleAnswer | null {
    const { settled } = row
    return settled?.token === token && settled.attempt === attempt ? settled.answer : null
  }

  /** Keeps the answer to a settlement, unless the fields of the ended job tell it. */
  keepSettled(row: Row, { attempt, token }: LeaseKey, answer: SettleAnswer): void {
    const isLast = row.isEnded && answer.seq === row.lastSeq && answer.attempt === attempt
    const isAlone = answer.woken === undefined && answer.successor === undefined && answer.hook === undefined
    if (isLast && isAlone && answer.from === 'running') {
      const run = row.withRun()
      run.token = token
      if (run.settled === null && this.recorder.storesRows) return
      run.settled = null
    } else row.withRun().settled = { attempt, token, answer }
    this.recorder.changed(row, this.changing(row, part.settled))
  }

  /** Removes the transitions after the one of this number from the history of a job, not from the log. */
  forgetHistoryAfter(row: Row, seq: number): void {
    const change = this.changing(row, 0)
    change.withAdditions().historyUntil = seq
    while (row.last !== null && row.last.seq > seq) row.last = row.last.before
    this.recorder.changed(row, change)
  }

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Messages with a number greater than `after`, ascending: deferred and unread ones. */
  inbox(row: Row, after: number): readonly InboxEntry[] {
    const { machine } = row
    if (machine === null) return noMessages
    const { lastRead, lastMessage, deferred } = machine
    const hasKept = deferred.some((number) => number > after)
    if (lastMessage <= Math.max(after, lastRead) && !hasKept) return noMessages
    const added = row.change?.added?.messages ?? []
    const first = added[0]?.number ?? Infinity
    const areAllAdded = !hasKept && first <= Math.max(after, lastRead) + 1
    const stored = areAllAdded ? [] : this.source.inbox(row).filter(({ number }) => number < first)
    return [...stored, ...added].filter(
      ({ number }) => number > after && (number > lastRead || deferred.includes(number)),
    )
  }

  addMessage(row: Row, message: InboxMessage): void {
    const change = this.changing(row, part.machine)
    const machine = row.withMachine()
    machine.lastMessage++
    change.withAdditions().messages.push({ number: machine.lastMessage, at: this.now, message })
    this.recorder.changed(row, change)
  }

  /**
   * Sets the number of the last message read, and which events up to it stay in the inbox, deferred; removes all others
   * up to it.
   */
  markRead(row: Row, read: number, deferred: readonly number[]): void {
    const change = this.changing(row, part.checkpoint)
    const machine = row.withMachine()
    machine.lastRead = read
    machine.deferred = deferred
    this.recorder.changed(row, change)
  }

  /** Writes a checkpoint and its log entry. */
  addCheckpoint(row: Row, { number, state, note, takesCancel, states = [], tags = [] }: NewCheckpoint): void {
    const change = this.changing(row, part.checkpoint)
    const machine = row.withMachine()
    const seq = ++this.seq
    this.recorder.log(
      row,
      new RowTransition(checkpointArrow(row.state), seq, this.tick, row.attempt, row.worker, note, null),
    )
    this.pushCheckpoint(row, change, number, seq, note, state)
    machine.takesCancel = takesCancel
    machine.states = states
    machine.tags = tags
    this.recorder.changed(row, change)
  }

  private pushCheckpoint(
    row: Row,
    change: RowChange,
    number: number,
    seq: number,
    note: string,
    state: Cell<Json>,
  ): void {
    const machine = row.withMachine()
    const at = this.now
    machine.checkpoint = { number, seq }
    machine.checkpointAt = at
    change.withAdditions().checkpoints.push({ number, state, seq, at, note })
  }

  /** Sets the states and tags of the machine, of which each is named once, and whether it handles a cancel. */
  setStanding(row: Row, { states, tags, takesCancel }: ParkedStanding): void {
    const change = this.changing(row, part.checkpoint)
    const machine = row.withMachine()
    machine.states = states
    machine.tags = tags
    machine.takesCancel = takesCancel
    this.recorder.changed(row, change)
  }

  /** Removes checkpoints. */
  forgetCheckpoints(row: Row): void {
    const { machine } = row
    if (machine === null) return
    const change = this.changing(row, part.checkpoint)
    const added = change.withAdditions()
    machine.checkpoint = null
    machine.checkpointAt = 0
    machine.takesCancel = false
    machine.states = machine.tags = []
    added.checkpoints = []
    added.forgetsCheckpoints = true
    this.recorder.changed(row, change)
  }
}

/** The worker in the log: that of the lease that begins, goes on or ends; null if there is no lease. */
const loggedWorker = (row: JobRow, { lease }: CompiledArrow, { worker }: TransitionOptions): string | null =>
  worker ?? (lease === 'none' ? null : row.worker)

function end(row: JobRow, change: RowChange, at: Tick): void {
  row.withRun().ended = at
  if (row.key !== null) change.parts |= part.key
}

/** An ended job goes on, and takes its unique key again. */
function revive(row: JobRow, change: RowChange): void {
  row.withRun().ended = null
  if (row.key === null) return
  if (row.rare !== null) row.rare.hasGivenUpKey = false
  change.parts |= part.key
}

/** Before an ended job goes on: what tells its last settlement is about to change. */
function keepLastSettled(row: JobRow, change: RowChange): void {
  const { settled } = row
  if (settled === null) return
  row.withRun().settled = settled
  change.parts |= part.settled
}
