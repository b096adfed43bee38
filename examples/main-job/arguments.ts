/** What the command line says, checked: a folder that is there, numbers that make sense. */
import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'

export interface Options {
  readonly folder: string
  /** Share of the attempts that are made to fail, 0…1. */
  readonly fail: number
  readonly concurrency: number
  readonly seed: number
  readonly store: (typeof stores)[number]
  /** Where the SQLite file is; null = where this program thinks best. */
  readonly db: string | null
  /** Forget what is done? */
  readonly fresh: boolean
  /** Send what is dead through again? */
  readonly retry: boolean
  /** Is the dashboard opened in a browser, and served until Ctrl-C? */
  readonly open: boolean
  /** Where each run leaves a line; null = nowhere. */
  readonly ledger: string | null
}

/** Something the user can put right; shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const defaultConcurrency = 8
const stores = ['sqlite', 'memory'] as const

export const help = `Looks through a folder with three kinds of jobs per file: hash it, compress it, count its lines.

Usage
  npm start -- [folder] [options]

  folder               the folder to look through              (default: node_modules)
  --fail <share>       let this share of all attempts fail, 0…1       (default: 0)
  --seed <number>      which attempts those are                       (default: 1)
  --concurrency <n>    slots: jobs at once, 1…256                     (default: ${defaultConcurrency})
  --store <kind>       where the jobs are kept: sqlite, memory        (default: sqlite)
  --db <file>          the SQLite file            (default: one per folder, in .jobchart)
  --fresh              do again what is done already
  --retry              do again what is dead
  --open               open the dashboard, and serve it until Ctrl-C
  --ledger <file>      append what is done, line by line
  --help               this text

Kill it, and start it again: it goes on where it was, and does nothing twice but what was in hand. Files that have changed
are done again. Several at once share the work.

A text file with a line of 500 kB and more is suspicious: its review waits ten minutes for a person, who decides on the
dashboard. A review that waits does not keep the program; the next start goes on with it.

Progress goes to stderr, the summary to stdout. Ctrl-C lets the running jobs end and sums up; twice aborts them.

Exit codes
  0  all jobs done     1  some jobs are dead     2  bad arguments, or no use of the file     130  interrupted
`

/** @returns 'help' if that was asked for @throws UsageError */
export function readArguments(args: string[]): Options | 'help' {
  const { values, positionals } = parse(args)
  if (values.help === true) return 'help'
  if (positionals.length > 1) throw new UsageError(`one folder at a time, got ${positionals.join(', ')}`)
  const store = oneOf('--store', values.store ?? 'sqlite', stores)
  if (values.db !== undefined && store !== 'sqlite') throw new UsageError('--db goes with --store sqlite only')
  return {
    store,
    db: values.db === undefined ? null : given('--db', values.db),
    fresh: values.fresh ?? false,
    retry: values.retry ?? false,
    open: values.open ?? false,
    ledger: values.ledger === undefined ? null : given('--ledger', values.ledger),
    fail: number('--fail', values.fail ?? '0', 0, 1),
    concurrency: whole('--concurrency', values.concurrency ?? String(defaultConcurrency), 1, 256),
    seed: whole('--seed', values.seed ?? '1', 0, 2 ** 32 - 1),
    folder: existingFolder(positionals[0] ?? 'node_modules'),
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        fail: { type: 'string' },
        concurrency: { type: 'string' },
        store: { type: 'string' },
        db: { type: 'string' },
        fresh: { type: 'boolean' },
        retry: { type: 'boolean' },
        open: { type: 'boolean' },
        ledger: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

function existingFolder(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new UsageError(`there is no folder ${path}`)
  if (!stats.isDirectory()) throw new UsageError(`${path} is not a folder`)
  return path
}

function oneOf<T extends string>(option: string, text: string, all: readonly T[]): T {
  const found = all.find((each) => each === text)
  if (found !== undefined) return found
  throw new UsageError(`${option} takes ${all.join(' or ')}, got ${JSON.stringify(text)}`)
}

function given(option: string, text: string): string {
  if (text.trim() !== '') return text
  throw new UsageError(`${option} takes the path of a file`)
}

function number(option: string, text: string, min: number, max: number): number {
  const value = text.trim() === '' ? NaN : Number(text)
  if (value >= min && value <= max) return value
  throw new UsageError(`${option} takes a number from ${min} to ${max}, got ${JSON.stringify(text)}`)
}

function whole(option: string, text: string, min: number, max: number): number {
  const value = number(option, text, min, max)
  if (Number.isInteger(value)) return value
  throw new UsageError(`${option} takes a whole number, got ${text}`)
}
