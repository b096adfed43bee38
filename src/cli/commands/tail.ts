/** `jobchart tail`: the transitions of all processes, as they happen. */
import type { Command } from 'commander'
import { noteInWords } from '../../core/event-words.ts'
import type { Client, TransitionEntry } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine, stateStyles, timeOfDay } from '../words.ts'

interface TailOptions extends StoreOptions {
  readonly lines: number
  readonly type?: string
  readonly id?: string
  readonly event?: string
  readonly follow: boolean
}

export function tailCommand({ command, terminal, run }: Program): Command {
  return withStore(command('tail', 'follow the transitions of jobs, of all processes'))
    .option('-n, --lines <count>', 'how many past transitions are printed first', integer(0, 10_000), 10)
    .option('-t, --type <type>', 'of jobs of this type')
    .option('--id <id>', 'of this job')
    .option('-e, --event <event>', 'of this event, such as FAIL')
    .option('--no-follow', 'print past transitions only')
    .action((options: TailOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { cursor, entries } = await lastEntries(client, options)
          for (const entry of entries) await terminal.print(line(entry, options, terminal))
          if (options.follow) await follow(client, cursor, options, terminal)
          return exitCodes.done
        }),
      ),
    )
}

const isMeant = ({ type, id, event }: TransitionEntry, options: TailOptions): boolean =>
  (options.type === undefined || type === options.type) &&
  (options.id === undefined || id === options.id) &&
  (options.event === undefined || event === options.event.toUpperCase())

interface LastEntries {
  readonly entries: readonly TransitionEntry[]
  /** Cursor of the next read; null while the log has no entry. */
  readonly cursor: string | null
}

/** Reads the log to its end: it is bounded, and cannot be read backwards. */
async function lastEntries(client: Client, options: TailOptions): Promise<LastEntries> {
  let cursor: string | null = null
  let entries: TransitionEntry[] = []
  for (;;) {
    const page = await client.store.transitions(cursor, 1_000)
    const found = [...entries, ...page.transitions.filter((entry) => isMeant(entry, options))]
    entries = found.slice(Math.max(0, found.length - options.lines))
    cursor = page.next
    if (page.transitions.length < 1_000) return { cursor, entries }
  }
}

async function follow(client: Client, cursor: string | null, options: TailOptions, terminal: Terminal): Promise<void> {
  const { signal } = terminal
  const stream = client.transitions$(cursor === null ? {} : { from: cursor })
  try {
    for await (const entry of stream.iterate({ signal, buffer: 100_000 })) {
      if (isMeant(entry, options)) await terminal.print(line(entry, options, terminal))
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function line(entry: TransitionEntry, { json }: TailOptions, terminal: Terminal): string {
  if (json) return JSON.stringify(entry)
  const { at, event, to, type, id, attempt, worker, reason } = entry
  const why = event === 'CHECKPOINT' ? noteInWords(reason ?? '') : (reason ?? '')
  const details = [attempt > 0 ? `attempt ${attempt}` : '', worker ?? '', why].filter((part) => part !== '')
  return [
    terminal.style('dim', timeOfDay(at)),
    event.padEnd(10),
    terminal.style(stateStyles[to], to.padEnd(10)),
    oneLine(type),
    oneLine(id),
    terminal.style('dim', oneLine(details.join(', '))),
  ]
    .join('  ')
    .trimEnd()
}
