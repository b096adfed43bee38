/** `jobchart migrate`: brings a store to the version of this jobchart, or makes a new one. */
import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import type { PostgresAddress } from '../../core/address.ts'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { storeAddress } from '../address.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'

export function migrateCommand(program: Program): Command {
  const { command, terminal, run } = program
  return withStore(command('migrate', 'bring the store to the version of this jobchart; a new file is made'))
    .option('--dry-run', 'only say which versions they are')
    .option('--sql', 'of PostgreSQL: only print the statements')
    .action((options: MigrateOptions) =>
      run(options, async () => {
        const address = storeAddress(options.store)
        if (address.kind === 'redis') {
          // Its scripts come from this jobchart with each process; what they write has no version.
          const report = { path: address.where, from: null, to: null, changed: false }
          await terminal.print(options.json ? JSON.stringify(report) : `${address.where}: Redis has nothing to migrate`)
          return exitCodes.done
        }
        if (address.kind === 'postgres') return migratePostgres(program, address, options)
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

interface MigrateOptions extends StoreOptions {
  readonly dryRun?: true
  readonly sql?: true
}

async function migratePostgres(
  { terminal }: Program,
  { url, schema, where }: PostgresAddress,
  options: MigrateOptions,
): Promise<ExitCode> {
  const { inspectPostgresServer, postgresMigration, postgresStore } = await import('../../stores/postgres/index.ts')
  const own = schema === undefined ? {} : { schema }
  const { schemaVersion: from, newestVersion: to } = await inspectPostgresServer({ url, ...own })
  if (options.sql) {
    await terminal.print(postgresMigration(schema ?? 'jobchart', from))
    return exitCodes.done
  }
  const changes = from !== to && !options.dryRun
  if (changes) {
    // Opening migrates, in one transaction.
    const store = postgresStore({ url, ...own })
    await store.open({ clock: systemClock })
    await store.close()
  }
  if (options.json) await terminal.print(JSON.stringify({ path: where, from, to, changed: changes }))
  else await terminal.print(resultText(where, from, to, options.dryRun ?? false))
  return exitCodes.done
}

function resultText(path: string, from: number | null, to: number, dryRun: boolean): string {
  if (from === to) return `${path} has version ${to}, the version of this jobchart`
  if (from === null)
    return dryRun ? `${path} would be made, with version ${to}` : `${path} was made, with version ${to}`
  return `${path}: version ${from} ${dryRun ? 'would be' : 'was'} migrated to ${to}`
}
