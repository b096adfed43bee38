/**
 * The rows of the store and every index over them, as a unit of work. Rows are inserted, changed and removed only here,
 * so that counts, queues, timers, leases, ended rows and the log always agree. Changes are made in place and cannot be
 * undone: operations decide before they write.
 */
import type { EndedState, PruneUnit } from '../../core/prune.ts'
import type {
  CompiledArrow,
  InsertUnit,
  LeaseKey,
  LoggedTransition,
  SelectedRows,
  TransitionOptions,
} from '../../core/unit-of-work.ts'
import { enqueueCounted, type Counted } from '../../core/activity.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { Heap } from '../../core/heap.ts'
import { handOverRoom, type WorkerSlots } from '../../core/hand-over.ts'
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { loggedWorker, type LoggedArrow } from '../../core/history.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { InboxMessage, InboxEntry, NewCheckpoint } from '../../core/machine-record.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import { writeFields, type ReadFields, type WrittenFields } from '../../core/row-fields.ts'
import { sameJson } from '../../core/unique.ts'
import type { WrittenTransition, NewJob, RetentionPolicy, Selection, SettleAnswer, WorkerInfo } from '../../store.ts'
import { BulkOperations } from './bulk.ts'
import { LinkedList } from './linked-list.ts'
import { Hints } from './hints.ts'
import { TransitionLog } from './log.ts'
import { Machine } from './machine.ts'
import { MachineIndex } from './machine-index.ts'
import { backlogPhases, leasedPhases, noCounts, phaseOf, phases, tally, type Phase } from './phases.ts'
import { Queue } from './queue.ts'
import { inboxOf, transitionOf } from './records.ts'
import { Retention } from './retention.ts'
import { RowTable } from './row-table.ts'
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import { ScheduleTable } from './schedules.ts'
import { Timers } from './timers.ts'
import { readers, writers } from './row-fields.ts'
import { keep, Row, StoredTransition, Tick, type Run } from './row.ts'
import { select } from './selection.ts'

const soonest = (a: Row, b: Row): boolean => {
  const left = a.wakeAt ?? 0
  const right = b.wakeAt ?? 0
  return left === right ? a.seq < b.seq : left < right
}

const checkpointArrows: readonly LoggedArrow[] = phases.map(({ name }) => ({
  event: 'CHECKPOINT',
  from: name,
  to: name,
}))
const enqueueArrows: readonly LoggedArrow[] = phases.map((phase) => ({ event: 'ENQUEUE', from: null, to: phase.name }))

const noChildren: readonly Row[] = []

export class MemoryUnit implements InsertUnit<Row, NewJob>, PruneUnit<Row>, ScheduleUnit {
  readonly rows = new RowTable()
  readonly queues = new Map<string, Queue<Row>>()
  readonly timers = new Timers<Row>()
  readonly leases = new Heap<Row>(soonest)
  /** The leased rows of each phase, in the order in which they entered it. */
  readonly rowsByPhase: readonly LinkedList<Row>[] = phases.map(() => new LinkedList<Row>())
  readonly counts = noCounts()
  readonly workers = new Map<string, { readonly info: WorkerInfo; seenAt: number }>()
  readonly schedules = new ScheduleTable()
  readonly retention = new Retention()
  readonly hints = new Hints()
  readonly bulk = new BulkOperations(this.hints)
  readonly log: TransitionLog
  now = 0
  /** Rows that wait because no worker could run their machine. */
  readonly unsupported = new Set<Row>()
  /** Rows by the id of their parent. */
  private readonly families = new Map<string, Set<Row>>()
  readonly machineIndex = new MachineIndex()
  private tick = new Tick(0)

