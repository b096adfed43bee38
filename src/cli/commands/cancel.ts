/** `jobchart cancel`: cancels jobs in any state and any process. */
import type { Command } from 'commander'
import type { Duration } from '../../core/duration.ts'
import { changeJobs, withSelection, type BulkOptions } from '../bulk.ts'
import { withClient } from '../open.ts'
import { duration, filterIn } from '../options.ts'
import type { Program } from '../command.ts'

interface CancelOptions extends BulkOptions {
  readonly reason?: string
  readonly grace?: Duration
}

export function cancelCommand({ command, terminal, run }: Program): Command {
  return withSelection(command('cancel', 'cancel jobs; the signals of running ones abort'))
    .option('--reason <text>', 'why, kept with the jobs')
    .option(
      '--grace <duration>',
      'how long a running handler may take to end (default: the grace of its runtime)',
      duration,
    )
    .action((ids: string[], options: CancelOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { reason, grace } = options
          const settings = { ...(grace !== undefined && { grace }), ...(reason !== undefined && { reason }) }
          return changeJobs(client, ids, options, terminal, {
            outcomes: ['cancelled', 'cancelling', 'notFound', 'finished'],
            wanted: ['cancelled', 'cancelling'],
            destroys: true,
            request: { kind: 'cancel', filter: filterIn(options), ...settings },
            act: (part) => client.cancel(part, settings),
          })
        }),
      ),
    )
}
