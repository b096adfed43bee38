/**
 * The files of an open database, to check that they are still those that were opened. On Unix a removed file can still be read
 * and written; it is lost with the last process that has it open, while other processes create a new one.
 */
import { statSync } from 'node:fs'
import { removedBeside } from './errors.ts'

export class OpenFiles {
  private readonly path: string
  private readonly file: number | null
  /** The log and the shared memory; null until they are seen. */
  private readonly beside: { readonly path: string; file: number | null }[]

  /** @param path of a database that is open */
  constructor(path: string) {
    this.path = path
    this.file = fileNumber(path)
    this.beside = ['-wal', '-shm'].map((end) => ({ path: path + end, file: fileNumber(path + end) }))
  }

  /** Is the database itself at its path? Null if there is none, false if it is another. */
  isSame(): boolean | null {
    const file = fileNumber(this.path)
    return file === null ? null : file === this.file
  }

  /** @throws JobchartError STORE_UNAVAILABLE if the log or the shared memory was removed, or another took its place */
  checkBeside(): void {
    for (const known of this.beside) {
      const file = fileNumber(known.path)
      known.file ??= file
      if (file !== known.file) throw removedBeside(known.path, this.path)
    }
  }
}

const fileNumber = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.ino ?? null
