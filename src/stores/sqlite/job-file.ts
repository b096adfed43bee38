/**
 * The file as operations work on it: a unit of the core over its tables, one database transaction at a time.
 *
 * What is cached between transactions (queues, leased rows, the number of the last transition) is valid as long as no
 * other process has written to the file, which `data_version` of SQLite shows.
 */
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import { Unit } from '../../core/unit.ts'
import type { Hint } from '../../store.ts'
import { isBusy, isFileFault, storeError } from './errors.ts'
import { CarriedOut } from './carried-out.ts'
import { Claims } from './claims.ts'
import { Ends } from './ends.ts'
import { FailureTable } from './failure-table.ts'
import { HeatTable } from './heat.ts'
import { Hints } from './hints.ts'
import { InboxWatch } from './inbox-watch.ts'
import { KeyGroups } from './key-groups.ts'
import { LogWriter } from './log.ts'
import { Machines } from './machines.ts'
import { Minutes } from './minutes.ts'
import { Retention } from './retention.ts'
import { Queues } from './queues.ts'
import type { Row } from './row.ts'
import { RowCache } from './row-cache.ts'
import { Rows } from './rows.ts'
import { ScheduleTable } from './schedules.ts'
import type { Statements } from './statements.ts'
import { Waiting } from './waiting.ts'
import { Writer } from './writer.ts'

export class JobFile {
  readonly sql: Statements
  readonly transitionsMax: number
  readonly hints = new Hints()
  readonly cache = new RowCache()
  readonly queues: Queues
  readonly machines: Machines
  readonly keyGroups: KeyGroups
  readonly inboxWatch: InboxWatch
  readonly schedules: ScheduleTable
  readonly failures: FailureTable
  readonly heat: HeatTable
  readonly minutes: Minutes
  readonly retention: Retention
  readonly claims: Claims
  readonly ends: Ends
  readonly waiting: Waiting
  readonly log: LogWriter
  readonly writer: Writer
  readonly rows: Rows
  readonly unit: Unit<Row>
  /** Of what transactions of the user have left. */
  readonly carriedOut = new CarriedOut()
  /** May each item of a call fail alone? This costs savepoints, and so is set only after a call has failed. */
  private careful = false
  private readonly path: string

  constructor(sql: Statements, transitionsMax: number, path: string) {
    this.path = path
    this.sql = sql
    this.transitionsMax = transitionsMax
    this.log = new LogWriter(sql, transitionsMax)
    this.queues = new Queues(sql)
    this.failures = new FailureTable(sql, this.queues)
    this.heat = new HeatTable(sql, this.queues)
    this.minutes = new Minutes(sql)
    this.retention = new Retention(sql)
    this.machines = new Machines(sql, this.queues)
    this.waiting = new Waiting(sql, this.queues)
    this.keyGroups = new KeyGroups(sql, this.queues, this.waiting)
    this.claims = new Claims(sql)
    this.ends = new Ends(sql)
    this.inboxWatch = new InboxWatch(sql, this.hints, this.claims)
    this.schedules = new ScheduleTable(sql, this.hints)
    this.writer = new Writer(this)
    this.rows = new Rows(this)
    this.unit = new Unit(this.rows, this.writer)
  }

  /** The time of the transaction. */
  get now(): number {
    return this.unit.now
  }

  /** The number of the last transition. */
  get seq(): number {
    return this.unit.seq
  }

  /**
   * Begins with the current state of the file.
   * @param stale has another process written to it?
   * @param careful may each item of a call fail alone?
   */
  begin(now: number, stale: boolean, careful: boolean): void {
    this.careful = careful
    this.carriedOut.begin()
    this.unit.now = now
    if (stale) {
      this.queues.markStale()
      this.retention.forget()
      this.cache.clear()
      this.claims.forget()
      this.unit.seq = this.sql.get('lastSeq')?.[0] ?? 0
    }
    this.log.begin(this.seq + 1)
    this.minutes.begin(this.seq + 1)
    this.writer.start(now)
    this.rows.begin(now)
    this.schedules.now = now
  }

  /** Writes the rows that have changed, and where they are found. */
  flush(): void {
    this.writer.write()
    this.waiting.write()
    this.claims.write()
    this.ends.write(this.seq, this.now)
  }

  /** Writes the changes that were delayed until the end of the transaction. */
  finish(): void {
    this.flush()
    this.retention.write()
    this.queues.write()
    this.heat.write(this.now)
    this.inboxWatch.finish()
    this.minutes.write(this.seq, this.now)
    this.log.write(this.seq, this.now)
  }

  /** Returns and removes the hints of committed transactions. */
  takeHints(): Hint[] {
    return this.hints.take((type) => this.queues.backlogOf(type))
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
    this.flush()
    this.sql.run('savepoint')
    this.queues.mark()
    this.heat.mark()
    this.log.mark()
    let done = false
    try {
      const answer = act()
      this.flush()
      done = true
      return answer
    } finally {
      if (!done) {
        this.sql.run('rollBackToSavepoint')
        this.forgetRows()
        this.unit.seq = seq
      }
      this.log.endMark(done)
      this.sql.run('releaseSavepoint')
      this.queues.endMark(done)
      this.heat.endMark(done)
    }
  }

  /** Empties the caches after a rollback. */
  forget(): void {
    this.forgetRows()
    this.queues.forget()
    this.heat.forget()
    this.inboxWatch.forget()
    this.hints.forget()
    this.retention.forget()
    this.minutes.forget()
  }
  private forgetRows(): void {
    this.writer.forget()
    this.cache.clear()
    this.waiting.forget()
    this.claims.forget()
    this.ends.forget()
  }
}
