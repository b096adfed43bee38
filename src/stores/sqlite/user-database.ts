/**
 * A database of the user, on the user's own connection: two SQLite libraries that have one file open in one process
 * undo each other's locks. Tables and indexes of the store have a prefix; tables,
 * pragmas, `application_id` and `user_version` of the user are left as they are.
 */
import { nanoid } from 'nanoid'
import { systemClock } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { SqliteDatabase } from '../../core/open-transaction.ts'
import { checkSqliteVersion } from './database.ts'
import type { Driver, StatementListener } from './driver.ts'
import { isBusy, newer, storeError } from './errors.ts'
import { checkPath } from './file-identity.ts'
import { applicationId, fileVersion, migrations } from './migrations/index.ts'
import { ownTables, prefixed, prefixedNames } from './prefix.ts'
import { Statements } from './statements.ts'
import { userDriver, type UserDriver } from './user-driver.ts'

/** How long the tables wait for other processes, ms: they may be making them. */
const openBusyMs = 5_000
const triesMs = 5

export class UserDatabase {
  readonly database: SqliteDatabase
  readonly path: string
  readonly sql: Statements
  /** Of this store on this connection. */
  readonly id = nanoid()
  private readonly driver: UserDriver
  readonly prefix: string

  /** Makes the tables, unless they are there. @throws JobchartError INVALID_OPTION, UNSUPPORTED, STORE_UNAVAILABLE */
  constructor(database: SqliteDatabase, prefix: string, listener: StatementListener | undefined) {
    this.database = database
    this.prefix = prefix
    this.driver = userDriver(database)
    const { driver } = this
    if (!driver.isOpen) throw closedDatabase()
    if (driver.path === null || driver.path === '') throw inMemory()
    this.path = driver.path
    this.sql = new Statements({ prepare: (sql) => driver.prepare(prefixed(sql, prefix)) }, listener)
    this.checkIdle()
    try {
      this.check()
      waitFor(() => this.makeTables())
      this.exec(`CREATE TABLE IF NOT EXISTS ${this.stores} (id TEXT PRIMARY KEY)`)
      this.exec(`INSERT INTO ${this.stores} VALUES ('${this.id}')`)
    } catch (error) {
      throw storeError(error, this.path)
    }
  }

  /** Is a transaction of the user open? Then nothing of the store may touch the connection. */
  get isInTransaction(): boolean {
    return this.driver.isOpen && this.driver.isTransaction
  }

  /** @throws JobchartError STORE_UNAVAILABLE */
  checkOpen(): void {
    if (!this.driver.isOpen) throw closedDatabase()
  }

  /**
   * Opens the store on the connection: what a store remembers of its tables holds as long as nobody else writes them,
   * and other writers on the same connection are not noticed.
   * @throws JobchartError STORE_UNAVAILABLE, UNSUPPORTED
   */
  open(): Driver {
    this.checkOpen()
    this.checkIdle()
    const { driver, prefix, database } = this
    // On the object of the library: what a statement writes goes back with a transaction of the user.
    const mark = Symbol.for(`jobchart ${prefix}`)
    const opened: unknown = Reflect.get(database, mark)
    if (opened !== undefined && opened !== this.id) {
      throw new JobchartError('UNSUPPORTED', `another store is open on this connection to ${this.path}`, {
        hint: 'Make one store, and pass it to all clients and runtimes.',
      })
    }
    Reflect.set(database, mark, this.id)
    return {
      prepare: (sql) => driver.prepare(prefixed(sql, prefix)),
      get isTransaction() {
        return driver.isTransaction
      },
      close: () => {
        Reflect.deleteProperty(database, mark)
      },
    }
  }

  /** The stores of this connection. A temporary table hides one of the user that has its name: none has a space. */
  private get stores(): string {
    return `temp."${this.prefix} stores"`
  }

  /** A query that only this connection answers with the id of the store. */
  get identityQuery(): string {
    return `SELECT id FROM ${this.stores} WHERE id = '${this.id}'`
  }

