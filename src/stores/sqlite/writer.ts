/**
 * Writes what operations change: counts, log and hints at once, in memory; rows before a query that depends on them, at
 * the latest at the end of the transaction.
 */
import type { Counted } from '../../core/activity.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { handOverRoom } from '../../core/hand-over.ts'
import { enqueueArrow } from '../../core/history.ts'
import { RowChange, type RowTransition } from '../../core/job-row.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { Recorder } from '../../core/recorder.ts'
import type { WorkerInfo } from '../../store.ts'
import type { Claims } from './claims.ts'
import type { Ends } from './ends.ts'
import type { FailureTable } from './failure-table.ts'
import type { HeatTable } from './heat.ts'
import type { Hints } from './hints.ts'
import type { InboxWatch } from './inbox-watch.ts'
import type { KeyGroups } from './key-groups.ts'
import { oldestOf, type LogWriter } from './log.ts'
import type { Machines } from './machines.ts'
import { PlainEnds } from './plain-ends.ts'
import type { Retention } from './retention.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import type { RowCache } from './row-cache.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'
import type { Waiting } from './waiting.ts'
import { needsLife, writeRow } from './write-row.ts'

interface Tables {
  readonly sql: Statements
  readonly queues: Queues
  readonly machines: Machines
  readonly keyGroups: KeyGroups
  readonly failures: FailureTable
  readonly heat: HeatTable
  readonly retention: Retention
  readonly claims: Claims
  readonly ends: Ends
  readonly waiting: Waiting
  readonly cache: RowCache
  readonly log: LogWriter
  readonly hints: Hints
  readonly inboxWatch: InboxWatch
  readonly seq: number
  readonly transitionsMax: number
}

export class Writer implements Recorder<Row> {
  readonly storesRows = false
  private readonly tables: Tables
  private readonly plainEnds: PlainEnds
  private rows: Row[] = []
  /** The change of a row that is new: those of most need not be remembered. */
  private fresh = new RowChange()
  /** Changes that were written: they are used again. */
  private readonly spare: RowChange[] = []
  /** Are there new rows among those to be written? */
  private hasNew = false
  now = 0
  /** Is there a live job that has given up its unique key? null = not known in this transaction. */
  hasLeaving: boolean | null = null

  constructor(tables: Tables) {
    this.tables = tables
    this.plainEnds = new PlainEnds(tables.sql)
  }

  /** Begins a transaction. */
  start(now: number): void {
    this.now = now
    this.hasLeaving = null
  }

  // ── at once ──────────────────────────────────────────────────────────────────────────────────────────────────────

  begin(row: Row, isNew: boolean): RowChange {
    const change = isNew ? this.fresh : (this.spare.pop() ?? new RowChange())
    change.begin(row, isNew)
    if (isNew) return change
    row.change = change
    this.rows.push(row)
    return change
  }

  changed(row: Row, change: RowChange): void {
    if (change !== this.fresh) return
    if (row.dueAt !== null) this.tables.hints.due(row.dueAt)
    if (!needsLife(row) && !row.queue.hasKeyGroup(row.concurrencyKey)) return
    this.fresh = new RowChange()
    row.change = change
    this.rows.push(row)
    this.hasNew = true
  }

  log(row: Row, entry: RowTransition | null): void {
    const { queues, log, hints, retention } = this.tables
    const { queue, id } = row
    if (entry === null) {
      const arrow = enqueueArrow(row.state)
      log.add(queue.number, row.seq, arrow, 0, null, null)
      queues.count(queue, row.state, 1)
      if (row.concurrencyKey !== null) queue.keyed = true
      hints.moved(queue, id, null, row.state)
      return
    }
    const { arrow } = entry
    log.add(queue.number, row.seq, arrow, entry.attempt, entry.worker, entry.reason)
    const { from, to } = arrow
    if (from === null || from === to) return
    queues.move(queue, from, to)
    if (isEnded(from) || isEnded(to)) retention.changed(queue.number)
    hints.moved(queue, id, from, to)
  }

  count({ queue }: Row, counted: Counted, ms: number): void {
    this.tables.queues.countActivity(queue, counted, ms, this.now)
  }

  countFailure({ queue, id }: Row, failure: Failure, seq: number): void {
    this.tables.failures.add(queue.number, id, failure, seq, this.now)
  }

  countOutcome(type: string, outcome: string): void {
    const { queues } = this.tables
    queues.changing(queues.of(type)).countOutcome(outcome)
  }

  countHeat({ queue, id }: Row, name: string, count: number): void {
    this.tables.heat.add(queue.number, name, count, id)
  }

  refused(type: string | null, isHandOver: boolean): void {
    const { queues, hints } = this.tables
    if (isHandOver && type !== null) return hints.refusedHandOver(type, this.handOverRoom(type))
    hints.refused(type, queues.backlogOf(type))
  }

  /** How many more jobs of a type may be handed over now, by the leases of the registered workers. */
  handOverRoom(type: string): number {
    this.write()
    const { sql, claims, queues } = this.tables
    const leased = claims.countByWorker()
    const workers = sql.all('workers').map(([id, text, seenAt]) => {
      return { info: JSON.parse(text) as WorkerInfo, silentMs: this.now - seenAt, leasedCount: leased.get(id) ?? 0 }
    })
    return handOverRoom(type, workers, (each) => queues.known(each))
  }

