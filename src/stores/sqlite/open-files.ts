/**
 * The files of an open database, to check that they are still those that were opened. On Unix a removed file can still be read
 * and written; it is lost with the last process that has it open, while other processes create a new one.
 *
 * Files are removed and replaced by a change of their folder. So where its times are as they were before the last complete check,
 * one look at the folder takes the place of three at the files.
 */
import { lstatSync, statSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock, type Clock } from '../../core/clock.ts'
import { removedBeside } from './errors.ts'

/** Two changes of a folder within this time may have left the same time, ms: some filesystems have times of two seconds. */
const sameTimeMs = 3_000

export class OpenFiles {
  private readonly path: string
  private readonly clock: Pick<Clock, 'now'>
  /** Null if the file is a link: then it may be replaced in another folder. */
  private readonly folder: string | null
  private readonly file: number | null
  /** The log and the shared memory; null until they are seen. */
  private readonly beside: { readonly path: string; file: number | null }[]
  /** The folder, as it was before the last check of the database. */
  private seen: Stats | undefined
  /** The same before the last complete check, if each later change of the folder gives it another time. */
  private checked: Stats | undefined

  /** @param path of a database that is open */
  constructor(path: string, clock: Pick<Clock, 'now'> = systemClock) {
    this.path = path
    this.clock = clock
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    this.folder = isLink ? null : dirname(resolve(path))
    this.file = fileNumber(path)
    this.beside = ['-wal', '-shm'].map((end) => ({ path: path + end, file: fileNumber(path + end) }))
  }

  /** Is the database itself at its path? Null if there is none, false if it is another. */
  isSame(): boolean | null {
    this.seen = this.folder === null ? undefined : statSync(this.folder, { throwIfNoEntry: false })
    if (this.isUnchanged()) return true
    const file = fileNumber(this.path)
    return file === null ? null : file === this.file
  }

  /**
   * Called after `isSame` was true.
   * @throws JobchartError STORE_UNAVAILABLE if the log or the shared memory was removed, or another took its place
   */
  checkBeside(): void {
    const { seen } = this
    if (this.isUnchanged()) return
    for (const known of this.beside) {
      const file = fileNumber(known.path)
      known.file ??= file
      if (file !== known.file) throw removedBeside(known.path, this.path)
    }
    const isOver = seen !== undefined && this.clock.now() - Math.max(seen.mtimeMs, seen.ctimeMs) > sameTimeMs
    this.checked = isOver ? seen : undefined
  }

  private isUnchanged(): boolean {
    const { seen, checked } = this
    return (
      seen !== undefined &&
      checked !== undefined &&
      seen.ctimeMs === checked.ctimeMs &&
      seen.mtimeMs === checked.mtimeMs &&
      seen.ino === checked.ino &&
      seen.dev === checked.dev
    )
  }
}

const fileNumber = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.ino ?? null
