/** `jobchart top`: queues, rates and running jobs on the whole screen, live. */
import type { Command } from 'commander'
import type { Client, WorkerRecord } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { queueColumns, queueRows, totalRates } from '../queue-rows.ts'
import { table } from '../table.ts'
import { printable, type Terminal } from '../terminal.ts'
import { counted, grouped } from '../../core/counted.ts'
import { duration, rate, timeOfDay } from '../words.ts'

interface TopOptions extends StoreOptions {
  readonly interval: number
  readonly once?: true
}

export function topCommand({ command, terminal, run }: Program): Command {
  return withStore(command('top', 'show queues and running jobs on the whole screen, live; q ends it'))
    .option('-i, --interval <seconds>', 'time between two updates', integer(1, 3_600), 1)
    .option('--once', 'print once and end; the default where the output is no terminal')
    .action((options: TopOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          if (options.json) await terminal.print(JSON.stringify(await figures(client)))
          else if (options.once || terminal.columns === null) await terminal.print(await picture(client, terminal))
          else await live(client, options, terminal)
          return exitCodes.done
        }),
      ),
    )
}

async function figures(client: Client) {
  const workers = await client.workers({ inputs: false })
  const queues = await queueRows(client, workers)
  return { now: client.store.now(), perSecond: await totalRates(client), queues, workers }
}

async function picture(client: Client, terminal: Terminal, rows = Infinity): Promise<string> {
  const { now, perSecond, queues, workers } = await figures(client)
  const running = workers.flatMap((worker) => worker.running.map((run) => ({ ...run, worker })))
  const alive = workers.filter(({ lost }) => !lost)
  const slots = alive.reduce((sum, worker) => sum + worker.slots, 0)
  const figuresShown = [
    timeOfDay(now),
    `done ${rate(perSecond.done)}`,
    `failed ${rate(perSecond.failed)}`,
    `${grouped(running.length)} of ${counted(slots, 'slot')}`,
    `${counted(alive.length, 'worker')}${lostText(workers, alive)}`,
  ]
  const busiest = queues.toSorted((a, b) => b.counts.running + b.counts.queued - a.counts.running - a.counts.queued)
  const head = fitting(figuresShown, terminal.columns)
  const oldestFirst = running.toSorted((a, b) => a.since - b.since)
  const queueLines = table(busiest, queueColumns(now), terminal).split('\n')
  const runningLines =
    running.length === 0 ? [] : ['', ...table(oldestFirst, runningColumns(now), terminal).split('\n')]
  const lines = [`${terminal.style('bold', 'jobchart')}${head}`, '', ...inRoom(queueLines, runningLines, rows - 2)]
  return lines.slice(0, rows).join('\n')
}

/** The first lines of two tables that have room on a screen: half of it each, and what the other one leaves. */
export function inRoom(above: readonly string[], below: readonly string[], lines: number): readonly string[] {
  const room = Math.max(0, lines)
  const lower = Math.min(below.length, Math.max(Math.floor(room / 2), room - above.length))
  return [...above.slice(0, room - lower), ...below.slice(0, lower)]
}

/** As many of the texts as fit beside the name. */
const fitting = (texts: readonly string[], columns: number | null): string =>
  texts.reduce((line, text) => {
    const longer = `${line}   ${text}`
    return columns !== null && 'jobchart'.length + longer.length >= columns ? line : longer
  }, '')

const lostText = (all: readonly WorkerRecord[], alive: readonly WorkerRecord[]): string =>
  all.length === alive.length ? '' : `, ${all.length - alive.length} lost`

type Running = WorkerRecord['running'][number] & { readonly worker: WorkerRecord }

const runningColumns = (now: number) =>
  [
    { title: 'RUNNING', text: ({ id }: Running) => id, flexible: true },
    { title: 'TYPE', text: ({ type }: Running) => type, flexible: true },
    { title: 'FOR', text: ({ since }: Running) => duration(now - since), right: true },
    { title: 'ATTEMPT', text: ({ attempt }: Running) => String(attempt), right: true, optional: 1 },
    { title: 'WORKER', text: ({ worker }: Running) => worker.name, optional: 2 },
    {
      title: 'CHECK-IN',
      text: ({ checkin }: Running) => (checkin === null ? '' : JSON.stringify(checkin.value)),
      flexible: true,
      optional: 3,
    },
  ] as const

const screen = {
  // A line that is too long after all, as in a very narrow terminal, ends at the edge.
  enter: '\u001B[?1049h\u001B[?25l\u001B[?7l',
  leave: '\u001B[?7h\u001B[?25h\u001B[?1049l',
  home: '\u001B[H',
  end: '\u001B[J',
}

async function live(client: Client, { interval }: TopOptions, terminal: Terminal): Promise<void> {
  const keys = terminal.keys()
  terminal.write(screen.enter)
  try {
    while (!terminal.signal.aborted && !keys.signal.aborted) {
      const lines = (await picture(client, terminal, terminal.rows - 1)).split('\n')
      // Clears the rest of the line: the previous content may have been longer.
      terminal.write(`${screen.home}${lines.map((line) => `${printable(line)}\u001B[K`).join('\n')}${screen.end}`)
      await terminal.sleep(interval * 1_000, keys.signal)
    }
  } finally {
    keys.close()
    terminal.write(screen.leave)
  }
}
