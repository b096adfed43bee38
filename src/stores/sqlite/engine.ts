/**
 * The engine: runs the calls of one turn in one transaction (group commit), so that they share one sync of the disk. An
 * answered call is on the disk; if the commit fails, no call of the transaction has had an effect.
 */
import type { Hint, Lease, Standing } from '../../store.ts'
import { confirm } from '../../core/confirm.ts'
import { JobchartError } from '../../core/errors.ts'
import { JobFile } from './job-file.ts'
import { setAside } from './aside.ts'
import { openDatabase, type FileOptions } from './database.ts'
import { driverOf, type Driver, type StatementListener } from './driver.ts'
import { isBusy, isCorrupt, isFileFault, isUnreadable, newer, removed, storeError } from './errors.ts'
import { catchUp } from './catch-up.ts'
import { fileVersion } from './migrations/index.ts'
import { OpenFiles } from './open-files.ts'
import { prefixedNames } from './prefix.ts'
import { forgetStatistics } from './statistics.ts'
import { Statements } from './statements.ts'
import { perform, writes, type Call } from './operations.ts'
import type { UserDatabase } from './user-database.ts'
import { carryOutFirst, carryOutMax } from './carry-out.ts'
import type { UserTransactions } from './user-transactions.ts'

export interface EngineOptions extends FileOptions {
  readonly transitionsMax: number
  readonly onStatement?: StatementListener | undefined
  /** Of a store in a database of the user. */
  readonly shared?: { readonly user: UserDatabase; readonly transactions: UserTransactions } | undefined
}

/** The answer of a call, or its error. */
export type Reply = { readonly answer: unknown } | { readonly error: unknown }

/**
 * The outcome of a list of calls. `done`: replies to the first of them, the others were not begun · `busy`: another
 * process was writing, and no call had an effect · `failed`: the file failed, and no call had an effect.
 */
export type Outcome =
  | { readonly kind: 'done'; readonly replies: readonly Reply[]; readonly hints: readonly Hint[] }
  | { readonly kind: 'busy'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }

interface Connection {
  readonly db: Driver
  readonly sql: Statements
  readonly file: JobFile
  /** The version of the file when it was last looked at; null = unknown. */
  version: number | null
}

interface TransactionTerms {
  /** Does it write? */
  readonly changes: boolean
  readonly now: number
  /** May each item of a call fail alone? */
  readonly careful: boolean
  /** Does it make no hints of what other processes have written? The next one does. */
  readonly blind: boolean
}

export class Engine {
  private connection: Connection | null = null
  /** Was the file checked completely? If it is opened again because of a full disk, the check is not repeated. */
  private whole = false
  /** Of the last connection; null before the first opening. */
  private files: OpenFiles | null = null
  /** Why this process must not use the file any more. */
  private cutOff: Error | null = null
  /** The numbers of the jobs that the last transaction had come to, if it failed because something cannot be read. */
  private met: readonly number[] = []
  private readonly options: EngineOptions

  constructor(options: EngineOptions) {
    this.options = options
  }

  /** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE, STORE_CORRUPT */
  open(): void {
    this.connected()
  }

  close(): void {
    const { connection } = this
    this.connection = null
    connection?.db.close()
  }

  /**
   * Runs calls in one transaction, in order, until `enough`. If that fails, but not because of the file, the first call
   * is run in a transaction of its own, in which each of its items may fail alone.
   */
  run(calls: readonly Call[], now: number, enough: () => boolean, careful = false): Outcome {
    if (this.options.shared?.user.isInTransaction === true) return { kind: 'busy', error: held(this.options.path) }
    try {
      this.options.shared?.user.checkOpen()
      this.checkThere()
      if (calls.some(writes)) this.checkBeside()
      const connection = this.connected()
      // Every runtime rescues about once a second.
      if (calls.some(({ method }) => method === 'rescue')) this.forgetStatistics(connection.db)
    } catch (error) {
      return { kind: 'failed', error }
    }
    try {
      const changes = this.carryOutBacklog(now, careful) || calls.some(writes)
      const work = (file: JobFile): Reply[] => this.replies(file, calls, enough, careful)
      // What cannot be read may be what hints are made of.
      const blind = careful && calls[0]?.method === 'repair'
      const replies = this.transaction({ changes, now, careful, blind }, work)
      return { kind: 'done', replies, hints: this.connection?.file.takeHints() ?? [] }
    } catch (failure) {
      let error: unknown = failure
      try {
        if (this.setAsideMet(now)) return this.run(calls, now, enough, careful)
      } catch (other) {
        if (isBusy(other) || isFileFault(other)) error = other
      }
      const reported = storeError(error, this.options.path)
      if (isBusy(error)) return { kind: 'busy', error: reported }
      if (isFileFault(error)) return { kind: 'failed', error: reported }
      if (careful) return { kind: 'done', replies: [{ error: reported }], hints: [] }
      return this.run(calls.slice(0, 1), now, enough, true)
    }
  }

