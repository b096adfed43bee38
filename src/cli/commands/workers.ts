/** `jobchart workers`: the runtimes that run jobs of the store. */
import type { Command } from 'commander'
import type { WorkerRecord } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import { duration, relative } from '../words.ts'

const columns = (now: number): readonly Column<WorkerRecord>[] => [
  { title: 'WORKER', text: ({ name }) => name, flexible: true },
  { title: 'HOST', text: ({ host }) => host, optional: 3 },
  { title: 'PID', text: ({ pid }) => String(pid), right: true, optional: 1 },
  { title: 'VERSION', text: ({ version }) => version, optional: 4 },
  { title: 'RUNS', text: ({ running, slots }) => `${running.length} of ${slots}`, right: true },
  { title: 'UP', text: ({ startedAt }) => duration(now - startedAt), right: true, optional: 2 },
  {
    title: 'SEEN',
    text: ({ seenAt, lost }) => `${relative(seenAt, now)}${lost ? ', lost' : ''}`,
    style: ({ lost }) => (lost ? 'red' : 'reset'),
  },
  { title: 'TYPES', text: ({ types }) => types.join(' '), flexible: true, optional: 5 },
]

export function workersCommand({ command, terminal, run }: Program): Command {
  return withStore(command('workers', 'list the runtimes that run jobs, and when each sent its last heartbeat')).action(
    (options: StoreOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const workers = await client.workers()
          const now = client.store.now()
          if (options.json) await terminal.print(JSON.stringify({ now, workers }))
          else if (workers.length === 0) terminal.note('No workers.')
          else await terminal.print(table(workers, columns(now), terminal))
          return exitCodes.done
        }),
      ),
  )
}
