/** Files that are not what they should be: how each is made of a sound one, and what the store makes of it. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../../src/core/clock.ts'
import { lease, newJob, put, plainCheckpoint, take } from '../../../src/store-testing/conformance/acts.ts'
import { complaintsAbout } from './consistency.ts'

interface Strange {
  /** What has changed the sound file. */
  readonly sql: string
  readonly says: RegExp
}

/** Refused as UNSUPPORTED. */
export const unsupportedFiles: Readonly<Record<string, Strange>> = {
  'of another program': { sql: 'PRAGMA application_id = 7', says: /another program/ },
  'of ours without its mark': { sql: 'PRAGMA application_id = 0', says: /another program/ },
  'of a newer version': { sql: 'PRAGMA user_version = 99', says: /version 99/ },
}

/** Makes the input of a job unreadable. */
export const damagedJob = { id: 'p', other: 'r', sql: `UPDATE jobs SET input = '{"n":' WHERE id = 'p'` }

const pageBytes = 4_096

/** For each index of the file at `path` that has entries: its name, and the file with one of them changed. */
export function withContradictions(path: string, sound: Buffer): { readonly name: string; readonly bytes: Buffer }[] {
  const db = new DatabaseSync(path)
  const indexes = db.prepare(`SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'`).all()
  db.close()
  return indexes.flatMap(({ name, rootpage }) => {
    const bytes = Buffer.from(sound)
    const page = bytes.subarray((Number(rootpage) - 1) * pageBytes)
    // How many entries it has, where the first stands, how long that is: https://www.sqlite.org/fileformat2.html
    const entries = page.readUInt16BE(3)
    if (entries === 0) return []
    const first = page.readUInt16BE(8)
    const end = first + page.readUInt8(first)
    page.writeUInt8(page.readUInt8(end) ^ 0x40, end)
    return [{ name: String(name), bytes }]
  })
}

/**
 * Settles a child whose parent has a message that nobody has counted, which shows after the settlement has written, and
 * another job in the same call.
 * @throws AssertionError if anything of the first is kept, or the other is not
 */
export async function settleWithDamagedInbox(path: string): Promise<void> {
  const store = sqliteStore({ path, durability: 'normal' })
  await store.open({ clock: systemClock })
  await put(store, newJob('parent'), newJob('child', { parent: { id: 'parent', checkins: false } }), newJob('other'))
  const [, child, other] = await take(store, { max: 3 })
  assert.ok(child !== undefined && other !== undefined)
  await store.send([{ id: 'parent', message: { kind: 'event', event: 1 }, key: 'k', expect: null }])
  const db = new DatabaseSync(path)
  db.exec('INSERT INTO messages (job, number, at, message) SELECT job, number + 1, at, message FROM messages')
  const complete = { event: 'COMPLETE', to: 'done' } as const
  const answers = await store.settle([
    { ...lease(child), ...complete, checkpoint: plainCheckpoint(1) },
    { ...lease(other), ...complete },
  ])
  db.exec('DELETE FROM messages WHERE number > 1')
  db.close()
  assert.deepEqual(
    answers.map(({ outcome }) => outcome),
    ['failed', 'settled'],
  )
  assert.deepEqual(
    (await store.get(['child', 'other'])).map((record) => record?.state),
    ['running', 'done'],
  )
  assert.deepEqual(await store.checkpoints('child'), [])
  await store.close()
  assert.deepEqual(complaintsAbout(path), [])
}
