/** Databases of a user, on either library. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import BetterSqlite3 from 'better-sqlite3'
import type { SqliteDatabase } from 'jobchart/sqlite'

export interface UserDatabaseOfTest {
  readonly database: SqliteDatabase
  readonly exec: (sql: string) => void
  /** The rows of a query, as lists. */
  readonly rows: (sql: string) => unknown[][]
  readonly close: () => void
}

export interface SqliteLibrary {
  readonly name: string
  /** @param path of a file, which gets into WAL mode */
  readonly open: (path: string) => UserDatabaseOfTest
}

const setUp = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL'

const nodeSqlite: SqliteLibrary = {
  name: 'node:sqlite',
  open(path) {
    const database = new DatabaseSync(path)
    database.exec(setUp)
    return {
      database,
      exec: (sql) => database.exec(sql),
      rows: (sql) => database.prepare(sql).all().map(Object.values),
      close: () => database.close(),
    }
  },
}

const betterSqlite3: SqliteLibrary = {
  name: 'better-sqlite3',
  open(path) {
    // What it waits for other processes is the default of node:sqlite, too.
    const database = new BetterSqlite3(path, { timeout: 0 })
    database.exec(setUp)
    return {
      database,
      exec: (sql) => void database.exec(sql),
      rows: (sql) => database.prepare(sql).raw().all() as unknown[][],
      close: () => void database.close(),
    }
  },
}

export const sqliteLibraries: readonly SqliteLibrary[] = [nodeSqlite, betterSqlite3]

export const inFolder = (folder: string, name = 'own.db'): string => join(folder, name)
