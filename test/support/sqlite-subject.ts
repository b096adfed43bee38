import { sqliteStore } from 'jobchart/sqlite'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { newFile } from './new-file.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A SQLite store in a folder of its own, for one case of the conformance suite. */
export async function sqliteSubject(thread: boolean): Promise<Subject> {
  const folder = temporaryFolder()
  const clock = movingClock()
  const store = sqliteStore({ path: await newFile(folder.path), durability: 'normal', thread })
  await store.open({ clock })
  return {
    store,
    advance: (ms) => clock.advance(ms),
    async close() {
      await store.close()
      folder.remove()
    },
  }
}
