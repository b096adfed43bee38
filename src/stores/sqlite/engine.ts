/**
 * The engine: runs what was asked in one turn in one transaction (group commit), so that a hundred calls share one write
 * to the disk. All or nothing: what is answered is on the disk, and when a commit fails nothing of it has happened.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Hint } from '../../store.ts'
import { FileUnit } from './unit.ts'
import { openDatabase, type FileOptions } from './database.ts'
import { isBusy, isCorrupt, isTrouble, isUnsupported, newer, removed, storeError } from './errors.ts'
import { catchUp } from './catch-up.ts'
import { fileVersion } from './migrations/index.ts'
import { OpenFiles } from './open-files.ts'
import { Statements, type StatementListener } from './statements.ts'
import { perform, writes, type Call } from './operations.ts'

export interface EngineOptions extends FileOptions {
  readonly transitionsMax: number
  readonly onStatement?: StatementListener | undefined
}

/** How one call went. */
export type Reply = { readonly answer: unknown } | { readonly error: unknown }

/**
 * How a list of calls went: replies to the first of them, the others were not begun · another process was writing, and
 * nothing has happened · the file failed, and nothing has happened.
 */
export type Outcome =
  | { readonly kind: 'done'; readonly replies: readonly Reply[]; readonly hints: readonly Hint[] }
  | { readonly kind: 'busy'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }

interface Connection {
  readonly db: DatabaseSync
  readonly sql: Statements
  readonly unit: FileUnit
  /** The version of the file when it was last looked at; null = unknown. */
  version: number | null
}

export class Engine {
  private connection: Connection | null = null
  /** Has the file been found whole? Opened anew because of a full disk, it need not be read from end to end each time. */
  private whole = false
  /** Of the last connection; null before the first opening. */
  private files: OpenFiles | null = null
  /** Why this process must not use the file any more. */
  private cutOff: Error | null = null
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
   * Runs calls in one transaction, in order, until `enough`. If one fails for a reason of its own, the first has one of its
   * own, in which each of its items may fail alone.
   */
  run(calls: readonly Call[], now: number, enough: () => boolean, careful = false): Outcome {
    try {
      this.checkThere()
      if (calls.some(writes)) this.checkBeside()
      this.connected()
    } catch (error) {
      return { kind: 'failed', error }
    }
    try {
      return { kind: 'done', replies: this.transaction(calls, now, enough, careful), hints: this.takeHints() }
    } catch (error) {
      const told = storeError(error, this.options.path)
      if (isBusy(error)) return { kind: 'busy', error: told }
      if (isFileFault(error)) return { kind: 'failed', error: told }
      if (careful || calls.length === 0) return { kind: 'done', replies: [{ error: told }], hints: [] }
      return this.run(calls.slice(0, 1), now, enough, true)
    }
  }

  /** Has another process written to the file since the last look? Then its moves become hints; null if it has not. */
  poll(now: number): readonly Hint[] | null {
    const { connection } = this
    if (connection === null) return null
    // Whatever is wrong, the next call meets it too, and has somebody to tell.
    try {
      if (connection.sql.get('version')?.[0] === connection.version) return null
    } catch {
      return null
    }
    const outcome = this.run([], now, () => true)
    return outcome.kind === 'done' ? outcome.hints : []
  }

  private transaction(calls: readonly Call[], now: number, enough: () => boolean, careful: boolean): Reply[] {
    const connection = this.connected()
    const { sql, unit } = connection
    const changes = calls.some(writes)
    sql.run(changes ? 'begin' : 'beginReading')
    try {
      this.look(connection, now, careful)
      const replies: Reply[] = []
      for (const call of calls) {
        replies.push(this.reply(unit, call))
        if (enough()) break
      }
      if (changes) unit.finish()
      else unit.rows.finish()
      sql.run('commit')
      return replies
    } catch (error) {
      this.rollBack(connection, error)
      throw error
    }
  }

  /** A call that only reads may fail alone. */
  private reply(unit: FileUnit, call: Call): Reply {
    if (writes(call)) return { answer: perform(unit, call) }
    try {
      return { answer: perform(unit, call) }
    } catch (error) {
      if (isBusy(error) || isFileFault(error)) throw error
      return { error: storeError(error, this.options.path) }
    }
  }

  private takeHints(): Hint[] {
    return this.connection === null ? [] : this.connection.unit.takeHints()
  }

  private connected(): Connection {
    if (this.connection !== null) return this.connection
    const db = openDatabase(this.options, !this.whole)
    this.whole = true
    this.files = new OpenFiles(this.options.path)
    const sql = new Statements(db, this.options.onStatement)
    const unit = new FileUnit(sql, this.options.transitionsMax, this.options.path)
    return (this.connection = { db, sql, unit, version: null })
  }

  /**
   * A database that was removed is missed; one that has taken its place, such as a backup, is opened.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  private checkThere(): void {
    if (this.cutOff !== null) throw this.cutOff
    if (this.files === null) return
    const isSame = this.files.isSame()
    if (isSame === true) return
    this.close()
    this.whole = false
    if (isSame === null) throw removed(this.options.path)
  }

  /**
   * Without its log or its shared memory this process is cut off from those that open the file from now on: it closes it,
   * which saves the log if no other process has the file open, and does not open it again. Asked before each write.
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

  /** Begins the unit with what the file says now. */
  private look(connection: Connection, now: number, careful: boolean): void {
    const { sql, unit } = connection
    const version = sql.get('version')?.[0] ?? null
    const { seq } = unit
    const stale = version !== connection.version
    if (stale) this.checkNotMigrated(sql)
    unit.begin(now, stale, careful)
    if (stale) catchUp(unit, connection.version === null ? null : seq)
    connection.version = version
  }

  /** A newer jobchart may have opened the file since: rows of the present form must not be written to its tables. */
  private checkNotMigrated(sql: Statements): void {
    const [version] = sql.get('fileVersion') ?? [0]
    if (version > fileVersion) throw newer(this.options.path, version, fileVersion)
  }

  private rollBack(connection: Connection, error: unknown): void {
    const { db, sql, unit } = connection
    unit.forget()
    connection.version = null
    if (isCorrupt(error)) this.whole = false
    try {
      if (db.isTransaction) sql.run('rollback')
    } catch {
      // A connection that cannot even roll back is of no more use; closing it does so too, and `error` says why.
      this.close()
      return
    }
    if (isFileFault(error)) this.close()
  }
}

/** What befell the file itself, whichever call met it. */
const isFileFault = (error: unknown): boolean => isTrouble(error) || isCorrupt(error) || isUnsupported(error)