  constructor(transitionsMax: number) {
    this.log = new TransitionLog(transitionsMax)
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  get backlog(): number {
    return tally(this.counts, backlogPhases)
  }

  backlogOf(type: string): number {
    const queue = this.queues.get(type)
    return queue === undefined ? 0 : tally(queue.counts, backlogPhases)
  }

  isPaused(type: string): boolean {
    return this.queues.get(type)?.paused === true
  }

  find(id: string): Row | undefined {
    return this.rows.get(id)
  }

  /** Runs mostly end in the order in which they began: then the row is the first of its list. */
  findLeased(id: string): Row | undefined {
    for (const { index } of leasedPhases) {
      const { head: longest } = this.rowsByPhase[index] as LinkedList<Row>
      if (longest !== null && longest.id === id) return longest
    }
    return this.rows.get(id)
  }

  holder(type: string, key: string): Row | undefined {
    return this.queues.get(type)?.holder(key)
  }

  hasPredecessor(type: string, key: string): boolean {
    return this.queues.get(type)?.hasPredecessor(key) === true
  }

  successor(row: Row): { readonly row: Row; readonly dueAt: number } | null {
    return row.queue.predecessorEnded(row)
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    return select(this, selection, (phase) => states.has(phase.name))
  }

  children({ id }: Row): readonly Row[] {
    const children = this.families.get(id)
    if (children === undefined) return noChildren
    const live = [...children].filter((child) => !child.phase.ended)
    return live.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  }

  /** The rows of all children of a job, in the order of their insertion. */
  childrenOf(id: string): ReadonlySet<Row> | undefined {
    return this.families.get(id)
  }

  *due(limit: number): Iterable<Row> {
    for (let i = 0; i < limit; i++) {
      const row = this.timers.peek()
      if (row === undefined || (row.wakeAt ?? 0) > this.now) return
      yield row
    }
  }

  *expired(limit: number): Iterable<Row> {
    for (let i = 0; i < limit; i++) {
      const row = this.leases.peek()
      if (row === undefined || (row.wakeAt ?? 0) > this.now) return
      yield row
    }
  }

  get nextDueAt(): number | null {
    return this.timers.peek()?.wakeAt ?? null
  }

  get nextExpiryAt(): number | null {
    return this.leases.peek()?.wakeAt ?? null
  }

  typesToPrune(limit: number): readonly string[] {
    return this.retention.due(this.now, limit).map(({ type }) => type)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.retention.of(type)
  }

  endedCount(type: string, state: EndedState): number {
    return this.queue(type).counts[phaseOf[state].index] as number
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly Row[] {
    return this.listOf(this.queue(type), phaseOf[state]).toArray(limit)
  }

  removeEnded(rows: readonly Row[]): void {
    for (const row of rows) this.remove(row)
  }

  lookAgain(type: string, at: number): void {
    this.retention.lookAgain(this.queue(type), at)
  }

  get nextLookAt(): number {
    return this.retention.nextAt
  }

  /** The queue of a type, made when it is first needed. */
  queue(type: string): Queue<Row> {
    let queue = this.queues.get(type)
    if (queue === undefined) {
      queue = new Queue<Row>(type)
      this.queues.set(type, queue)
    }
    return queue
  }

  pause(type: string, paused: boolean): void {
    const queue = this.queue(type)
    if (queue.paused !== paused) this.hints.switched(queue)
    queue.paused = paused
    this.hints.ready(queue)
  }

  schedule(name: string): StoredSchedule | undefined {
    return this.schedules.get(name)
  }

  saveSchedule(schedule: StoredSchedule): void {
    const dueAt = this.schedules.save(schedule)
    if (dueAt !== null) this.hints.scheduled(dueAt)
  }

  // ── transitions ──────────────────────────────────────────────────────────────────────────────────────────────────

  existing(jobs: readonly NewJob[]): ReadonlyMap<string, string> {
    const types = new Map<string, string>()
    for (const { id } of jobs) {
      const row = this.rows.get(id)
      if (row !== undefined) types.set(id, row.type)
    }
    return types
  }

  insert(job: NewJob, state: JobState, dueAt: number | null): number | null {
    if (this.rows.get(job.id) !== undefined) return null
    const queue = this.queue(job.type)
    const phase = phaseOf[state]
    const tick = this.currentTick()
    const row = new Row(job, queue, queue.termsOf(job), phase, this.log.nextSeq, tick)
    this.log.append(row, enqueueArrows[phase.index] as LoggedArrow, tick, null, null)
    this.rows.add(row)
    this.countPhase(row, phase, 1)
    queue.activity.count(this.now, enqueueCounted, 0)
    queue.takeKey(row)
    this.arrive(row, false, phase, dueAt)
    if (job.parent !== undefined) this.adopt(row, job.parent)
    if (job.version !== undefined) row.withMachine().version = job.version
    if (job.checkpoint !== undefined) {
      row.withMachine().checkpoints = [{ number: 1, state: job.checkpoint, seq: row.seq, at: this.now, note: 'fork' }]
    }
    return row.seq
  }

  insertMade(job: NewJob, state: JobState): number | null {
    return this.insert(job, state, null)
  }

  count({ queue }: Row, counted: Counted, ms: number): void {
    queue.activity.count(this.now, counted, ms)
  }

  countFailure({ id, queue }: Row, failure: Failure): void {
    queue.failures.add(failure, id, this.log.nextSeq, this.now)
  }

  countOutcome({ queue }: Row, outcome: string): void {
    queue.machineTally.addOutcome(outcome)
  }

  apply(row: Row, arrow: CompiledArrow, options: TransitionOptions): LoggedTransition {
    const { phase: from, run } = row
    const to = phases[arrow.toIndex] as Phase
    this.depart(row, from, to)
    const seq = this.log.nextSeq
    const worker = loggedWorker(row, arrow, options)
    const reason = options.reason ?? null
    const tick = this.currentTick()
    this.log.append(row, arrow, tick, worker, reason)
    const transition = (row.last = new StoredTransition(arrow, row, seq, tick, worker, reason))
    if (transition.depth >= 2 * caps.history) transition.trim()
    row.phase = to
    if (from.ended !== to.ended && row.machine !== null) row.queue.machineTally.add(row.machine, to.ended ? -1 : 1)
    if (arrow.takesPlace) row.place = seq
    if (arrow.key === 'taken') row.queue.takeKey(row)
    else if (arrow.key === 'freed') row.queue.freeKey(row)
    if (options.output !== undefined && arrow.to === 'done' && run !== null) run.output = options.output
    this.arrive(row, from.leased, to, options.dueAt ?? null)
    if (to.name === 'dead') this.countDead(row, 1)
    if (arrow.lease === 'goes on') this.hints.cancelled(row.id)
    return transition
  }

  /** Sets the end of a row's lease. */
  extendLease(row: Row, until: number): void {
    row.wakeAt = until
    if (row.heapIndex < 0) this.leases.push(row)
    else this.leases.update(row)
  }

  remove(row: Row): void {
    this.countDead(row, -1)
    this.depart(row, row.phase, null)
    this.rows.remove(row)
    if (row.machine !== null) {
      this.unsupported.delete(row)
      this.machineIndex.update(row, [], [])
      this.disown(row)
    }
    row.forget()
  }

  lastTransition(row: Row, error?: ErrorRecord): WrittenTransition {
    return transitionOf(row, error)
  }

  // ── what is kept of a job beside its state ───────────────────────────────────────────────────────────────────────

  read<Field extends keyof ReadFields>(row: Row, field: Field): ReadFields[Field] {
    return readers[field](row)
  }

  write(row: Row, fields: Partial<WrittenFields>): void {
    const { failure, unsupported } = fields
    if (failure !== undefined) this.countDead(row, -1)
    writeFields(writers, row, fields)
    if (failure !== undefined) this.countDead(row, 1)
    if (unsupported === null) this.unsupported.delete(row)
    else if (unsupported !== undefined) this.unsupported.add(row)
  }

  giveUpKey(row: Row): void {
    row.queue.giveUpKey(row)
  }

  waitForPredecessor(row: Row, dueAt: number): void {
    row.queue.awaitPredecessor(row, dueAt)
  }

  setDue(row: Row, dueAt: number): void {
    this.timers.remove(row)
    this.wait(row, dueAt)
  }

  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void {
    const results = (row.remember().steps ??= new Map<string, Json>())
    for (const [name, result] of Object.entries(steps)) results.set(name, result)
  }

  forgetSteps({ past }: Row, names?: readonly string[]): void {
    if (past === null) return
    if (names === undefined) past.steps = null
    else for (const name of names) past.steps?.delete(name)
  }

  hasSameInput(row: Row, { input }: NewJob): boolean {
    return sameJson(row.input, input)
  }

  replaceInput(row: Row, { input, tags, meta, version }: NewJob): void {
    row.input = input
    row.terms = row.terms.with({ tags, meta: meta ?? null })
    if (row.past !== null) row.past.steps = null
    if (row.machine !== null || version !== undefined) row.withMachine().version = version ?? null
  }

  settledBefore({ settled, machine, past }: Row, { attempt, token }: LeaseKey): SettleAnswer | null {
    if (settled === null || settled.token !== token || settled.claim.attempt !== attempt) return null
    const { end, dueAt } = settled
    if (end === null) return null
    const woken = machine?.woken ?? null
    const successor = past?.successor ?? null
    const hook = past?.hook ?? null
    const { seq, at, from, to } = end
    const answer = { outcome: 'settled', seq, at, from, to, attempt: end.attempt, dueAt } as const
    return {
      ...answer,
      ...(woken !== null && { woken: { ...woken } }),
      ...(successor !== null && { successor: { ...successor } }),
      ...(hook !== null && { hook: { ...hook } }),
    }
  }

  keepSettled(row: Row, _lease: LeaseKey, { seq, dueAt, woken, successor, hook }: SettleAnswer): void {
    const run = row.run as Run
    // The job may have made further transitions in this call: the end of the run is the transition of this number.
    let end = row.last
    while (end !== null && end.seq !== seq) end = end.before
    run.end = end
    run.dueAt = dueAt
    run.settled = null
    if (row.machine !== null) row.machine.woken = woken ?? null
    if (successor === undefined && hook === undefined && row.past === null) return
    const past = row.remember()
    past.successor = successor ?? null
    past.hook = hook ?? null
  }

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  inbox({ machine }: Row, after: number): readonly InboxEntry[] {
    return machine === null ? [] : machine.messages.filter(({ number }) => number > after).map(inboxOf)
  }

  addCheckpoint(row: Row, checkpoint: NewCheckpoint): void {
    const { number, state, note, takesCancel, states = [], tags = [] } = checkpoint
    const machine = row.withMachine()
    const seq = this.log.nextSeq
    this.log.append(row, checkpointArrows[row.phase.index] as LoggedArrow, this.currentTick(), row.worker, note)
    keep(machine.checkpoints, [{ number, state, seq, at: this.now, note }], caps.checkpoints)
    machine.takesCancel = takesCancel
    this.machineIndex.update(row, [...states], [...tags])
  }

  setStanding(row: Row, { states, tags }: MachineStanding): void {
    this.machineIndex.update(row, [...states], [...tags])
  }

  forgetCheckpoints(row: Row): void {
    row.machine?.forgetCheckpoints()
    this.machineIndex.update(row, [], [])
  }

  addMessage(row: Row, message: InboxMessage): void {
    const machine = row.withMachine()
    machine.messages.push({ number: ++machine.lastMessage, at: this.now, message })
    if (row.phase.leased) this.hints.messages(row.id)
  }

  markRead(row: Row, read: number, deferred: readonly number[]): void {
    const machine = row.withMachine()
    machine.lastRead = read
    machine.deferred = deferred
    const kept = new Set(deferred)
    machine.messages = machine.messages.filter(({ number }) => number > read || kept.has(number))
  }

  forgetHistoryAfter(row: Row, seq: number): void {
    row.forgetTransitionsAfter(seq)
  }

  handOverRoom(type: string): number {
    return handOverRoom(type, this.workerSlots(), (each) => this.queues.get(each))
  }

  refusedFull(type: string | null, isHandOver: boolean): void {
    if (type !== null && isHandOver) this.hints.refusedHandOver(type, this.handOverRoom(type))
    else this.hints.refused(type, type === null ? this.backlog : this.backlogOf(type))
  }

  private *workerSlots(): Iterable<WorkerSlots> {
    const leased = new Map<string, number>()
    for (const { index } of leasedPhases) {
      for (const { run } of this.rowsByPhase[index]?.toArray() ?? []) {
        const worker = run?.claim.worker ?? ''
        leased.set(worker, (leased.get(worker) ?? 0) + 1)
      }
    }
    for (const [id, { info, seenAt }] of this.workers) {
      yield { info, silentMs: this.now - seenAt, leasedCount: leased.get(id) ?? 0 }
    }
  }

  // ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private depart(row: Row, from: Phase, to: Phase | null): void {
    this.countPhase(row, from, -1)
    if (to !== null) this.countPhase(row, to, 1)
    if (from.claimable) row.queue.remove(row)
    else if (from.timed) this.timers.remove(row)
    else this.listOf(row.queue, from).remove(row)
    if (from.ended) this.retention.changed(row.queue)
    if (from.leased && to?.leased === true) return
    row.wakeAt = null
    if (from.leased) this.endLease(row)
  }

  private arrive(row: Row, wasLeased: boolean, to: Phase, dueAt: number | null): void {
    if (to.claimable) {
      row.queue.add(row)
      this.hints.ready(row.queue)
      return
    }
    if (to.timed) return this.wait(row, dueAt)
    this.listOf(row.queue, to).append(row)
    if (to.leased && !wasLeased) row.queue.addLease(row)
    if (!to.ended) return
    this.retention.changed(row.queue)
    this.hints.ended(row.id)
  }

  /** Sets the due time of a timed row that has none; null = it waits for an event, or for the end of another job. */
  wait(row: Row, dueAt: number | null): void {
    row.wakeAt = dueAt
    if (dueAt === null) return
    this.timers.add(row)
    if (this.timers.peek() === row) this.hints.due(dueAt)
  }

  /** A dead row is one of the dead jobs of the group of its last error from now on, or no longer. */
  private countDead({ phase, past, queue, endedAt }: Row, by: 1 | -1): void {
    if (phase.name === 'dead' && past !== null && past.failure !== null)
      queue.failures.countDead(past.failure, endedAt, by)
  }

  /** The list of a leased or an ended phase. */
  private listOf({ ended }: Queue<Row>, { index, ended: isEnd }: Phase): LinkedList<Row> {
    return isEnd ? (ended[index] ??= new LinkedList<Row>()) : (this.rowsByPhase[index] as LinkedList<Row>)
  }

  private endLease(row: Row): void {
    this.leases.remove(row)
    row.queue.removeLease(row)
    if (row.queue.capped) {
      row.queue.capped = false
      this.hints.ready(row.queue)
    }
  }

  private adopt(row: Row, parent: NonNullable<NewJob['parent']>): void {
    row.machine = new Machine(parent)
    const siblings = this.families.get(parent.id)
    if (siblings === undefined) this.families.set(parent.id, new Set([row]))
    else siblings.add(row)
  }

  private disown(row: Row): void {
    const parent = row.machine?.parent?.id
    const siblings = parent === undefined ? undefined : this.families.get(parent)
    if (parent === undefined || siblings === undefined) return
    siblings.delete(row)
    if (siblings.size === 0) this.families.delete(parent)
  }

  private currentTick(): Tick {
    if (this.tick.at !== this.now) this.tick = new Tick(this.now)
    return this.tick
  }

  private countPhase(row: Row, phase: Phase, by: 1 | -1): void {
    ;(this.counts[phase.index] as number) += by
    ;(row.queue.counts[phase.index] as number) += by
  }
}
