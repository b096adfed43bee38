/**
 * Opens the store that the options of a command name. Modules that need the runtime are imported lazily, so that help,
 * completions and usage errors are printed at once.
 */
import { JobchartError } from '../core/errors.ts'
import type { Client, Store } from '../index.ts'
import type { PostgresAddress, RedisAddress } from '../core/address.ts'
import { storeAddress } from './address.ts'
import { loadJobs } from './modules.ts'
import type { StoreOptions } from './options.ts'

/**
 * The store at an address. A SQLite file, and a schema of PostgreSQL, must exist and be of this version: a reading
 * command must neither create nor migrate it.
 * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE, STORE_CORRUPT, UNSUPPORTED
 */
export async function openStore(text: string | undefined): Promise<Store> {
  const address = storeAddress(text)
  switch (address.kind) {
    case 'redis':
      return redisStoreAt(address)
    case 'postgres':
      return postgresStoreAt(address)
    case 'sqlite':
      return sqliteStoreAt(address.path)
  }
}

async function sqliteStoreAt(path: string): Promise<Store> {
  const { inspectSqliteFile, sqliteStore } = await import('../stores/sqlite/index.ts')
  const { version, newestVersion } = inspectSqliteFile(path)
  if (version === null) {
    throw new JobchartError('STORE_UNAVAILABLE', `${path} does not exist, or is empty`, {
      hint: 'Pass the file that the application uses. `jobchart migrate` creates a new one.',
    })
  }
  if (version < newestVersion) {
    throw new JobchartError('UNSUPPORTED', `${path} has version ${version}, this jobchart works on ${newestVersion}`, {
      hint: 'Use the jobchart of the application, or stop its processes and run `jobchart migrate`.',
    })
  }
  return sqliteStore({ path })
}

/** The application decides how much of the log is kept: no command shortens it. */
const transitionsMax = 1_000_000_000

async function redisStoreAt({ url, prefix }: RedisAddress): Promise<Store> {
  const { redisStore } = await import('../stores/redis/index.ts')
  return redisStore({ url, transitionsMax, ...(prefix !== undefined && { prefix }) })
}

async function postgresStoreAt({ url, schema, where }: PostgresAddress): Promise<Store> {
  const { inspectPostgresServer, postgresStore } = await import('../stores/postgres/index.ts')
  const own = schema === undefined ? {} : { schema }
  const { schemaVersion: version, newestVersion } = await inspectPostgresServer({ url, ...own })
  if (version === null) {
    throw new JobchartError('STORE_UNAVAILABLE', `${where} has no jobs of jobchart`, {
      hint: 'Pass the schema that the application uses. `jobchart migrate` makes a new one.',
    })
  }
  if (version < newestVersion) {
    throw new JobchartError('UNSUPPORTED', `${where} has version ${version}, this jobchart works on ${newestVersion}`, {
      hint: 'Use the jobchart of the application, or run `jobchart migrate`.',
    })
  }
  return postgresStore({ url, transitionsMax, ...own })
}

/** Runs `use` with a client of the store, and closes it. */
export async function withClient<Result>(
  options: StoreOptions,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const jobs = await loadJobs(options.jobs ?? [])
  const { createClient } = await import('../index.ts')
  const client = createClient({ store: await openStore(options.store), jobs })
  try {
    // Opens the store, so that commands can also call it directly.
    await client.counts()
    return await use(client)
  } finally {
    await client.close()
  }
}
