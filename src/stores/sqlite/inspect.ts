/** Looks at a file without changing it: whether a jobchart has written it, and of which version it is. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from './driver.ts'
import { storeError } from './errors.ts'
import { checkIdentity, checkPath, pragma } from './file-identity.ts'
import { fileVersion } from './migrations/index.ts'

export interface SqliteFile {
  /** The version of its tables; null if there is no file, or an empty one. */
  readonly version: number | null
  /** The version that this jobchart works on. Opening an older file with `sqliteStore` brings it to this version. */
  readonly newestVersion: number
  /** Size of the file, without what lies beside it. */
  readonly bytes: number
  /** Size of the write-ahead log beside it. */
  readonly walBytes: number
}

/**
 * Looks at a file before it is opened: for deployments that migrate in a step of their own. Nothing is made or changed.
 * @param path the file of a SQLite store
 * @throws JobchartError UNSUPPORTED for a file of another program or a newer jobchart; STORE_UNAVAILABLE, STORE_CORRUPT
 * @example
 * const { version, newestVersion } = inspectSqliteFile('jobs.db')
 */
export function inspectSqliteFile(path: string): SqliteFile {
  checkPath(path)
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const sizes = { bytes: sizeOf(path), walBytes: sizeOf(`${path}-wal`), newestVersion: fileVersion }
  if (sizes.bytes === 0) return { ...sizes, version: null }
  const url = pathToFileURL(resolve(path))
  // A reader of a file without a log would make an empty one beside it.
  if (!existsSync(`${path}-wal`)) url.search = 'immutable=1'
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(url, { readOnly: true, timeout: 5_000 })
    const { isNew } = checkIdentity(db, path)
    return { ...sizes, version: isNew ? null : Number(pragma(db, 'user_version')) }
  } catch (error) {
    throw storeError(error, path)
  } finally {
    db?.close()
  }
}
