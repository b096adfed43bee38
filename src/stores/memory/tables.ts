/**
 * The rows of the store and every index over them. Rows are the ones that operations work on; what is
 * written is where the indexes have them, so that counts, queues, timers, leases, ended rows and the log always agree.
 */
import { handOverRoom, type WorkerSlots } from '../../core/hand-over.ts'
import { caps } from '../../core/caps.ts'
import type { Counted } from '../../core/activity.ts'
import type { FailureMerge } from '../../core/failure-merges.ts'
import type { Failure } from '../../core/fingerprint.ts'
import type { Recorder } from '../../core/recorder.ts'
import { RowChange, type Additions, type JobToInsert, type RowTransition, type Tick } from '../../core/job-row.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { ScheduleUnit } from '../../core/schedule.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import type { Source } from '../../core/source.ts'
import type { SelectedRows, Selection } from '../../core/source.ts'
import type { QueueChange, WorkerInfo } from '../../store.ts'
import { BulkOperations } from './bulk.ts'
import { Families } from './families.ts'
import { Hints } from './hints.ts'
import { LeaseEnds } from './lease-ends.ts'
import { LinkedList } from './linked-list.ts'
import { TransitionLog } from './log.ts'
import { MachineIndex } from './machine-index.ts'
import { backlogPhases, leasedPhases, noCounts, phases, tally, type Phase } from './phases.ts'
import { Queue } from './queue.ts'
import { inboxOf } from './records.ts'
import { Retention } from './retention.ts'
import { KeptCheckpoint, Row } from './row.ts'
import { Past } from './series.ts'
import { RowTable } from './row-table.ts'
import { ScheduleTable } from './schedules.ts'
import { select } from './selection.ts'
import { Timers } from './timers.ts'

const soonest = (a: Row, b: Row): number => (a.wakeAt ?? 0) - (b.wakeAt ?? 0) || a.seq - b.seq

const noChildren: readonly Row[] = []

export class Tables implements Source<Row>, Recorder<Row>, ScheduleUnit {
  readonly storesRows = true
  readonly rows = new RowTable()
  readonly queues = new Map<string, Queue<Row>>()
  readonly timers = new Timers<Row>()
  readonly leaseEnds = new LeaseEnds()
  /** The leased rows of each phase, in the order in which they entered it. */
  readonly rowsByPhase: readonly LinkedList<Row>[] = phases.map(() => new LinkedList<Row>())
  readonly counts = noCounts()
  readonly workers = new Map<string, { readonly info: WorkerInfo; seenAt: number }>()
  readonly schedules = new ScheduleTable()
  readonly retention = new Retention()
  failureMerges: readonly FailureMerge[] = []
  readonly pastActivity = new Past()
  readonly hints = new Hints()
  readonly bulk = new BulkOperations(this.hints)
  readonly families = new Families()
  readonly machineIndex = new MachineIndex()
  readonly transitions: TransitionLog
  now = 0
  /** The change of the row that changes now. */
  private readonly change = new RowChange()

  constructor(transitionsMax: number) {
    this.transitions = new TransitionLog(transitionsMax)
  }

  // ── what a unit asks ─────────────────────────────────────────────────────────────────────────────────────────────

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

  findAll(ids: readonly string[]): readonly Row[] {
    return this.rows.getAll(ids)
  }

  existing(ids: readonly string[]): ReadonlyMap<string, string> {
    return new Map(this.rows.getAll(ids).map(({ id, type }) => [id, type]))
  }

  newRow(job: JobToInsert, state: JobState, seq: number, came: Tick): Row {
    const queue = this.queue(job.type)
    return new Row(job, queue.termsOf(job), state, seq, came, queue)
  }

  add(row: Row): boolean {
    return this.rows.add(row)
  }

  holder(type: string, key: string): Row | undefined {
    return this.queues.get(type)?.holder(key)
  }

  hasPredecessor(type: string, key: string): boolean {
    return this.queues.get(type)?.hasPredecessor(key) === true
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    return select(this, selection, (phase) => states.has(phase.name))
  }

  children({ id }: Row): readonly Row[] {
    const children = this.families.childrenOf(id)
    return children === undefined ? noChildren : [...children].filter((child) => !child.phase.ended)
  }

  due(limit: number): readonly Row[] {
    return this.timers.until(this.now, limit)
  }

  expired(limit: number): readonly Row[] {
    const { until, count } = this.leaseEnds.first(this.now, limit)
    const expired: Row[] = []
    // Those that were leased first mostly expire first: then the others are not looked at.
    for (const { index } of leasedPhases) {
      const { head } = this.rowsByPhase[index] as LinkedList<Row>
      for (let row = head; row !== null && expired.length < count; row = row.next) {
        if (row.wakeAt !== null && row.wakeAt <= until) expired.push(row)
      }
    }
    return expired.toSorted(soonest).slice(0, limit)
  }

