/** The texts that make and change the tables of a file: frozen once they are released, and independent of the chart. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { jobStates } from '../../../src/core/lifecycle.ts'
import { migrations } from '../../../src/stores/sqlite/migrations/index.ts'

/** SHA-256 of each text that a release contains. A text is added here when it is released, and never changed after. */
const released: readonly string[] = []

test('the text of every released version is what that version executed', () => {
  const checksums = migrations.map((text) => createHash('sha256').update(text).digest('hex'))
  expect(checksums.slice(0, released.length)).toEqual(released)
})

test('a state of the chart that the newest version of the file does not know needs a new version', () => {
  const ofVersion1 = [
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
  expect(migrations.length, 'see the header of migrations/index.ts').toBe(1)
  expect(jobStates).toEqual(ofVersion1)
})
