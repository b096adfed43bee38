/** `jobchart discard`: removes jobs that have ended. */
import type { Command } from 'commander'
import { changeJobs, withSelection, type BulkOptions } from '../bulk.ts'
import { withClient } from '../open.ts'
import type { Program } from '../command.ts'

export function discardCommand({ command, terminal, run }: Program): Command {
  return withSelection(command('discard', 'remove jobs that have ended')).action(
    (ids: string[], options: BulkOptions) =>
      run(options, () =>
        withClient(options, (client) =>
          changeJobs(client, ids, options, terminal, {
            verb: 'discard',
            wanted: ['discarded'],
            destroys: true,
            act: async (selection) => {
              const { discarded, refused, notFound, next } = await client.store.discard(selection)
              return { outcomes: { discarded, refused, notFound }, next }
            },
          }),
        ),
      ),
  )
}
