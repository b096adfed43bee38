/**
 * Whose file is it, and may this process use it? Asked before anything is written: what is not ours is left as it is.
 */
import { statfsSync, statSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { JobchartError } from '../../core/errors.ts'
import { DatabaseSync } from './driver.ts'
import { newer } from './errors.ts'
import { applicationId, fileVersion } from './migrations/index.ts'

/** Filesystems that reach over a network, by the number in statfs(2): shared memory, which WAL needs, does not. */
const networkFilesystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'CephFS'],
])

/** SQLite takes paths of 512 bytes, the names of the files beside included. */
const pathBytesMax = 500

/** @throws JobchartError STORE_UNAVAILABLE, UNSUPPORTED */
export function checkPath(path: string): void {
  const whole = resolve(path)
  const bytes = Buffer.byteLength(whole)
  if (bytes > pathBytesMax) {
    throw cannotBeOpened(path, `its path has ${bytes} bytes, and ${pathBytesMax} are possible`, 'Use a shorter path.')
  }
  const folder = dirname(whole)
  try {
    statSync(folder)
  } catch (error) {
    throw cannotBeOpened(path, `there is no folder ${folder}`, 'Make the folder first.', error)
  }
  const stats = statsOf(path)
  if (stats?.isDirectory() === true) {
    throw cannotBeOpened(path, 'it is a folder', 'Name a file in it, such as `jobs.db`.')
  }
  if (stats !== undefined && !stats.isFile()) {
    throw cannotBeOpened(path, 'it is not a regular file', 'Name a file on a local disk.')
  }
  checkFilesystem(path, folder)
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = code === 'ENAMETOOLONG' ? 'its name is too long' : `the system says ${code}`
    throw cannotBeOpened(path, what, 'Name a file that this process may read and write.', error)
  }
}

const cannotBeOpened = (path: string, why: string, hint: string, cause?: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${path} cannot be opened: ${why}`, {
    hint,
    ...(cause !== undefined && { cause }),
  })

function checkFilesystem(path: string, folder: string): void {
  const filesystem = networkFilesystems.get(Number(statfsSync(folder, { bigint: true }).type & 0xffffffffn))
  if (filesystem === undefined) return
  throw new JobchartError(
    'UNSUPPORTED',
    `${path} is on ${filesystem}: a file in WAL mode must be on a disk of this host`,
    { hint: 'Put the file on a local disk, or use a store with a server.' },
  )
}

export const pragma = (db: DatabaseSync, name: string): unknown =>
  Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]

/**
 * Refuses a file that is not for this jobchart by what stands in the file itself, without its log and without a lock,
 * so that nothing is made beside it and nothing in it changes. What cannot be read in this way is left to
 * `checkIdentity`.
 * @throws JobchartError UNSUPPORTED
 */
export function checkUntouched(path: string): void {
  if ((statsOf(path)?.size ?? 0) === 0) return
  const url = pathToFileURL(resolve(path))
  url.search = 'immutable=1'
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(url, { readOnly: true })
    checkIdentity(db, path)
  } catch (error) {
    if (error instanceof JobchartError) throw error
  } finally {
    db?.close()
  }
}

/** @returns is it a file without anything in it? @throws JobchartError UNSUPPORTED */
export function checkIdentity(db: DatabaseSync, path: string): { readonly isNew: boolean } {
  // One transaction: another process may be making the file.
  db.exec('BEGIN')
  const [schema, application, version] = ['schema_version', 'application_id', 'user_version'].map((name) =>
    Number(pragma(db, name)),
  ) as [number, number, number]
  db.exec('COMMIT')
  if (schema === 0 && application === 0 && version === 0) return { isNew: true }
  if (application !== applicationId) {
    throw new JobchartError('UNSUPPORTED', `${path} is a SQLite file of another program`, {
      hint: 'Give jobchart a file of its own.',
    })
  }
  if (version > fileVersion) throw newer(path, version, fileVersion)
  if (version > 0) return { isNew: false }
  throw new JobchartError('UNSUPPORTED', `${path} says that it has version ${version}, which no jobchart has written`, {
    hint: 'Another program has changed the file: restore a backup, or give jobchart a file of its own.',
  })
}
