/** The SQLite store as calls meet it: what is asked too late, and what other calls do to one. */
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/clock.ts'
import type { Hint } from '../../src/store.ts'
import { newJob, put } from '../../src/testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function pathOfNew(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

test('what is asked once it closes is refused', async () => {
  const store = sqliteStore({ path: pathOfNew() })
  // No transaction lasts too long to take on all of a turn.
  await store.open({ clock: { ...systemClock, monotonic: () => 0 } })
  // An answer is on its way when the store is told to close; who gets it asks on.
  const late = put(store, newJob('a')).then(() => store.counts())
  const closing = store.close()
  const outcome = await late.catch((error: unknown) => error)
  expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('not open') })
  await closing
  await store.open({ clock: systemClock })
  expect((await store.counts()).queued).toBe(1)
  await store.close()
})

test('a look at what others do that fails harms nobody, and the next one tells', async () => {
  const path = pathOfNew()
  let trouble = false
  let failed = 0
  const store = sqliteStore({
    path,
    onStatement(sql) {
      if (!trouble || sql !== 'PRAGMA data_version') return
      failed++
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
    },
  })
  await store.open({ clock: systemClock })
  const told = new Promise<Hint>((resolve) => {
    store.watch((hint) => {
      if (hint.kind === 'ready') resolve(hint)
    })
  })
  trouble = true
  await vi.waitUntil(() => failed > 3)
  trouble = false
  const other = sqliteStore({ path })
  await other.open({ clock: systemClock })
  await put(other, newJob('a'))
  expect(await told).toMatchObject({ kind: 'ready', type: 'mail' })
  await other.close()
  await store.close()
}, 10_000)
