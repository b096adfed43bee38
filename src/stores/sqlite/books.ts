/**
 * The books of the store within one transaction: a job is entered, moved and removed here and nowhere else, so that its
 * row, the counts, the lanes, the log and the hints always tell the same story.
 *
 * What is remembered between transactions (queues, the number of the last move) is good as long as no other process has
 * written to the file, which SQLite tells for the price of a look (`data_version`).
 */
import { recordError, type ErrorRecord } from '../../job/failure.ts'
import type { HistoryEntry } from '../../job/job.ts'
import { countersAfter, nextArrow, statesTagged, type ArrowEvent, type JobState } from '../../job/lifecycle.ts'
import type { Hint, Move } from '../../store.ts'
import { isBusy, isFileFault, storeError } from './errors.ts'
import { Hints } from './hints.ts'
import type { PackedJob } from './insert.ts'
import { Lanes } from './lanes.ts'
import { Mail } from './letters.ts'
import { enterMachine, removeMachines, spare } from './machine.ts'
import type { Queue } from './queue.ts'
import { Queues } from './queues.ts'
import { born, packSettled, settledOf, withMove } from './history.ts'
import { Moves } from './log.ts'
import type { Row } from './row.ts'
import { Rows } from './rows.ts'
import { claimable } from './schema.ts'
import type { Statements } from './statements.ts'

const held = statesTagged('held')
const timed = statesTagged('timed')
const ended = statesTagged('ended')

/** Entries by which the log may be longer than its cap before the oldest are removed. */
const logSlack = 1_000

/** What a move needs to know besides its event. */
export interface Circumstances {
  readonly reason?: string | null | undefined
  readonly fatal?: boolean | undefined
  /** When a timed state is to end; null = it waits for an event. */
  readonly dueAt?: number | null
}

/** What must be known of a job to remove it. */
export type Removable = Pick<Row, 'seq' | 'queue' | 'state' | 'spared'>

export class Books {
  readonly sql: Statements
  readonly hints = new Hints()
  readonly rows: Rows
  readonly lanes: Lanes
  readonly queues: Queues
  readonly mail: Mail
  readonly transitionsMax: number
  /** The time of this transaction. */
  now = 0
  /** The number of the last move. */
  seq = 0
  private firstSeq = 1
  private logTrimmedTo = 0
  /** The moves of this transaction. */
  private moves = new Moves()

  /** Is each item of a call to fail alone? Costs statements of its own, and so only where a call has failed. */
  private careful = false
  private readonly path: string

  constructor(sql: Statements, transitionsMax: number, path: string) {
    this.sql = sql
    this.path = path
    this.transitionsMax = transitionsMax
    this.rows = new Rows(sql)
    this.lanes = new Lanes(sql)
    this.queues = new Queues(sql)
    this.mail = new Mail(sql, this.hints)
  }

  /**
   * Begins with what the file says now.
   * @param stale has another process written to it?
   * @param careful is each item of a call to fail alone?
   */
  begin(now: number, stale: boolean, careful: boolean): void {
    this.now = now
    this.careful = careful
    if (stale) {
      this.queues.doubt()
      this.rows.forget()
      this.seq = this.sql.get('lastSeq')?.[0] ?? 0
    }
    this.firstSeq = this.seq + 1
    this.moves = new Moves()
  }

  /** Writes what was kept back until the end. */
  finish(): void {
    const { sql, seq, moves } = this
    this.queues.write()
    this.mail.finish()
    if (moves.none) return
    sql.run('append', seq, this.firstSeq, this.now, moves.toString())
    const oldest = seq - this.transitionsMax
    if (oldest - this.logTrimmedTo < logSlack) return
    sql.run('forgetLog', oldest)
    this.logTrimmedTo = oldest
  }

  /** The wake-ups that committed transactions have given rise to. */
  takeHints(): Hint[] {
    return this.hints.take(() => this.queues.backlog())
  }

  /** Forgets what a transaction that was rolled back has led to believe. */
  forget(): void {
    this.queues.forget()
    this.mail.forget()
    this.rows.forget()
    this.hints.forget()
  }

