/** `jobchart migrate`: brings a store to the version of this jobchart, or makes a new one. */
import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import { storeAddress } from '../address.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'

export function migrateCommand({ command, terminal, run }: Program): Command {
  return withStore(command('migrate', 'bring the store to the version of this jobchart; a new file is made'))
    .option('--dry-run', 'only say which versions they are')
    .action((options: StoreOptions & { readonly dryRun?: true }) =>
      run(options, async () => {
        const address = storeAddress(options.store)
        if (address.kind === 'redis') {
          // Its scripts come from this jobchart with each process; what they write has no version.
          const report = { path: address.where, from: null, to: null, changed: false }
          await terminal.print(options.json ? JSON.stringify(report) : `${address.where}: Redis has nothing to migrate`)
          return exitCodes.done
        }
        const { path } = address
        const { inspectSqliteFile, sqliteStore } = await import('../../stores/sqlite/index.ts')
        const { version: from, newestVersion: to } = inspectSqliteFile(path)
        const changes = from !== to
        if (changes && !options.dryRun) {
          // Opening migrates, one version after the other, each in a transaction.
          const { createClient } = await import('../../index.ts')
          const client = createClient({ store: sqliteStore({ path }) })
          try {
            await client.counts()
          } finally {
            await client.close()
          }
        }
        if (options.json) await terminal.print(JSON.stringify({ path, from, to, changed: changes && !options.dryRun }))
        else await terminal.print(resultText(path, from, to, options.dryRun ?? false))
        return exitCodes.done
      }),
    )
}

function resultText(path: string, from: number | null, to: number, dryRun: boolean): string {
  if (from === to) return `${path} has version ${to}, the version of this jobchart`
  if (from === null)
    return dryRun ? `${path} would be made, with version ${to}` : `${path} was made, with version ${to}`
  return `${path}: version ${from} ${dryRun ? 'would be' : 'was'} migrated to ${to}`
}
