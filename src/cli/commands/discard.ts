/** `jobchart discard`: removes jobs that have ended. */
import type { Command } from 'commander'
import { changeJobs, withSelection, type BulkOptions } from '../bulk.ts'
import { withClient } from '../open.ts'
import { filterIn } from '../options.ts'
import type { Program } from '../command.ts'

export function discardCommand({ command, terminal, run }: Program): Command {
  return withSelection(command('discard', 'remove jobs that have ended')).action(
    (ids: string[], options: BulkOptions) =>
      run(options, () =>
        withClient(options, (client) =>
          changeJobs(client, ids, options, terminal, {
            outcomes: ['discarded', 'refused', 'notFound'],
            wanted: ['discarded'],
            refused: 'what has not ended',
            destroys: true,
            request: { kind: 'discard', filter: filterIn(options) },
            act: (part) => client.discard(part),
          }),
        ),
      ),
  )
}
