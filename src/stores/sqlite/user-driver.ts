/** A connection of the user, of node:sqlite or better-sqlite3, as a driver. Neither library is imported. */
import { invalidOption } from '../../core/errors.ts'
import type { BetterSqlite3Database, NodeSqliteDatabase, SqliteDatabase } from '../../core/open-transaction.ts'
import type { Driver, SqlValue } from './driver.ts'

export interface UserDriver extends Omit<Driver, 'close'> {
  readonly isOpen: boolean
  /** The whole path of the file; null or empty of a database in memory. */
  readonly path: string | null
  exec(sql: string): void
}

/** @throws JobchartError INVALID_OPTION */
export function userDriver(database: SqliteDatabase): UserDriver {
  if (isNodeSqlite(database)) return ofNodeSqlite(database)
  if (isBetterSqlite3(database)) return ofBetterSqlite3(database)
  const hint = 'Pass a DatabaseSync of node:sqlite, or a Database of better-sqlite3; of Drizzle, its `$client`.'
  throw invalidOption('database', 'an open SQLite database', database, hint)
}

export const hasMethods = (value: unknown, ...methods: readonly string[]): value is object =>
  typeof value === 'object' &&
  value !== null &&
  methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')

export const isSqliteDatabase = (value: unknown): value is SqliteDatabase =>
  isNodeSqlite(value) || isBetterSqlite3(value)

const isNodeSqlite = (value: unknown): value is NodeSqliteDatabase =>
  hasMethods(value, 'prepare', 'exec', 'location') && 'isTransaction' in value

const isBetterSqlite3 = (value: unknown): value is BetterSqlite3Database =>
  hasMethods(value, 'prepare', 'exec', 'pragma') && 'inTransaction' in value

const ofNodeSqlite = (database: NodeSqliteDatabase): UserDriver => ({
  prepare(sql) {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    statement.setReadBigInts(false)
    return statement
  },
  exec: (sql) => database.exec(sql),
  get isTransaction() {
    return database.isTransaction
  },
  get isOpen() {
    return database.isOpen
  },
  path: database.isOpen ? database.location() : null,
})

const ofBetterSqlite3 = (database: BetterSqlite3Database): UserDriver => ({
  prepare(sql) {
    const statement = database.prepare(sql)
    const given = /\?\d/.test(sql) ? byNumber : inTurn
    const run = (...values: SqlValue[]) => statement.run(...given(values))
    // It has `run` alone for what gives no rows.
    if (!statement.reader) return { run, get: run, all: (...values) => (run(...values), []) }
    statement.raw(true)
    statement.safeIntegers(false)
    return {
      run,
      get: (...values) => statement.get(...given(values)),
      all: (...values) => statement.all(...given(values)),
    }
  },
  exec(sql) {
    database.exec(sql)
  },
  get isTransaction() {
    return database.inTransaction
  },
  get isOpen() {
    return database.open
  },
  // Its `name` is as it was given: relative to the folder that the process had then.
  path: database.open ? fileOf(database) : null,
})

const fileOf = (database: BetterSqlite3Database): string | null => {
  const statement = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'")
  statement.raw(true)
  return (statement.get() as [string | null])[0]
}

const inTurn = (values: readonly SqlValue[]): readonly SqlValue[] => values

/** Parameters with numbers are names for it. */
const byNumber = (values: readonly SqlValue[]): readonly [Record<string, SqlValue>] => [
  Object.fromEntries(values.map((value, i) => [i + 1, value])),
]