  nextDueAt(): number | null {
    return this.timers.peek()?.wakeAt ?? null
  }

  nextExpiryAt(): number | null {
    return this.leaseEnds.firstAt
  }

  backlogOf(type: string | null): number {
    const counts = type === null ? this.counts : this.queues.get(type)?.counts
    return counts === undefined ? 0 : tally(counts, backlogPhases)
  }

  isPaused(type: string): boolean {
    return this.queues.get(type)?.paused === true
  }

  inbox({ lists }: Row): readonly InboxEntry[] {
    return lists === null ? [] : lists.messages.map(inboxOf)
  }

  handOverRoom(type: string): number {
    return handOverRoom(type, this.workerSlots(), (each) => this.queues.get(each))
  }

  private *workerSlots(): Iterable<WorkerSlots> {
    const leased = new Map<string, number>()
    for (const { index } of leasedPhases) {
      for (const { worker } of this.rowsByPhase[index]?.toArray() ?? []) {
        leased.set(worker ?? '', (leased.get(worker ?? '') ?? 0) + 1)
      }
    }
    for (const [id, { info, seenAt }] of this.workers) {
      yield { info, silentMs: this.now - seenAt, leasedCount: leased.get(id) ?? 0 }
    }
  }

  // ── what is not a matter of rows ─────────────────────────────────────────────────────────────────────────────────

  /** The queue of a type, made when it is first needed. */
  queue(type: string): Queue<Row> {
    let queue = this.queues.get(type)
    if (queue === undefined) {
      queue = new Queue<Row>(type)
      queue.activity.partOf(this.pastActivity)
      this.queues.set(type, queue)
    }
    return queue
  }

  changeQueue(type: string, change: QueueChange): void {
    const queue = this.queue(type)
    if (queue.change(change)) this.hints.switched(queue)
    this.hints.ready(queue)
  }

  schedule(name: string): StoredSchedule | undefined {
    return this.schedules.get(name)
  }

