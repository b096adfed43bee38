/** Where files are measured: a folder on a real disk; and how many transactions a database has committed. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { copyFile, readFile, rm } from 'node:fs/promises'
import { endianness, tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { UsageError } from '../command.ts'

const inMemory = new Set(['tmpfs', 'ramfs', 'devtmpfs'])

/** The file system a folder is on, such as `ext4`; null where the platform does not tell. */
export function fileSystemOf(folder: string): string | null {
  let mounts: string
  try {
    mounts = readFileSync('/proc/self/mounts', 'utf8')
  } catch {
    return null
  }
  const above = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, at = '', type = '']) => ({ at: at.replaceAll('\\040', ' '), type }))
    .filter(({ at }) => at !== '' && `${folder}${sep}`.startsWith(at.endsWith(sep) ? at : `${at}${sep}`))
  // Of mounts on the same place the last one counts.
  return (
    above.reduceRight((best, mount) => (mount.at.length > best.at.length ? mount : best), { at: '', type: '' }).type ||
    null
  )
}

/**
 * Where files may lie: the system's folder for temporary files or, if that is memory and no disk, the lasting one.
 * @throws UsageError if there is no disk
 */
function diskFolder(): string {
  const found = [tmpdir(), '/var/tmp'].find((folder) => !inMemory.has(fileSystemOf(folder) ?? ''))
  if (found !== undefined) return found
  throw new UsageError(`${tmpdir()} is memory, no disk: set TMPDIR to a folder on a disk`)
}

export const diskLine = (): string =>
  `Files in ${diskFolder()} on ${fileSystemOf(diskFolder()) ?? 'an unknown file system'}`

/** Calls `use` with a new folder on a disk, which is gone afterwards, also when the run is interrupted. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(diskFolder(), 'jobchart-bench-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const interrupted = (): void => {
    remove()
    process.exit(130)
  }
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted)
  try {
    return await use(folder)
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    remove()
  }
}

/** Removes a database file and what lies beside it. */
export async function removeDatabase(path: string): Promise<void> {
  await Promise.all(['', '-wal', '-shm'].map((suffix) => rm(`${path}${suffix}`, { force: true })))
}

/** Copies a database that no process has open. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  await removeDatabase(to)
  await copyFile(from, to)
  if (existsSync(`${from}-wal`)) await copyFile(`${from}-wal`, `${to}-wal`)
}

/**
 * How many transactions were committed to a database since its write-ahead log was opened, by any process: SQLite keeps
 * the count in the third word of the log's index. With synchronous=FULL each is an fsync. It counts while the file is
 * open.
 */
export async function commitsOf(path: string): Promise<number> {
  const index = await readFile(`${path}-shm`)
  return endianness() === 'LE' ? index.readUInt32LE(8) : index.readUInt32BE(8)
}