  // ── later ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes all rows that have changed, if there is a new one among them. */
  writeNew(): void {
    if (this.hasNew) this.write()
  }

  /** Writes all rows that have changed. */
  write(): void {
    if (this.rows.length === 0) return
    const { rows } = this
    const { plainEnds } = this
    const { sql, cache } = this.tables
    this.rows = []
    this.hasNew = false
    let removed: Row[] | null = null
    for (const row of rows) {
      const was = row.change as RowChange
      if (was.isRemoved) (removed ??= []).push(row)
      else {
        writeRow(sql, plainEnds, row, was)
        this.writePlace(row, was)
      }
      if (was.added !== null && was.added.messages.length > 0) this.messagesAdded(row)
      if (isFoundByMore(row, was)) this.writeBeside(row, was)
      row.change = null
      this.spare.push(was)
      if (was.wasLeased && !row.isLeased) cache.left(row)
    }
    plainEnds.write()
    if (removed !== null) this.remove(removed)
  }

  /** What has changed is not written: after a rollback. */
  forget(): void {
    for (const row of this.rows) row.change = null
    this.plainEnds.forget()
    this.rows = []
    this.hasNew = false
  }

  /** Writes where a row is found: by its lease, among those that wait, or among the ended ones. */
  private writePlace(row: Row, was: RowChange): void {
    const { claims, ends, waiting } = this.tables
    const { isLeased } = row
    if (was.wasLeased !== isLeased) {
      if (isLeased) claims.begin(row)
      else claims.end(row.seq)
    } else if (isLeased && row.wakeAt !== null && was.wakeAt !== row.wakeAt) claims.extend(row.seq, row.wakeAt)
    waiting.move(row, row.state === claimable)
    const { state } = was
    if (was.ended === row.ended && state === row.state) return
    if (state !== null && isEnded(state)) ends.remove(row, state, was.lastSeq)
    if (row.isEnded) ends.add(row.queue.number, row.state, row.seq)
  }

  private remove(rows: readonly Row[]): void {
    const { ends, queues, retention, cache } = this.tables
    const removed = rows.map(({ seq, isMachine, storedTags }) => ({ seq, isMachine, tags: storedTags }))
    this.removeJobs(removed, oldestOf(this.tables) - 1)
    for (const row of rows) {
      const { id, queue, state, lastSeq } = row
      ends.remove(row, state, lastSeq)
      queues.count(queue, state, -1)
      retention.changed(queue.number)
      cache.delete(id)
    }
  }

  /**
   * Removes ended jobs, and what is kept beside their rows: one statement for each table serves any number of them.
   * @param logged the ids of jobs with a transition after this number are kept for the log; Infinity = none has one
   */
  removeJobs(jobs: readonly RemovedJob[], logged: number): void {
    const { sql, cache, machines } = this.tables
    for (const { seq } of jobs) cache.meet(seq)
    const numbers = numbersOf(jobs)
    if (logged < Infinity) sql.run('addGone', numbers, logged)
    sql.run('removeSteps', numbers)
    sql.run('removeMeta', numbers)
    sql.run('removeJobs', numbers)
    sql.run('removeLives', numbers)
    const withMachine = jobs.filter(({ isMachine }) => isMachine)
    if (withMachine.length > 0) machines.remove(numbersOf(withMachine))
    for (const { seq, tags } of jobs) if (tags !== null) sql.run('forgetTags', seq, tags)
  }

  private messagesAdded({ id, isLeased }: Row): void {
    const { hints, inboxWatch } = this.tables
    inboxWatch.posted()
    if (isLeased) hints.messagesArrived(id)
  }

  /** Writes what follows from a change of a row beside its state: what it is counted and found by. */
  private writeBeside(row: Row, was: RowChange): void {
    const { machines, keyGroups, failures, hints } = this.tables
    const { queue } = row
    const to = was.isRemoved ? null : row.state
    if (row.machineCell !== null) machines.count(row, was)
    if (queue.hasKeyGroup(row.concurrencyKey)) keyGroups.moved(queue, row, was, to)
    const diedOf = was.state === 'dead' ? was.failure : null
    const diesOf = to === 'dead' ? row.rarely.failure : null
    if (diedOf !== diesOf || was.ended !== row.ended) {
      if (diedOf !== null) failures.countDead(queue.number, diedOf, was.ended?.at ?? 0, -1)
      if (diesOf !== null) failures.countDead(queue.number, diesOf, row.finishedAt ?? 0, 1)
    }
    const { dueAt } = row
    if (dueAt !== null && (was.wakeAt !== dueAt || was.state !== row.state)) hints.due(dueAt)
    if (row.key !== null && !row.holdsKey && to !== null && !isEnded(to)) this.hasLeaving = true
  }
}

interface RemovedJob {
  readonly seq: number
  readonly isMachine: boolean
  readonly tags: string | null
}

/** The numbers of jobs, as the JSON that the statements take. */
const numbersOf = (jobs: readonly RemovedJob[]): string => JSON.stringify(jobs.map(({ seq }) => seq))

/** Most jobs are counted and found by their states alone. */
const isFoundByMore = (row: Row, { failure }: RowChange): boolean =>
  row.rare !== null ||
  row.machineCell !== null ||
  row.key !== null ||
  row.dueAt !== null ||
  failure !== null ||
  row.queue.hasKeyGroup(row.concurrencyKey)