  /**
   * Runs a call that only reads. If no other process has written since the last transaction, what is remembered is what
   * is stored: then it needs no transaction.
   */
  readNow(call: Call, now: number): Outcome {
    const { connection } = this
    try {
      if (connection !== null && this.isCurrent(connection)) {
        return { kind: 'done', replies: [{ answer: perform(connection.file, call) }], hints: [] }
      }
    } catch {
      // It fails in the transaction, too, and is reported there.
    }
    return this.run([call], now, () => true)
  }

  /**
   * The state of a claimed job within a transaction of the user, who has written in it. What is remembered is read
   * again if another process has written before.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  standingWithin(lease: Lease, now: number): Standing {
    const connection = this.connected()
    const { sql, file } = connection
    if (sql.get('version')?.[0] !== connection.version) {
      file.cache.begin()
      file.begin(now, true, false)
      connection.version = null
    }
    return confirm(file.unit, lease)
  }

  /** Hints of what another process has written to the file since the last poll; null if it has not. */
  poll(now: number): readonly Hint[] | null {
    const { connection } = this
    if (connection === null || this.options.shared?.user.isInTransaction === true) return null
    // The next call fails for the same reason, and reports it to its caller.
    try {
      if (this.isCurrent(connection)) return null
    } catch {
      return null
    }
    const outcome = this.run([], now, () => true)
    return outcome.kind === 'done' ? outcome.hints : []
  }

  private transaction<T>({ changes, ...terms }: TransactionTerms, work: (file: JobFile) => T): T {
    const connection = this.connected()
    const { sql, file } = connection
    sql.run(changes ? 'begin' : 'beginReading')
    file.cache.begin()
    try {
      this.look(connection, terms)
      const { shared } = this.options
      if (changes && shared !== undefined) carryOutFirst(file, shared.user.id)
      const answer = work(file)
      file.hints.checkSlots((type) => file.writer.handOverRoom(type))
      if (changes) file.finish()
      sql.run('commit')
      file.carriedOut.commit()
      return answer
    } catch (error) {
      this.met = isUnreadable(error) ? file.cache.allMet() : []
      this.rollBack(connection, error)
      throw error
    }
  }

  /** Is what is remembered what is stored, as far as other processes and transactions of the user go? */
  private isCurrent({ sql, version }: Connection): boolean {
    const { shared } = this.options
    if (shared !== undefined && (shared.user.isInTransaction || this.pending() > 0)) return false
    return sql.get('version')?.[0] === version
  }

  /** How many calls in transactions of the user wait to be carried out; a few more than one transaction does. */
  private pending(): number {
    return this.connection?.sql.get('countIntents', carryOutMax + 1)?.[0] ?? 0
  }

  /**
   * Carries out calls in transactions of the user until the next transaction can do the rest.
   * @returns is there a rest?
   */
  private carryOutBacklog(now: number, careful: boolean): boolean {
    const { shared } = this.options
    if (shared === undefined) return false
    shared.transactions.decide()
    let pending = this.pending()
    for (; pending > carryOutMax; pending = this.pending())
      this.transaction({ changes: true, now, careful, blind: false }, () => null)
    return pending > 0
  }

  private replies(file: JobFile, calls: readonly Call[], enough: () => boolean, careful: boolean): Reply[] {
    const replies: Reply[] = []
    for (const call of calls) {
      replies.push(this.reply(file, call, careful))
      if (enough()) break
    }
    return replies
  }

