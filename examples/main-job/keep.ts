/** Where the jobs rest: in a file that outlives the process, or in memory. */
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { memoryStore, type RuntimeOptions, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { UsageError, type Options } from './arguments.ts'

const ownFolder = '.jobchart'
/** Hundred years, and more than there are files. */
const forEver = { age: '36500d', count: 1_000_000_000 } as const

export interface Kept {
  readonly store: Store
  /** The file, as one would type it; null for memory. */
  readonly file: string | null
  /**
   * What it writes: no part of any work. And more than that: a process that reads its own SQLite file past SQLite loses
   * its locks on it when it closes it (https://www.sqlite.org/howtocorrupt.html, 2.2).
   */
  readonly except: ReadonlySet<string>
  readonly retention: NonNullable<RuntimeOptions['retention']>
}

/** @throws UsageError */
export function keep({ folder, store, db }: Options): Kept {
  // Nothing survives in memory, so what has been gathered need not be kept.
  if (store === 'memory') return { store: memoryStore(), file: null, except: new Set(), retention: {} }
  const path = db ?? defaultPath(realpathSync(folder))
  if (db === null) makeOwnFolder()
  const beside = ['', '-wal', '-shm'].map((suffix) => `${real(path)}${suffix}`)
  return {
    // It need only survive its processes: what a power cut takes back is done again, and that harms nobody here.
    store: sqliteStore({ path, durability: 'normal' }),
    file: relative('', path).startsWith('..') ? path : relative('', path),
    except: new Set([real(ownFolder), ...beside]),
    // What is done is known to be done until --fresh.
    retention: { done: forEver, dead: forEver, cancelled: { count: 1_000 } },
  }
}

/** The real path, also of what is not there yet. */
function real(path: string): string {
  const whole = resolve(path)
  return existsSync(whole) ? realpathSync(whole) : join(real(dirname(whole)), basename(whole))
}

/** A file per folder: who looks through another folder means other work. */
const defaultPath = (folder: string): string =>
  join(ownFolder, `${basename(folder) || 'root'}-${hash('sha1', folder).slice(0, 8)}.db`)

function makeOwnFolder(): void {
  try {
    mkdirSync(ownFolder, { recursive: true })
    writeFileSync(join(ownFolder, '.gitignore'), '*\n')
  } catch (error) {
    throw new UsageError(
      `there must be a folder for the jobs: ${(error as Error).message}\n--db <file> keeps them elsewhere, --store memory nowhere`,
      { cause: error },
    )
  }
}
