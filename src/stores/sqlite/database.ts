/** Opens, checks, migrates and closes the file. */
import { existsSync, statSync } from 'node:fs'
import { JobchartError } from '../../core/errors.ts'
import { DatabaseSync } from './driver.ts'
import { damaged, isBusy, newer, storeError } from './errors.ts'
import { checkIdentity, checkPath, checkUntouched, pragma } from './file-identity.ts'
import { applicationId, fileVersion, migrations } from './migrations/index.ts'

/** How long an opening waits for other processes, ms: they may be creating or migrating the file. */
const openBusyMs = 5_000

const modeTriesMax = 100

/**
 * The log is copied into the file when it has so many pages: what several transactions have written of a page is then
 * copied once. Four times the default of SQLite: the log has 16 MB before it begins anew.
 */
const logPages = 4_000

/** Older ones can damage a file that several processes write (the WAL-reset bug: https://www.sqlite.org/wal.html). */
const sqliteMin = [3, 51, 3] as const

/** Files up to this size are checked completely when they are opened, bytes. */
const checkedBytes = 32 * 1024 * 1024

export interface FileOptions {
  readonly path: string
  /** Is every commit on the disk when it returns? */
  readonly full: boolean
}

/**
 * @param check is the file to be read from end to end, if it is not too large for that?
 * @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE, STORE_CORRUPT
 */
export function openDatabase({ path, full }: FileOptions, check: boolean): DatabaseSync {
  checkSqliteVersion(process.versions['sqlite'] ?? '0', 'this Node')
  checkPath(path)
  checkUntouched(path)
  // Read first: once the file is open it has a log, and the log may hold pages that the file does not have yet.
  const bytes = existsSync(`${path}-wal`) ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { timeout: openBusyMs, enableForeignKeyConstraints: false })
    prepareFile(db, path, check ? bytes : null)
    for (const setting of [
      `synchronous = ${full ? 'FULL' : 'NORMAL'}`,
      // On macOS a sync alone does not flush the cache of the drive. Elsewhere the pragma has no effect.
      `fullfsync = ${full ? 'ON' : 'OFF'}`,
      'busy_timeout = 0',
      'cell_size_check = ON',
      'mmap_size = 0',
      'cache_size = -32000',
      'temp_store = MEMORY',
      'journal_size_limit = 67108864',
      `wal_autocheckpoint = ${logPages}`,
    ]) {
      db.exec(`PRAGMA ${setting}`)
    }
    return db
  } catch (error) {
    if (db?.isOpen === true) db.close()
    throw storeError(error, path)
  }
}

/** @param whose which library has this version @throws JobchartError UNSUPPORTED */
export function checkSqliteVersion(version: string, whose: string): void {
  const parts = version.split('.').map(Number)
  const at = sqliteMin.findIndex((part, i) => (parts[i] ?? 0) !== part)
  if (at < 0 || (parts[at] ?? 0) > (sqliteMin[at] as number)) return
  throw new JobchartError('UNSUPPORTED', `sqliteStore needs SQLite ${sqliteMin.join('.')}, ${whose} has ${version}`, {
    hint: 'Use Node 22.22.3 or newer of 22, 24.15 or newer of 24, or 26, or a newer better-sqlite3: older versions of SQLite can damage a file that several processes write.',
  })
}

/** @param bytes its size, if it is to be checked */
function prepareFile(db: DatabaseSync, path: string, bytes: number | null): void {
  const { isNew } = checkIdentity(db, path)
  if (!isNew && bytes !== null) checkWhole(db, path, bytes)
  const mode = intoWalMode(db)
  if (mode !== 'wal') {
    throw new JobchartError('UNSUPPORTED', `${path} cannot be used in WAL mode (it is ${String(mode)})`, {
      hint: 'WAL needs a file on a local disk that this process may write.',
    })
  }
  if (pragma(db, 'user_version') !== fileVersion) migrate(db, path)
}

/**
 * If several processes change the mode of a new file at once, SQLite fails at once instead of waiting: so this waits
 * and repeats.
 */
function intoWalMode(db: DatabaseSync): unknown {
  for (let tries = 1; ; tries++) {
    try {
      return pragma(db, 'journal_mode = WAL')
    } catch (error) {
      if (!isBusy(error) || tries === modeTriesMax) throw error
      db.exec('BEGIN IMMEDIATE')
      db.exec('ROLLBACK')
    }
  }
}

/** Refuses a damaged file. Large files are not checked completely. */
function checkWhole(db: DatabaseSync, path: string, bytes: number): void {
  const pageBytes = Number(pragma(db, 'page_size'))
  if (bytes % pageBytes !== 0) throw damaged(path, 'its last page is not whole')
  if (Number(pragma(db, 'page_count')) * pageBytes > checkedBytes) return
  const found = pragma(db, 'integrity_check(1)')
  if (found !== 'ok') throw damaged(path, String(found))
}

/**
 * All migrations that the file lacks are one transaction: one of several processes runs them, the others find the
 * version.
 */
function migrate(db: DatabaseSync, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(pragma(db, 'user_version'))
    if (version > fileVersion) throw newer(path, version, fileVersion)
    if (version < fileVersion) {
      for (const step of migrations.slice(version)) db.exec(step)
      db.exec(`PRAGMA application_id = ${applicationId}`)
      db.exec(`PRAGMA user_version = ${fileVersion}`)
    }
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