  /**
   * Sets those jobs aside that the last transaction has come to and that cannot be read, if it failed because something
   * cannot be.
   * @returns are there any?
   */
  private setAsideMet(now: number): boolean {
    const { met } = this
    this.met = []
    if (met.length === 0 || this.connection === null) return false
    return this.transaction({ changes: true, now, careful: false, blind: false }, (file) => {
      const ids = setAside(file, met)
      file.cache.unreadable.push(...ids)
      return ids.length > 0
    })
  }

  /** A call that only reads may fail alone. */
  private reply(file: JobFile, call: Call, careful: boolean): Reply {
    if (writes(call)) return { answer: perform(file, call) }
    try {
      return { answer: perform(file, call) }
    } catch (error) {
      if (isBusy(error) || isFileFault(error) || (isUnreadable(error) && !careful)) throw error
      return { error: storeError(error, this.options.path) }
    }
  }

  private connected(): Connection {
    if (this.connection !== null) return this.connection
    const { shared } = this.options
    const db = shared === undefined ? driverOf(openDatabase(this.options, !this.whole)) : shared.user.open()
    this.whole = true
    this.forgetStatistics(db)
    this.files = new OpenFiles(this.options.path)
    const sql = new Statements(db, this.options.onStatement)
    const file = new JobFile(sql, this.options.transitionsMax, this.options.path)
    return (this.connection = { db, sql, file, version: null })
  }

  /** While others write, they stay until the next time. */
  private forgetStatistics(db: Driver): void {
    try {
      forgetStatistics(db, prefixedNames(this.options.shared?.user.prefix ?? ''))
    } catch (error) {
      if (!isBusy(error)) throw error
    }
  }

  /**
   * Refuses a database that was removed; a file that has replaced it, such as a backup, is opened, but not with the log
   * of the one that was removed.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  private checkThere(): void {
    if (this.cutOff !== null) throw this.cutOff
    if (this.files === null) return
    const isSame = this.files.isSame()
    if (isSame === true) return
    this.close()
    this.whole = false
    // A connection of the user goes on with what was removed.
    if (this.options.shared !== undefined) throw (this.cutOff = removed(this.options.path))
    if (isSame === null || this.files.isLogLeft) throw removed(this.options.path)
  }

  /**
   * If the log or the shared memory was removed, processes that open the file later do not share them with this one.
   * Then this process closes the file, which saves the log if no other process has it open, and does not open it again.
   * Called before each write.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  private checkBeside(): void {
    if (this.connection === null) return
    try {
      this.files?.checkBeside()
    } catch (error) {
      this.cutOff = error as Error
      this.close()
      throw error
    }
  }

  /** Begins a unit of work with the current state of the file. */
  private look(connection: Connection, { now, careful, blind }: Omit<TransactionTerms, 'changes'>): void {
    const { sql, file } = connection
    const version = sql.get('version')?.[0] ?? null
    const { seq } = file
    const stale = version !== connection.version
    if (stale) this.checkNotMigrated(sql)
    file.begin(now, stale, careful)
    if (stale && !blind) catchUp(file, connection.version === null ? null : seq)
    connection.version = blind ? null : version
  }

  /** A newer jobchart may have opened the file since: rows of the present form must not be written to its tables. */
  private checkNotMigrated(sql: Statements): void {
    const [version] = sql.get('fileVersion') ?? [0]
    if (version > fileVersion) throw newer(this.options.path, version, fileVersion)
  }

  private rollBack(connection: Connection, error: unknown): void {
    const { db, sql, file } = connection
    file.forget()
    connection.version = null
    if (isCorrupt(error)) this.whole = false
    try {
      if (db.isTransaction) sql.run('rollback')
    } catch {
      // A connection that cannot roll back is closed, which rolls back as well; `error` is the cause.
      this.close()
      return
    }
    if (isFileFault(error)) this.close()
  }
}

/** A transaction of the user is open on the connection. */
const held = (path: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `a transaction is open on the connection of the store to ${path}`, {
    hint: 'Commit it soon: the store waits for it. Within it, call client.within(tx), or pass { tx }.',
  })
