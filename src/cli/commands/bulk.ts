/** `jobchart bulk`: lists, stops and goes on with bulk operations. */
import type { Command } from 'commander'
import { expectDone } from '../../core/bulk-options.ts'
import { JobchartError } from '../../core/errors.ts'
import type { BulkOperation, BulkState, Client } from '../../index.ts'
import { progressText } from '../bulk.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import { helpCommand, listingCommand, type Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import type { Style } from '../terminal.ts'
import { oneLine, relative } from '../words.ts'

const stateStyles: Readonly<Record<BulkState, Style>> = {
  running: 'blueBright',
  done: 'green',
  stopped: 'gray',
  failed: 'red',
}

const columns = (now: number): readonly Column<BulkOperation>[] => [
  { title: 'ID', text: ({ id }) => id },
  { title: 'CHANGE', text: ({ change }) => change.kind },
  { title: 'STATE', text: ({ state }) => state, style: ({ state }) => stateStyles[state] },
  { title: 'JOBS', text: progressText },
  { title: 'REQUESTED', text: ({ requestedAt }) => relative(requestedAt, now), optional: 2 },
  { title: 'ENDED', text: ({ endedAt }) => relative(endedAt, now), optional: 3 },
  {
    title: 'OF',
    text: ({ filter, error }) => oneLine(error?.message ?? filterText(filter)),
    flexible: true,
    optional: 1,
  },
]

/** `type=email.send state=dead,cancelled`. */
const filterText = (filter: BulkOperation['filter']): string =>
  Object.entries(filter)
    .map(
      ([name, value]) => `${name}=${Array.isArray(value) || typeof value !== 'object' ? value : JSON.stringify(value)}`,
    )
    .join(' ')

/** @returns the id if the store has the operation */
async function known(client: Client, id: string): Promise<string> {
  if ((await client.bulk.list()).some((operation) => operation.id === id)) return id
  throw new JobchartError('NOT_FOUND', `bulk operation ${id} is not in the store`, {
    hint: '`jobchart bulk` lists those that run and the last ones that have ended.',
  })
}

export function bulkCommand({ command, terminal, run }: Program): Command {
  const bulk = command('bulk', 'list bulk operations; stop one, or go on with it')
  withStore(listingCommand(bulk, 'list the retries, cancels and discards of all jobs that match a filter')).action(
    (options: StoreOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const operations = await client.bulk.list()
          const now = client.store.now()
          if (options.json) await terminal.print(JSON.stringify({ now, operations }))
          else if (operations.length === 0) terminal.note('No bulk operations.')
          else await terminal.print(table(operations, columns(now), terminal))
          return exitCodes.done
        }),
      ),
  )
  withStore(
    bulk.command('stop').description('stop one after its current batch; what it has done stays').argument('<id>'),
  ).action((id: string, options: StoreOptions) =>
    run(options, () =>
      withClient(options, async (client) => {
        const operation = await client.bulk.stop(await known(client, id))
        await terminal.print(
          options.json ? JSON.stringify({ operation }) : `${operation.state}: ${progressText(operation)}`,
        )
        return exitCodes.done
      }),
    ),
  )
  withStore(
    bulk
      .command('resume')
      .description('take over an operation that no process carries out, or wait until it has ended')
      .argument('<id>'),
  ).action((id: string, options: StoreOptions) =>
    run(options, () =>
      withClient(options, async (client) => {
        const operation = await client.bulk.resume(await known(client, id), {
          signal: terminal.signal,
          onProgress: (now) => terminal.progress(`${now.change.kind}: ${progressText(now)}`),
        })
        terminal.progress('')
        expectDone(operation)
        await terminal.print(options.json ? JSON.stringify({ operation }) : progressText(operation))
        return exitCodes.done
      }),
    ),
  )
  helpCommand(bulk)
  return bulk
}
