/** Statistics of tables that had a few rows: the store reads no table whole because of them. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { sqliteStore } from 'jobchart/sqlite'
import type { Store } from 'jobchart/store'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { prefixed } from '../../src/stores/sqlite/prefix.ts'
import { newFile } from '../support/new-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function folderOfTest(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return folder.path
}

async function opened(store: Store): Promise<Store> {
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** Enqueues jobs, runs two of them, and removes one. */
async function work(store: Store, name: string): Promise<void> {
  const keyed = { concurrencyKey: name, key: name, tags: ['a'], meta: { name } }
  await put(store, newJob(`${name} 1`), newJob(`${name} 2`), newJob(`${name} 3`, keyed))
  const jobs = await take(store, { max: 2 })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  await store.cancel([{ ids: [`${name} 3`], reason: null, graceMs: 0 }])
  await store.discard([`${name} 1`])
  await store.transitions(null, 10)
}

/** Counts the rows of statistics of tables whose name begins so. */
const counted = (db: DatabaseSync, prefix: string): unknown =>
  db.prepare('SELECT count(*) AS rows FROM sqlite_stat1 WHERE tbl GLOB ?').get(`${prefix}*`)?.['rows']

test('in a database of the user, what has been counted is forgotten by the next rescue, but for tables of the user', async () => {
  const db = new DatabaseSync(join(folderOfTest(), 'own.db'))
  onTestFinished(() => db.close())
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE mine (id INTEGER PRIMARY KEY, x); INSERT INTO mine VALUES (1, 1)')
  const statements = new Set<string>()
  const store = await opened(sqliteStore({ database: db, onStatement: (sql) => void statements.add(sql) }))
  await work(store, 'before')
  db.exec('ANALYZE')
  statements.clear()
  await work(store, 'misled')
  /** Where a statement reads all rows of a table that grows; the jobs of the index `leaving` are few. */
  const scans = (): string[] =>
    [...statements]
      .filter((sql) => /^(SELECT|INSERT|UPDATE|DELETE)/.test(sql))
      .flatMap((sql) => db.prepare(`EXPLAIN QUERY PLAN ${prefixed(sql, 'jobchart_')}`).all())
      .flatMap(
        ({ detail }) => /SCAN jobchart_(?:jobs|lives|steps|waiting|listed)\b(?!.*leaving)/.exec(String(detail)) ?? [],
      )
  expect(scans().length).toBeGreaterThan(5)
  await store.rescue(1)
  expect(scans()).toEqual([])
  expect([counted(db, 'jobchart_'), counted(db, 'mine')]).toEqual([0, 1])
})

test('a file that has such statistics loses them when a store opens it', async () => {
  const path = await newFile(folderOfTest())
  const before = sqliteStore({ path })
  await before.open({ clock: systemClock })
  await work(before, 'before')
  await before.close()
  const tool = new DatabaseSync(path)
  onTestFinished(() => tool.close())
  tool.exec('ANALYZE')
  expect(counted(tool, '')).not.toBe(0)
  const store = await opened(sqliteStore({ path }))
  expect(counted(tool, '')).toBe(0)
  tool.exec('ANALYZE')
  await store.rescue(1)
  expect(counted(tool, '')).toBe(0)
})