  /** Ends the transaction of the user, so that it cannot be committed. */
  rollBack(): void {
    this.driver.exec('ROLLBACK')
  }

  private checkIdle(): void {
    if (!this.isInTransaction) return
    throw new JobchartError('STORE_UNAVAILABLE', `a transaction is open on the connection to ${this.path}`, {
      hint: 'Make and open the store before transactions begin, or after their ends.',
    })
  }

  /** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE */
  private check(): void {
    checkPath(this.path)
    checkSqliteVersion(String(this.first('SELECT sqlite_version()')), 'the library of `database`')
    const mode = this.first('PRAGMA journal_mode')
    if (mode !== 'wal') {
      throw new JobchartError('UNSUPPORTED', `${this.path} is not in WAL mode (it is ${String(mode)})`, {
        hint: 'Run PRAGMA journal_mode = WAL on your connection once: the file stays in it.',
      })
    }
    if (this.first('PRAGMA application_id') !== applicationId) return
    throw new JobchartError('UNSUPPORTED', `${this.path} is a file of a store of its own`, {
      hint: 'Open it with sqliteStore({ path }), or pass a database with tables of yours.',
    })
  }

  /** All that is lacking is one transaction: one of several processes makes it, the others find it. */
  private makeTables(): void {
    if (this.version() === fileVersion) return
    this.driver.exec('BEGIN IMMEDIATE')
    try {
      const version = this.version()
      if (version === null) this.exec(ownTables)
      for (const step of migrations.slice(version ?? 0)) this.exec(step)
      this.exec(`UPDATE meta SET version = ${fileVersion}`)
      this.driver.exec('COMMIT')
    } catch (error) {
      if (this.driver.isTransaction) this.driver.exec('ROLLBACK')
      throw error
    }
  }

  /** The version of the tables; null if there are none. @throws JobchartError UNSUPPORTED */
  private version(): number | null {
    const meta = `${this.prefix}meta`
    const names = prefixedNames(this.prefix).map((name) => `'${name}'`)
    const there = this.all(`SELECT name FROM main.sqlite_master WHERE name COLLATE NOCASE IN (${names.join(', ')})`)
    if (there.length === 0) return null
    const columns = this.all(`SELECT name FROM pragma_table_info('${meta}') ORDER BY name`)
    if (columns.join(' ') !== 'application version') throw this.foreign(String(there[0]))
    const row = this.driver.prepare(`SELECT application, version FROM ${meta}`).get() as [string, number] | undefined
    if (row?.[0] !== 'jobchart') throw this.foreign(meta)
    const [, version] = row
    if (version > fileVersion) throw newer(this.path, version, fileVersion)
    return version
  }

  private foreign(name: string): JobchartError {
    return new JobchartError('UNSUPPORTED', `${this.path} has a table or an index ${name} that is not of this store`, {
      hint: 'Pass another prefix: sqliteStore({ database, prefix }).',
    })
  }

  private exec(sql: string): void {
    this.driver.exec(prefixed(sql, this.prefix))
  }

  private first(sql: string): unknown {
    return this.all(sql)[0]
  }

  /** The first column of the rows. */
  private all(sql: string): unknown[] {
    return (this.driver.prepare(sql).all() as unknown[][]).map(([value]) => value)
  }
}

/** Waits for locks of other processes, as SQLite does where it is told to: this happens once. */
function waitFor(act: () => void): void {
  const end = systemClock.monotonic() + openBusyMs
  const cell = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return act()
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= end) throw error
      Atomics.wait(cell, 0, 0, triesMs)
    }
  }
}

const closedDatabase = (): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', 'the `database` of the store is closed', {
    hint: 'Stop runtimes and close clients first, then the database.',
  })

const inMemory = (): JobchartError =>
  new JobchartError('UNSUPPORTED', 'the `database` of the store is in memory', {
    hint: 'Open a file, also in tests: jobs are kept in it. memoryStore() keeps jobs without a database.',
  })
