/** `jobchart retry`: queues dead and cancelled jobs again. */
import type { Command } from 'commander'
import { changeJobs, withSelection, type BulkOptions } from '../bulk.ts'
import { withClient } from '../open.ts'
import { filterIn, integer } from '../options.ts'
import type { Program } from '../command.ts'

interface RetryOptions extends BulkOptions {
  readonly fromStart?: true
  readonly dropInbox?: number
}

export function retryCommand({ command, terminal, run }: Program): Command {
  return withSelection(command('retry', 'run dead or cancelled jobs again'))
    .option('--from-start', 'machines start from their initial state, not from their last checkpoint')
    .option(
      '--drop-inbox <count>',
      'how many unread messages of a machine are dropped, the oldest first',
      integer(0, 10_000),
    )
    .action((ids: string[], options: RetryOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { fromStart = false, dropInbox = 0 } = options
          const terms = { from: fromStart ? 'start' : 'checkpoint', dropInbox } as const
          return changeJobs(client, ids, options, terminal, {
            outcomes: ['retried', 'refused', 'notFound'],
            wanted: ['retried'],
            refused: 'what is neither dead nor cancelled, or whose unique key another job holds',
            destroys: false,
            request: { kind: 'retry', filter: filterIn(options), ...terms },
            act: (part) => client.retry(part, terms),
          })
        }),
      ),
    )
}
