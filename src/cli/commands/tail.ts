/** `jobchart tail`: the transitions of all processes, as they happen. */
import { InvalidArgumentError, type Command } from 'commander'
import { noteInWords } from '../../core/event-words.ts'
import { allArrows } from '../../core/lifecycle.ts'
import type { Client, TransitionEntry } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine, stateStyles, timeOfDay } from '../words.ts'
import { WorkerNames } from '../worker-names.ts'

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
    .option('-e, --event <event>', 'of this event, such as FAIL', event)
    .option('--no-follow', 'print past transitions only')
    .action((options: TailOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { cursor, entries } = await lastEntries(client, options)
          const print = printer(new WorkerNames(client), options, terminal)
          for (const entry of entries) await print(entry)
          if (options.follow) await follow(client, cursor, options, terminal.signal, print)
          return exitCodes.done
        }),
      ),
    )
}

const events: ReadonlySet<string> = new Set(['ENQUEUE', ...allArrows.map(({ event: name }) => name), 'CHECKPOINT'])

function event(text: string): string {
  const name = text.toUpperCase()
  if (events.has(name)) return name
  throw new InvalidArgumentError(`Expected one of ${[...events].join(', ')}.`)
}

const isMeant = (entry: TransitionEntry, options: TailOptions): boolean =>
  (options.type === undefined || entry.type === options.type) &&
  (options.id === undefined || entry.id === options.id) &&
  (options.event === undefined || entry.event === options.event)

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

type Print = (entry: TransitionEntry) => Promise<void>

async function follow(
  client: Client,
  cursor: string | null,
  options: TailOptions,
  signal: AbortSignal,
  print: Print,
): Promise<void> {
  const stream = client.transitions$(cursor === null ? {} : { from: cursor })
  try {
    for await (const entry of stream.iterate({ signal, buffer: 100_000 })) {
      if (isMeant(entry, options)) await print(entry)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

const printer =
  (names: WorkerNames, { json }: TailOptions, terminal: Terminal): Print =>
  async (entry) =>
    terminal.print(json ? JSON.stringify(entry) : line(entry, await names.of(entry.worker), terminal))

function line(entry: TransitionEntry, worker: string, terminal: Terminal): string {
  const { at, to, type, id, attempt, reason } = entry
  const why = entry.event === 'CHECKPOINT' ? noteInWords(reason ?? '') : (reason ?? '')
  const details = [attempt > 0 ? `attempt ${attempt}` : '', worker, why].filter((part) => part !== '')
  return [
    terminal.style('dim', timeOfDay(at)),
    entry.event.padEnd(10),
    terminal.style(stateStyles[to], to.padEnd(10)),
    oneLine(type),
    oneLine(id),
    terminal.style('dim', oneLine(details.join(', '))),
  ]
    .join('  ')
    .trimEnd()
}
