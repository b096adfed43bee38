/** A file of an older version: with a version after the present one, which is made here. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inspectSqliteFile, sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { applicationId, migrations } from '../../src/stores/sqlite/migrations/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

vi.mock('../../src/stores/sqlite/migrations/index.ts', async (importOriginal) => {
  const original = await importOriginal<{ readonly migrations: readonly string[] }>()
  const next = 'ALTER TABLE jobs ADD COLUMN colour TEXT; CREATE TABLE colours (name TEXT NOT NULL) STRICT;'
  return { ...original, migrations: [...original.migrations, next], fileVersion: original.migrations.length + 1 }
})

/** A file of the version before, with a job. */
async function oldFile(): Promise<string> {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'jobs.db')
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; ${migrations.slice(0, -1).join(';')}`)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length - 1}`)
  db.exec(`INSERT INTO queues (type, counts) VALUES ('mail', '{"queued":1}')`)
  db.exec(`INSERT INTO jobs (seq, id, queue, priority, max_attempts, enqueued_at) VALUES (1, 'old', 1, 0, 3, 0);
    INSERT INTO waiting (queue, concurrency_key, rank, place, job) VALUES (1, '', 0, 1, 1)`)
  db.close()
  return path
}

const tablesOf = (path: string): unknown[] => {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  db.close()
  return tables.map(({ name }) => name)
}

test('opening brings it to this version, and keeps what is in it', async () => {
  const path = await oldFile()
  expect(inspectSqliteFile(path)).toMatchObject({ version: migrations.length - 1, newestVersion: migrations.length })
  expect(tablesOf(path)).not.toContain('colours')
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  expect(await store.get(['old'])).toMatchObject([{ id: 'old', state: 'queued', type: 'mail' }])
  await put(store, newJob('new'))
  await store.close()
  expect(inspectSqliteFile(path).version).toBe(migrations.length)
  expect(tablesOf(path)).toContain('colours')
})

test('a text that fails leaves the file as it was', async () => {
  const path = await oldFile()
  const db = new DatabaseSync(path)
  // The first statement of the new version succeeds, the second fails.
  db.exec('CREATE TABLE colours (name TEXT)')
  db.close()
  const store = sqliteStore({ path })
  await expect(store.open({ clock: systemClock })).rejects.toMatchObject({ code: expect.any(String) })
  const after = new DatabaseSync(path, { readOnly: true })
  expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: migrations.length - 1 })
  expect(after.prepare("SELECT count(*) AS count FROM pragma_table_info('jobs') WHERE name = 'colour'").get()).toEqual({
    count: 0,
  })
  after.close()
})
