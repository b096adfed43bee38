/** The texts that make and change a schema: frozen once they are released. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { migrations } from '../../../src/stores/postgres/migrations/index.ts'

/** SHA-256 of each text that a release contains. A text is added here when it is released, and never changed after. */
const released: readonly string[] = []

test('the text of every released version is what that version executed', () => {
  const checksums = migrations.map((text) => createHash('sha256').update(text).digest('hex'))
  expect(checksums.slice(0, released.length)).toEqual(released)
})
