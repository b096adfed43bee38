/**
 * The statistics of ANALYZE and of PRAGMA optimize, which the store does not use. What they say of a table that had a
 * few rows makes SQLite read all of it, also when it has a million: each insert then reads all jobs. Without them it
 * takes the indexes that the statements are made for, whatever the tables have.
 */
import type { Driver } from './driver.ts'

const statisticsTables = ['sqlite_stat1', 'sqlite_stat4'] as const

/** Removes what the database has of these tables, and lets the connection forget it. */
export function forgetStatistics(db: Driver, tables: readonly string[]): void {
  const here = `WHERE tbl IN (${tables.map((name) => `'${name}'`).join(', ')})`
  const isThere = (sql: string): boolean => db.prepare(sql).all().length > 0
  const found = statisticsTables.filter(
    (name) =>
      isThere(`SELECT 1 FROM main.sqlite_schema WHERE name = '${name}'`) &&
      isThere(`SELECT 1 FROM main.${name} ${here} LIMIT 1`),
  )
  if (found.length === 0) return
  db.prepare('BEGIN IMMEDIATE').run()
  try {
    for (const name of found) db.prepare(`DELETE FROM main.${name} ${here}`).run()
    db.prepare('COMMIT').run()
  } catch (error) {
    if (db.isTransaction) db.prepare('ROLLBACK').run()
    throw error
  }
  // It counts nothing, and reads the statistics again.
  db.prepare('ANALYZE main.sqlite_schema').run()
}
