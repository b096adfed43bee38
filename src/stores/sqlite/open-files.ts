/**
 * The files of an open database, to check that they are still those that were opened. On Unix a removed file can still
 * be read and written; it is lost with the last process that has it open, while other processes create a new one.
 */
import { existsSync, realpathSync, statSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock, type Clock } from '../../core/clock.ts'
import { removedBeside } from './errors.ts'

/**
 * Two changes of a folder so shortly after each other, ms, may have left the same time. Some filesystems have times of
 * ten milliseconds, of a second or of two; where this one is seen to have finer ones, they are those of the clock ticks
 * of the system.
 */
const sameTimeMs = (time: number): number => (time % 10 === 0 ? 3_000 : 100)

export class OpenFiles {
  private readonly path: string
  private readonly clock: Pick<Clock, 'now'>
  private readonly file: number | null
  /** The log and the shared memory; null until they are seen. */
  private readonly beside: { readonly path: string; file: number | null }[]
  private readonly folder: string
  /** Does the path lead over a link? Then another database may come to it without a change of the folder. */
  private readonly isLink: boolean
  /** The folder before the last check of the files beside, if each later change of it gives it another time. */
  private checked: Stats | null = null
  /** The folder at the last look at the database, until the check that follows it; null = not looked at. */
  private seen: Stats | null = null

  /** @param path of a database that is open */
  constructor(path: string, clock: Pick<Clock, 'now'> = systemClock) {
    this.path = path
    this.clock = clock
    this.file = fileNumber(path)
    // SQLite puts them beside the file itself, not beside a link to it.
    const itself = existsSync(path) ? realpathSync(path) : resolve(path)
    this.beside = ['-wal', '-shm'].map((end) => ({ path: itself + end, file: fileNumber(itself + end) }))
    this.folder = dirname(itself)
    this.isLink = itself !== resolve(path)
  }

  /**
   * Is the database itself at its path? Null if there is none, false if it is another. As long as its folder has not
   * changed since the last check, it is.
   */
  isSame(): boolean | null {
    const seen = (this.seen = this.lookAtFolder())
    if (!this.isLink && seen !== null && this.checked !== null && isUnchanged(seen, this.checked)) return true
    const file = fileNumber(this.path)
    return file === null ? null : file === this.file
  }

  /**
   * Looks at the files only after their folder has changed: Linux gives a file whose times were asked for a new time at
   * its next write, which the sync of a commit must then write, too. A look at the log before each commit made commits
   * a fifth dearer.
   * @throws JobchartError STORE_UNAVAILABLE if the log or the shared memory was removed, or another took its place
   */
  checkBeside(): void {
    const folder = this.seen ?? this.lookAtFolder()
    this.seen = null
    if (folder !== null && this.checked !== null && isUnchanged(folder, this.checked)) return
    for (const known of this.beside) {
      const file = fileNumber(known.path)
      known.file ??= file
      if (file !== known.file) throw removedBeside(known.path, this.path)
    }
    this.checked = folder !== null && this.clock.now() - folder.ctimeMs > sameTimeMs(folder.ctimeMs) ? folder : null
  }

  /** Is the log of the opened database still there? It would be applied to one that has taken its place. */
  get isLogLeft(): boolean {
    return this.beside.some(({ path, file }) => file !== null && fileNumber(path) === file)
  }

  private lookAtFolder(): Stats | null {
    return statSync(this.folder, { throwIfNoEntry: false }) ?? null
  }
}

/** No entry of a folder is made, removed or replaced without a new time of the folder, which no program can set. */
const isUnchanged = (folder: Stats, before: Stats): boolean =>
  folder.ctimeMs === before.ctimeMs && folder.ino === before.ino && folder.dev === before.dev

const fileNumber = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.ino ?? null
