/** The texts that make and change the tables of a file: frozen once they are released, and independent of the chart. */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { jobStates } from '../../../src/core/lifecycle.ts'
import { migrations } from '../../../src/stores/sqlite/migrations/index.ts'

/** SHA-256 of each text that a release contains. A text is added here when it is released, and never changed after. */
const released = [
  '6d15f016bea17c58d2609a46b5d0f22d03db0baff055761881e638453f598043',
  '1f85e7e1b499895bba45a0f60d960fb3c7abe66a6a9c287a0e91895861916a7a',
]

/** As the store opens a file: version 3 puts a table in the place of one that others refer to. */
const emptyDatabase = (): DatabaseSync => new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })

test('the text of every released version is what that version executed', () => {
  const checksums = migrations.map((text) => createHash('sha256').update(text).digest('hex'))
  expect(checksums.slice(0, released.length)).toEqual(released)
})

test('a state of the chart that the newest version of the file does not know needs a new version', () => {
  const ofVersion3 = [
    'scheduled',
    'queued',
    'running',
    'retrying',
    'waiting',
    'cancelling',
    'done',
    'dead',
    'cancelled',
  ]
  expect(migrations.length, 'see the header of migrations/index.ts').toBe(3)
  expect(jobStates).toEqual(ofVersion3)
})

test('version 3 keeps the counts and switches of every queue', () => {
  const db = emptyDatabase()
  for (const text of migrations.slice(0, 2)) db.exec(text)
  db.exec(`INSERT INTO queues (type, scheduled, queued, running, retrying, waiting, cancelling, done, dead, cancelled)
    VALUES ('mail', 1, 2, 3, 4, 5, 6, 7, 8, 9), ('sms', 0, 0, 0, 0, 0, 0, 0, 0, 0)`)
  db.exec("UPDATE queues SET queue = 5, paused = 1, keyed = 1 WHERE type = 'sms'")
  db.exec(migrations[2] ?? '')
  const switches = db.prepare('SELECT queue, type, paused, keyed FROM queues ORDER BY queue').all()
  expect(switches).toEqual([
    { queue: 1, type: 'mail', paused: 0, keyed: 0 },
    { queue: 5, type: 'sms', paused: 1, keyed: 1 },
  ])
  const counts = db
    .prepare('SELECT counts FROM queues ORDER BY queue')
    .all()
    .map(({ counts }) => JSON.parse(String(counts)))
  expect(counts).toEqual([
    Object.fromEntries(jobStates.map((state, i) => [state, i + 1])),
    Object.fromEntries(jobStates.map((state) => [state, 0])),
  ])
  db.close()
})

test('version 3 keeps the steps of every job, one row each, in their order', () => {
  const steps = {
    z: [{ nested: [1.5, 'ü\n"quoted"', null] }],
    a: [],
    'charge:"7"\\\n': ['text'],
    'läng: 😀': [1.5e300, -0.1],
    big: ['x'.repeat(100_000)],
    ...(JSON.parse('{ "__proto__": [true] }') as object),
  }
  const db = emptyDatabase()
  for (const text of migrations.slice(0, 2)) db.exec(text)
  db.exec("INSERT INTO queues (queue, type) VALUES (1, 'mail')")
  const add =
    db.prepare(`INSERT INTO jobs (seq, id, queue, state, priority, place, attempt, max_attempts, generation, enqueued_at,
    moved, steps, history) VALUES (?, ?, 1, 'queued', 0, 1, 1, 3, 1, 0, 1, ?, '')`)
  add.run(7, 'with', JSON.stringify(steps))
  add.run(8, 'without', null)
  db.exec(migrations[2] ?? '')
  const rows = db.prepare('SELECT job, name, result FROM steps ORDER BY step').all()
  const kept = rows.map(({ job, name, result }) => [job, name, JSON.parse(String(result)) as unknown])
  expect(kept).toEqual(Object.entries(steps).map(([name, result]) => [7, name, result]))
  expect(db.prepare('SELECT count(*) AS left FROM jobs WHERE steps IS NOT NULL').get()).toEqual({ left: 0 })
  db.close()
})
