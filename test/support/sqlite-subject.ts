import { sqliteStore } from 'jobchart/sqlite'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { newFile } from './new-file.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { inFolder, type SqliteLibrary } from './user-databases.ts'

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

/** A SQLite store in a database of a user, in a folder of its own. */
export async function sqliteDatabaseSubject(library: SqliteLibrary): Promise<Subject> {
  const folder = temporaryFolder()
  const clock = movingClock()
  const own = library.open(inFolder(folder.path))
  // What the store must not depend on.
  own.exec(
    'PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA application_id = 7; PRAGMA user_version = 8',
  )
  const store = sqliteStore({ database: own.database })
  await store.open({ clock })
  return {
    store,
    advance: (ms) => clock.advance(ms),
    async close() {
      await store.close()
      own.close()
      folder.remove()
    },
  }
}
