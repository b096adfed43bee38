/** What `jobchart/sqlite` is to the example while it is stormed: the same store, with a history. */
import { join } from 'node:path'
import type { Store } from 'jobchart'
import { sqliteStore as plain, type SqliteStoreOptions } from 'jobchart/sqlite'
import { historyFile, recordingStore } from 'jobchart/store-testing'

export function sqliteStore(options: SqliteStoreOptions): Store {
  const folder = process.env['ORDER_HISTORY']
  if (folder === undefined) throw new TypeError('ORDER_HISTORY is not set')
  const { sink } = historyFile(join(folder, `${process.pid}-${Date.now()}.ndjson`))
  return recordingStore(plain(options), sink)
}