  saveSchedule(schedule: StoredSchedule): void {
    const dueAt = this.schedules.save(schedule)
    if (dueAt !== null) this.hints.scheduled(dueAt)
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  begin(row: Row, isNew: boolean): RowChange {
    this.change.begin(row, isNew)
    return this.change
  }

  log(row: Row, entry: RowTransition | null): void {
    this.transitions.append(row, entry)
  }

  count({ queue }: Row, counted: Counted, ms: number): void {
    queue.activity.count(this.now, counted, ms)
  }

  countFailure({ queue, id }: Row, failure: Failure, seq: number): void {
    queue.failures.add(failure, id, seq, this.now)
  }

  countOutcome(type: string, outcome: string): void {
    this.queue(type).machineTally.addOutcome(outcome)
  }

  countHeat({ queue, id }: Row, name: string, count: number): void {
    queue.heat.add(this.now, name, count, id)
  }

  refused(type: string | null, isHandOver: boolean): void {
    if (type !== null && isHandOver) this.hints.refusedHandOver(type, this.handOverRoom(type))
    else this.hints.refused(type, this.backlogOf(type))
  }

  /** Writes where the indexes have a row. */
  changed(row: Row, was: RowChange): void {
    const from = was.stateIndex < 0 ? null : (phases[was.stateIndex] as Phase)
    const to = was.isRemoved ? null : row.phase
    if (row.key !== null) row.queue.keyMoved(row, was, to !== null && !to.ended)
    if (row.isMachine) this.placeMachine(row, was, from, to)
    if (from !== null && from.name === 'dead') countDead(row, was.failure, was.ended?.at ?? 0, -1)
    if (from !== to) {
      if (from !== null) this.depart(row, was.wakeAt, from, to)
      if (to !== null) this.arrive(row, from, to)
    } else if (to !== null && was.wakeAt !== row.wakeAt) this.retime(row, was.wakeAt, to)
    if (to !== null && to.name === 'dead') countDead(row, row.rarely.failure, row.finishedAt ?? 0, 1)
    if (was.added !== null) this.extendLists(row, was.added)
    if (to !== null) return
    this.rows.remove(row)
    row.forget()
  }

  private depart(row: Row, wakeAt: number | null, from: Phase, to: Phase | null): void {
    this.countPhase(row, from, -1)
    if (from.claimable) row.queue.remove(row)
    else if (from.timed) this.timers.remove(row, wakeAt)
    else this.listOf(row.queue, from).remove(row)
    if (from.ended) this.retention.changed(row.queue)
    if (!from.leased || to?.leased === true) return
    if (wakeAt !== null) this.leaseEnds.remove(wakeAt)
    row.queue.removeLease(row)
    if (!row.queue.capped) return
    row.queue.capped = false
    this.hints.ready(row.queue)
  }

  private arrive(row: Row, from: Phase | null, to: Phase): void {
    this.countPhase(row, to, 1)
    if (to.claimable) {
      row.queue.add(row)
      this.hints.ready(row.queue)
      return
    }
    if (to.timed) return this.retime(row, null, to)
    this.listOf(row.queue, to).append(row)
    if (to.leased) {
      if (from?.leased === true) this.hints.cancelled(row.id)
      else this.beginLease(row)
    }
    if (!to.ended) return
    this.retention.changed(row.queue)
    this.hints.ended(row.id)
  }

  private beginLease(row: Row): void {
    row.queue.addLease(row)
    if (row.wakeAt !== null) this.leaseEnds.add(row.wakeAt)
  }

  /** The due time of a timed row, or the end of a lease, has changed. */
  private retime(row: Row, before: number | null, { leased }: Phase): void {
    const { wakeAt } = row
    if (leased) {
      if (before !== null) this.leaseEnds.remove(before)
      if (wakeAt !== null) this.leaseEnds.add(wakeAt)
      return
    }
    this.timers.remove(row, before)
    if (wakeAt === null) return
    this.timers.add(row)
    if (this.timers.peek() === row) this.hints.due(wakeAt)
  }

  private placeMachine(row: Row, was: RowChange, from: Phase | null, to: Phase | null): void {
    const { machine } = row
    if (machine === null) return
    const { states, tags } = to === null ? nothing : machine
    const before = was.machine ?? nothing
    this.machineIndex.change(row, before, { states, tags })
    const wasLive = from !== null && !from.ended
    const isLive = to !== null && !to.ended
    if (wasLive !== isLive || before.states !== machine.states || before.tags !== machine.tags) {
      if (wasLive) row.queue.machineTally.add(before, -1)
      if (isLive) row.queue.machineTally.add(machine, 1)
    }
    this.machineIndex.changeUnsupported(row, to !== null && machine.unsupported !== null)
    if (from === null) this.families.add(row)
    else if (to === null) this.families.remove(row)
    if (before.lastRead !== machine.lastRead || before.deferred !== machine.deferred) this.dropMessages(row)
  }

  /** Writes what was added to the lists of a row. */
  private extendLists(row: Row, added: Additions): void {
    const { messages, checkpoints, forgetsCheckpoints } = added
    const lists = row.withLists()
    if (messages.length > 0) {
      // Those that were there before are not looked at: an inbox may have one for each of thousands of children.
      for (const message of messages) if (isKept(row, message)) lists.messages.push(message)
      if (row.phase.leased) this.hints.messages(row.id)
    }
    if (forgetsCheckpoints) lists.checkpoints = []
    for (const entry of checkpoints) lists.checkpoints.push(new KeptCheckpoint(entry))
    if (lists.checkpoints.length > caps.checkpoints)
      lists.checkpoints.splice(0, lists.checkpoints.length - caps.checkpoints)
    lists.changeSteps(added)
  }

  /** Removes the messages that the machine has read, except the deferred ones. */
  private dropMessages(row: Row): void {
    const { lists } = row
    if (lists !== null && lists.messages.length > 0)
      lists.messages = lists.messages.filter((message) => isKept(row, message))
  }

  /** The list of a leased or an ended phase. */
  private listOf({ ended }: Queue<Row>, { index, ended: isEnd }: Phase): LinkedList<Row> {
    return isEnd ? (ended[index] ??= new LinkedList<Row>()) : (this.rowsByPhase[index] as LinkedList<Row>)
  }

  private countPhase(row: Row, phase: Phase, by: 1 | -1): void {
    ;(this.counts[phase.index] as number) += by
    ;(row.queue.counts[phase.index] as number) += by
  }
}

const nothing = { states: [], tags: [], lastRead: 0, deferred: [] }

/** Is a message unread or deferred? */
const isKept = ({ machine }: Row, { number }: InboxEntry): boolean =>
  machine === null || number > machine.lastRead || machine.deferred.includes(number)

/** A dead row is one of the dead jobs of the group of its last error from now on, or no longer. */
function countDead({ queue }: Row, failure: string | null, diedAt: number, by: 1 | -1): void {
  if (failure !== null) queue.failures.countDead(failure, diedAt, by)
}
