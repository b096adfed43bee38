/** The texts that make and change the tables of a file: frozen once they are released, and independent of the chart. */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { jobStates } from '../../../src/job/lifecycle.ts'
import { migrations } from '../../../src/stores/sqlite/migrations/index.ts'

/** SHA-256 of each text that a release contains. A text is added here when it is released, and never changed after. */
const released = [
  '6d15f016bea17c58d2609a46b5d0f22d03db0baff055761881e638453f598043',
  '1f85e7e1b499895bba45a0f60d960fb3c7abe66a6a9c287a0e91895861916a7a',
]

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

test('version 3 keeps the counts of every queue', () => {
  const db = new DatabaseSync(':memory:')
  for (const text of migrations.slice(0, 2)) db.exec(text)
  db.exec(`INSERT INTO queues (type, scheduled, queued, running, retrying, waiting, cancelling, done, dead, cancelled)
    VALUES ('mail', 1, 2, 3, 4, 5, 6, 7, 8, 9), ('sms', 0, 0, 0, 0, 0, 0, 0, 0, 0)`)
  db.exec(migrations[2] ?? '')
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
