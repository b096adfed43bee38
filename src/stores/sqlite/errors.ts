/** Errors of SQLite, as typed errors with hints. Codes: https://www.sqlite.org/rescode.html */
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { JobchartError } from '../../core/errors.ts'

const [busy, locked, readonly, ioError, corrupt, full, cannotOpen, notADatabase] = [5, 6, 8, 10, 11, 13, 14, 26]

/** Codes as better-sqlite3 says them; some have more words behind. */
const codeNames: Readonly<Record<string, number>> = {
  ERROR: 1,
  BUSY: busy,
  LOCKED: locked,
  READONLY: readonly,
  IOERR: ioError,
  CORRUPT: corrupt,
  FULL: full,
  CANTOPEN: cannotOpen,
  NOTADB: notADatabase,
}

/** What better-sqlite3 says while a caller reads row by row, on the connection of the store. */
export const isReading = (error: unknown): boolean =>
  error instanceof TypeError && /connection is busy executing a query/.test(error.message)

/**
 * Does the connection read, since before another process has written? Transactions of the store begin as writers: so it
 * is a statement of the user.
 */
const isBehind = (error: unknown): boolean => {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  return code === 'SQLITE_BUSY_SNAPSHOT' || (code === 'ERR_SQLITE_ERROR' && errcode === 517)
}

/** The primary result code of an error of SQLite, or null if it is none. */
function resultCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  if (code === 'ERR_SQLITE_ERROR') return typeof errcode === 'number' ? errcode & 0xff : null
  if (typeof code === 'string' && code.startsWith('SQLITE_')) return codeNames[code.split('_')[1] ?? ''] ?? null
  return isReading(error) ? busy : null
}

/** Does another connection hold a lock that this one needs? Then the call can be repeated. */
export const isBusy = (error: unknown): boolean => {
  const code = resultCode(error)
  return code === busy || code === locked
}

/** Is it a failure of the computer (disk full, I/O error), which may pass? */
const isTrouble = (error: unknown): boolean => {
  const code = resultCode(error)
  return code !== null && [readonly, ioError, full, cannotOpen].includes(code)
}

export const isCorrupt = (error: unknown): error is Error => {
  const code = resultCode(error)
  return code === corrupt || code === notADatabase
}

/** A failure of the file itself, and not of the call. */
export const isFileFault = (error: unknown): boolean => isTrouble(error) || isCorrupt(error) || isUnsupported(error)

const isUnsupported = (error: unknown): boolean => error instanceof JobchartError && error.code === 'UNSUPPORTED'

/** The content of the file contradicts itself. */
export class Contradiction extends Error {}

/**
 * What SQLite says of a schema that is not ours: a table, column or index is missing, or an index has another
 * condition.
 */
const foreignSchema = /^no such |^no query solution/

/** Does the error show that what is stored of a job cannot be read: invalid JSON, or something is missing? */
export const isUnreadable = (error: unknown): error is Error =>
  error instanceof SyntaxError ||
  error instanceof Contradiction ||
  (resultCode(error) === 1 && error instanceof Error && error.message === 'malformed JSON')

/** Does the error show damaged content: that, or a schema that is not ours? */
const isDamage = (error: unknown): error is Error =>
  isUnreadable(error) || (resultCode(error) === 1 && error instanceof Error && foreignSchema.test(error.message))

const failureTexts: Readonly<Record<number, readonly [what: string, hint: string]>> = {
  [busy]: [
    'is locked by another process',
    'A process holds a transaction open; look for one that was stopped or hangs.',
  ],
  [readonly]: ['cannot be written', 'Give this process write access to the file and its folder.'],
  [ioError]: [
    'could not be read or written',
    'Look at the disk and the system log; the store goes on by itself when it can.',
  ],
  [full]: ['has no room: the disk is full', 'Free some space; the store goes on by itself when it can.'],
  [cannotOpen]: ['cannot be opened', 'Check that its folder exists and that this process may write there.'],
}

/** What the system says of the folder of a file that cannot be opened; null if it may be written. */
function folderFault(path: string): unknown {
  try {
    accessSync(dirname(path), constants.R_OK | constants.W_OK | constants.X_OK)
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    return error
  }
}

/**
 * The error for callers: STORE_CORRUPT for a damaged file, STORE_UNAVAILABLE for failures that may pass; others
 * unchanged.
 */
export function storeError(error: unknown, path: string): unknown {
  if (isReading(error) || isBehind(error)) return beingRead(path, error)
  const code = resultCode(error)
  if (code === notADatabase) return noDatabase(path, error)
  if (isCorrupt(error)) return damaged(path, error.message, error)
  if (isDamage(error)) return damaged(path, error.message, error, 'run jobchart doctor --repair; if that fails, ')
  const text = failureTexts[code === locked ? busy : (code ?? -1)]
  if (text === undefined) return error
  const [what, hint] = text
  const cause = code === cannotOpen || code === readonly ? (folderFault(path) ?? error) : error
  return new JobchartError('STORE_UNAVAILABLE', `${path} ${what}`, { hint, cause })
}

const beingRead = (path: string, cause: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `the connection to ${path} is reading: a statement of yours has not ended`, {
    hint: 'End the iteration before the call, or read with `all()`: between two rows of `iterate()` better-sqlite3 executes nothing, and node:sqlite writes nothing once another process has written.',
    cause,
  })

/** The file was removed after it was opened. */
export const removed = (path: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${path} was removed while it was in use`, {
    hint: 'Put it back; or a backup of it, without the -wal and -shm beside it. To begin with an empty one, start the process again.',
  })

/** The log or the shared memory was removed after the opening: other processes would not see the writes of this one. */
export const removedBeside = (beside: string, path: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${beside} was removed while ${path} was in use`, {
    hint: 'Stop every process that uses the file, then start them again: the last one to stop saves the log. Never remove the -wal and -shm files of an open file.',
  })

/** Another process runs a newer jobchart, and has changed the tables. */
export const newer = (path: string, version: number, known: number): JobchartError =>
  new JobchartError(
    'UNSUPPORTED',
    `${path} was written by a newer jobchart: it has version ${version}, this one knows ${known}`,
    { hint: 'Update jobchart in this process, or give it another file.' },
  )

const noDatabase = (path: string, cause: unknown): JobchartError =>
  new JobchartError('STORE_CORRUPT', `${path} is no SQLite file, or its beginning is damaged`, {
    hint: 'If jobchart has written it, stop every process that uses it, keep a copy, and restore a backup; otherwise name another file.',
    cause,
  })

/** What is wrong with the file, and what to do about it. */
export const damaged = (path: string, what: string, cause?: unknown, first = ''): JobchartError =>
  new JobchartError('STORE_CORRUPT', `${path} is damaged: ${what}`, {
    hint: `Stop every process that uses it, keep a copy, and ${first}restore a backup or recover it with the sqlite3 shell (.recover).`,
    ...(cause !== undefined && { cause }),
  })
