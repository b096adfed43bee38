/**
 * The driver. It is not imported: before any module runs, an import fails in a Node.js that lacks it, and nothing can
 * say what is needed.
 */
import type * as sqlite from 'node:sqlite'

export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
export type DatabaseSync = sqlite.DatabaseSync

/** A value of a parameter. */
export type SqlValue = string | number | null

/** A prepared statement: rows are lists, integers are numbers. */
interface DriverStatement {
  get(...values: SqlValue[]): unknown
  all(...values: SqlValue[]): unknown[]
  run(...values: SqlValue[]): { readonly changes: number | bigint }
}

/** A connection, of whatever library. */
export interface Driver {
  prepare(sql: string): DriverStatement
  readonly isTransaction: boolean
  close(): void
}

/** Called before and after each statement: for traces, and for tests of crashes. */
export type StatementListener = (sql: string, moment: 'before' | 'after') => void

/** A connection of the store's own. */
export const driverOf = (db: DatabaseSync): Driver => ({
  prepare(sql) {
    const statement = db.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  },
  get isTransaction() {
    return db.isTransaction
  },
  close: () => db.close(),
})
