import type { Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * A SQLite store in a folder of its own, which goes when the test is over. The test opens it once more than its
 * runtimes do (`await store.open({ clock })`), so that it can look into it after they have stopped.
 */
export function fileStore(): Store {
  const folder = temporaryFolder()
  const store = sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' })
  onTestFinished(async () => {
    await store.close()
    folder.remove()
  })
  return store
}
