/** `jobchart failures`: failed attempts, grouped by type and error. */
import type { Command } from 'commander'
import { JobchartError } from '../../core/errors.ts'
import type { Client, MergedFailureGroup } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { quoted } from './find.ts'
import { table, type Column } from '../table.ts'
import { grouped } from '../../core/counted.ts'
import { relative } from '../words.ts'

interface FailuresOptions extends StoreOptions {
  readonly type?: string
  readonly limit: number
  readonly merge?: readonly string[]
  readonly split?: readonly string[]
}

const columns = (now: number): readonly Column<MergedFailureGroup>[] => [
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
  { title: 'FAILURE', text: ({ fingerprints }) => fingerprints.join(' '), optional: 2 },
]

export function failuresCommand({ command, terminal, run }: Program): Command {
  return withStore(command('failures', 'show failed attempts by type and error, the last one first'))
    .option('-t, --type <type>', 'of this type')
    .option('-n, --limit <count>', 'groups', integer(1, 1_000), 20)
    .option('--merge <fingerprints...>', 'tell these groups of --type as one from now on')
    .option('--split <fingerprints...>', 'take these groups of --type apart again')
    .action((options: FailuresOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { type, limit } = options
          await changeMerges(client, options)
          const groups = await client.failures({ limit, ...(type !== undefined && { type }) })
          const now = client.store.now()
          if (options.json) await terminal.print(JSON.stringify({ now, groups }))
          else if (groups.length === 0) terminal.note('No attempt has failed.')
          else {
            await terminal.print(table(groups, columns(now), terminal))
            terminal.note(
              'The jobs of a group: jobchart ls --failure FAILURE; its dead ones again: jobchart retry -s dead --failure FAILURE; of several in one group repeat it',
            )
          }
          return exitCodes.done
        }),
      ),
    )
}

async function changeMerges(client: Client, { type, merge, split }: FailuresOptions): Promise<void> {
  if (merge === undefined && split === undefined) return
  if (type === undefined) {
    throw new JobchartError('INVALID_OPTION', '--merge and --split need the type of the groups', {
      hint: 'For example jobchart failures --type order --merge 1f0c2d… 9ab3e4…',
    })
  }
  if (merge?.length === 1) {
    throw new JobchartError('INVALID_OPTION', '--merge: expected two fingerprints or more', {
      hint: `jobchart failures --type ${quoted(type)} lists them, as FAILURE.`,
    })
  }
  if (split !== undefined) await client.splitFailures(type, split)
  if (merge !== undefined) await client.mergeFailures(type, merge)
}
