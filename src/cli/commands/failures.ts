/** `jobchart failures`: failed attempts, grouped by type and error. */
import type { Command } from 'commander'
import type { FailureGroup } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import { grouped } from '../../core/counted.ts'
import { relative } from '../words.ts'

interface FailuresOptions extends StoreOptions {
  readonly type?: string
  readonly limit: number
}

const columns = (now: number): readonly Column<FailureGroup>[] => [
  {
    title: 'DEAD',
    text: ({ dead }) => (dead === 0 ? '·' : grouped(dead)),
    style: ({ dead }) => (dead > 0 ? 'red' : 'reset'),
    right: true,
  },
  { title: 'FAILED', text: ({ count }) => grouped(count), right: true },
  { title: 'TYPE', text: ({ type }) => type, flexible: true },
  { title: 'ERROR', text: ({ name, message }) => `${name}: ${message}`, flexible: true },
  { title: 'CODE', text: ({ code }) => code ?? '', optional: 3 },
  { title: 'FIRST', text: ({ firstAt }) => relative(firstAt, now), optional: 4 },
  { title: 'LAST', text: ({ lastAt }) => relative(lastAt, now), optional: 1 },
  { title: 'FAILURE', text: ({ fingerprint }) => fingerprint, optional: 2 },
]

export function failuresCommand({ command, terminal, run }: Program): Command {
  return withStore(command('failures', 'show failed attempts by type and error, the last one first'))
    .option('-t, --type <type>', 'of this type')
    .option('-n, --limit <count>', 'groups', integer(1, 1_000), 20)
    .action((options: FailuresOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { type, limit } = options
          const groups = await client.failures({ limit, ...(type !== undefined && { type }) })
          const now = client.store.now()
          if (options.json) await terminal.print(JSON.stringify({ now, groups }))
          else if (groups.length === 0) terminal.note('No attempt has failed.')
          else {
            await terminal.print(table(groups, columns(now), terminal))
            terminal.note(
              'The jobs of a group: jobchart ls --failure FAILURE; its dead ones again: jobchart retry -s dead --failure FAILURE',
            )
          }
          return exitCodes.done
        }),
      ),
    )
}