  /** Answers item by item. Where a call has failed before, an item that throws fails alone: nothing of it has happened. */
  each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
    if (!this.careful) return items.map(act)
    return items.map((item) => {
      try {
        // Never null: what an item is answered is an object or a list.
        return this.attempt(() => act(item)) as A
      } catch (error) {
        if (isBusy(error) || isFileFault(error)) throw error
        return failed(recordError(storeError(error, this.path)), item)
      }
    })
  }

  /** Does something, all or nothing within the transaction: if `act` gives null or throws, nothing of it has happened. */
  attempt<T>(act: () => T | null): T | null {
    const { seq, moves } = this
    this.sql.run('mark')
    const outer = this.queues.mark()
    this.moves = new Moves()
    let done: T | null = null
    try {
      done = act()
    } finally {
      if (done === null) {
        this.sql.run('backToMark')
        this.rows.forget()
        this.seq = seq
      } else moves.append(this.moves)
      this.sql.run('forgetMark')
      this.moves = moves
      this.queues.endMark(outer, done !== null)
    }
    return done
  }

  /** ENQUEUE, the number of which it answers; null if there is a job of that id. Its key, if any, is free. */
  enter(job: PackedJob, state: JobState, dueAt: number | null): number | null {
    const queue = this.queues.of(job.type)
    const { id, priority, maxAttempts, key, concurrencyKey } = job
    const seq = this.seq + 1
    const isNew = this.sql.changes('add', seq, id, queue.number, state, priority, maxAttempts, dueAt, this.now, key,
      concurrencyKey, job.input, job.tags, born(state)) // prettier-ignore
    if (!isNew) return null
    if (job.parent !== null || job.checkpoint !== null) enterMachine(this, seq, job)
    this.seq = seq
    this.queues.count(queue, state, 1)
    if (concurrencyKey !== null) {
      queue.keyed = true
      if (state === claimable) this.lanes.arrive(queue, concurrencyKey, priority, seq)
    }
    this.log(queue, id, { seq, at: this.now, event: 'ENQUEUE', from: null, to: state, attempt: 0 })
    if (dueAt !== null) this.hints.due(dueAt)
    return seq
  }

  /**
   * Moves a job along an arrow of the chart, which must exist, and writes its row.
   * @param finish what else is to be written with the move
   */
  move(
    row: Row,
    event: ArrowEvent,
    { reason, fatal, dueAt = null }: Circumstances = {},
    finish?: (entry: HistoryEntry) => void,
  ): HistoryEntry {
    const arrow = nextArrow(row.state, event, row, fatal)
    if (arrow === null) throw new TypeError(`job ${row.id}: the chart has no ${event} from ${row.state}`)
    const { from, to } = arrow
    const queue = this.queues.at(row.queue)
    // What an ended job's token tells would be lost.
    if (ended.has(from) && row.settled === null) row.settled = packSettledOf(row)
    const seq = ++this.seq
    if (arrow.counting !== null) {
      const counters = countersAfter(arrow, row)
      row.attempt = counters.attempt
      row.generation = counters.generation
      if (row.spared !== null && row.attempt === 0) spare(this, row, 0)
    }
    const [wasHeld, isHeld] = [held.has(from), held.has(to)]
    row.state = to
    row.moved = seq
    row.dueAt = timed.has(to) ? dueAt : null
    if (!isHeld) row.leaseAt = row.token = null
    row.finishedAt = ended.has(to) ? this.now : null
    // Who comes back from a worker's hands stands where it stood; everybody else goes to the end.
    if (to === claimable && !wasHeld) row.place = seq
    if (ended.has(to)) row.heldKey = null
    else if (ended.has(from)) row.heldKey = row.key
    const entry: HistoryEntry = {
      seq,
      at: this.now,
      event,
      from,
      to,
      attempt: row.attempt,
      ...((wasHeld || isHeld) && row.worker !== null && { worker: row.worker }),
      ...(typeof reason === 'string' && { reason }),
    }
    row.history = withMove(row, entry)
    finish?.(entry)
    if (isHeld && !wasHeld) this.rows.writeClaim(row)
    else if (wasHeld && ended.has(to)) this.rows.writeEnd(row)
    else this.rows.write(row)
    this.queues.count(queue, from, -1)
    this.queues.count(queue, to, 1)
    if (row.concurrencyKey !== null) this.lanes.moved(queue, row, row.concurrencyKey, from)
    this.log(queue, row.id, entry)
    if (row.dueAt !== null) this.hints.due(row.dueAt)
    return entry
  }

  /** CHECKPOINT: a held job stays where it is, and the log tells why. Gives the number of the entry. */
  rest(row: Row, note: string): number {
    const seq = ++this.seq
    const { state, attempt, worker } = row
    const entry: HistoryEntry = {
      seq,
      at: this.now,
      event: 'CHECKPOINT',
      from: state,
      to: state,
      attempt,
      reason: note,
    }
    this.moves.add(row.queue, row.id, worker === null ? entry : { ...entry, worker })
    return seq
  }

  /** The move of a row, for those who are told. */
  told(row: Row, entry: HistoryEntry): Move {
    return { id: row.id, type: this.queues.at(row.queue).type, ...entry }
  }

  /** Removes ended jobs for good, and all that is kept of them. */
  remove(jobs: readonly Removable[]): void {
    if (jobs.length === 0) return
    this.sql.run('removeSteps', numbersOf(jobs))
    this.sql.run('remove', numbersOf(jobs))
    const machines = jobs.filter(({ spared }) => spared !== null)
    if (machines.length > 0) removeMachines(this, numbersOf(machines))
    for (const { queue, state } of jobs) this.queues.count(this.queues.at(queue), state, -1)
  }

  private log(queue: Queue, id: string, entry: HistoryEntry): void {
    this.moves.add(queue.number, id, entry)
    this.hints.moved(queue, id, entry.from, entry.to)
  }
}

/** As JSON, so that one statement serves any number of them. */
const numbersOf = (jobs: readonly Removable[]): string => JSON.stringify(jobs.map(({ seq }) => seq))

function packSettledOf(row: Row): string | null {
  const settled = settledOf(row)
  return settled === null ? null : packSettled(settled)
}
