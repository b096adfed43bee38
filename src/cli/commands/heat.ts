/** `jobchart heat`: how the machines of a type have gone through their chart. */
import { Option, type Command } from 'commander'
import { grouped } from '../../core/counted.ts'
import { isKnownType } from '../../core/figures.ts'
import { eventInWords } from '../../core/event-words.ts'
import { brief } from '../../core/time-words.ts'
import type { HeatPeriod, StateHeat, TransitionHeat } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import { unknownType } from '../words.ts'

interface HeatCommandOptions extends StoreOptions {
  readonly period: HeatPeriod
  readonly machineVersion?: string
}

const times: readonly (readonly [title: string, ms: (state: StateHeat) => number])[] = [
  ['MEDIAN', ({ p50Ms }) => p50Ms],
  ['P95', ({ p95Ms }) => p95Ms],
  ['P99', ({ p99Ms }) => p99Ms],
]

const stateColumns: readonly Column<StateHeat>[] = [
  { title: 'STATE', text: ({ state }) => state, flexible: true },
  { title: 'LEFT', text: ({ count }) => grouped(count), right: true },
  ...times.map(([title, ms]): Column<StateHeat> => ({ title, text: (state) => brief(ms(state)), right: true })),
]

const transitionColumns: readonly Column<TransitionHeat>[] = [
  { title: 'TRANSITION', text: ({ id }) => transitionInWords(id), flexible: true },
  { title: 'TAKEN', text: ({ count }) => grouped(count), right: true },
  { title: 'LAST BY', text: ({ lastId }) => lastId, optional: 1 },
]

/** `order.cart:BUY:1` → `order.cart BUY (2)`: the second one of this event. */
function transitionInWords(id: string): string {
  const [, source, event, index] = /^(.*?):(.*):(\d+)$/s.exec(id) ?? []
  if (source === undefined || event === undefined) return id
  const place = index === '0' ? '' : ` (${Number(index) + 1})`
  return `${source} ${event === '' ? 'always' : eventInWords(event)}${place}`
}

export function heatCommand({ command, terminal, run }: Program): Command {
  return withStore(command('heat', 'show how machines have gone through their chart: times in states, and transitions'))
    .argument('<type>', 'the type of the jobs')
    .addOption(
      new Option('-p, --period <period>', 'this hour and the one before, this and 24 before, or 8 days')
        .choices(['hour', 'day', 'week'])
        .default('day'),
    )
    .option('--machine-version <version>', 'of this version of the machine')
    .action((type: string, options: HeatCommandOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { period, machineVersion: version } = options
          const heat = await client.queue(type).heat({ period, ...(version !== undefined && { version }) })
          if (options.json) await terminal.print(JSON.stringify(heat))
          else if (heat.transitions.length === 0 && heat.states.length === 0) {
            terminal.note(`No machine of ${type} has moved in this time.`)
            const { counts } = await client.queue(type).stats()
            if (!isKnownType(client.jobs, type, counts)) terminal.note(unknownType(type))
          } else {
            await terminal.print(table(heat.states, stateColumns, terminal))
            await terminal.print(table(heat.transitions, transitionColumns, terminal))
          }
          return exitCodes.done
        }),
      ),
    )
}
