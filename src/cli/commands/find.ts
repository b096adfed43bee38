/** `jobchart find`: one search over everything by which jobs are found. */
import type { Command } from 'commander'
import { counted, grouped } from '../../core/counted.ts'
import type { FindHit, FindKind, FindOther, FindSearched } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { table, type Column } from '../table.ts'

interface FindCommandOptions extends StoreOptions {
  readonly limit: number
}

const words: Readonly<Record<FindKind, string>> = {
  job: 'job',
  key: 'key',
  concurrencyKey: 'concurrency key',
  tag: 'tag',
  meta: 'meta',
  type: 'type',
  machineState: 'state of machine',
  machineTag: 'tag of machine',
  failure: 'failure',
}

/** The command that shows what a hit stands for. */
function commandOf({ kind, value, name, filter }: FindHit): string {
  if (kind === 'job') return `show ${quoted(value)}`
  if (kind === 'meta') return `ls --meta ${quoted(`${name}=${value}`)}`
  if (kind === 'failure') return `ls ${failuresOption([filter?.failure ?? []].flat())}`
  const option = kind.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return `ls --${option} ${quoted(value)}`
}

/** What chooses the jobs of a group of failures. */
const failuresOption = (fingerprints: readonly string[]): string =>
  fingerprints.map((fingerprint) => `--failure ${fingerprint}`).join(' ')

/** A word of a command line. */
export const quoted = (text: string): string =>
  /^[\w.:/=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const columns: readonly Column<FindHit>[] = [
  { title: 'WHAT', text: ({ kind }) => words[kind] },
  {
    title: 'FOUND',
    text: ({ kind, name, value }) => (kind === 'meta' ? `${name}=${value}` : value),
    style: ({ exact }) => (exact ? 'bold' : 'reset'),
    flexible: true,
  },
  { title: 'OF', text: ({ kind, name }) => (kind === 'meta' ? '' : (name ?? '')), optional: 2, flexible: true },
  { title: 'JOBS', text: ({ jobs, more }) => `${grouped(jobs)}${more ? '+' : ''}`, right: true },
  { title: 'SHOW', text: commandOf, optional: 1 },
]

const otherColumns: readonly Column<FindOther>[] = [
  { title: 'WHAT', text: ({ kind }) => kind },
  { title: 'FOUND', text: ({ name }) => name, flexible: true },
  { title: 'OF', text: ({ of }) => of, optional: 2, flexible: true },
  { title: 'SHOW', text: ({ kind }) => `${kind}s`, optional: 1 },
]

/**
 * What was searched: always if that was not all, and otherwise if nothing was found.
 * @param isMissed was nothing found that has the text?
 */
function searchedLines(searched: readonly FindSearched[], isMissed: boolean): string[] {
  const list = (some: readonly FindSearched[]): string => some.map(({ kind }) => words[kind]).join(', ')
  const partly = searched.filter(({ newest }) => newest !== null)
  const [first] = partly
  const lines: string[] = []
  if (first !== undefined) {
    const jobs = counted(first.newest ?? 0, 'job')
    lines.push(`Searched by ${list(partly)}: the ${jobs} that were enqueued last. By all else: every job.`)
  } else if (isMissed) lines.push(`Searched by ${list(searched)}: every job.`)
  if (isMissed) lines.push('Searched by name: workers, schedules.')
  return lines
}

export function findCommand({ command, terminal, run }: Program): Command {
  return withStore(command('find', 'find jobs by a text: id, key, tag, meta, type, state of a machine, error'))
    .argument('<text>', 'what an id, a key, a tag or a value of meta begins with, or what a type, state or error has')
    .option('-n, --limit <count>', 'hits of each kind', integer(1, 100), 10)
    .action((text: string, options: FindCommandOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const result = await client.find(text, { limit: options.limit })
          const { hits, others = [], near, searched, as: read } = result
          if (options.json) await terminal.print(JSON.stringify(result))
          else {
            if (hits.length + others.length === 0 || near !== null || read !== undefined)
              terminal.note(`Nothing begins with or has ${quoted(text)}.`)
            if (near !== null) terminal.note(`Near it, what begins with or has ${quoted(near)}:`)
            if (read !== undefined) terminal.note(`As ${quoted(read)}:`)
            if (hits.length > 0) await terminal.print(table(hits, columns, terminal))
            if (others.length > 0) await terminal.print(table(others, otherColumns, terminal))
            const isMissed = near !== null || hits.length + others.length === 0
            for (const line of searchedLines(searched, isMissed)) terminal.note(line)
          }
          return exitCodes.done
        }),
      ),
    )
}
