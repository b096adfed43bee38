/**
 * Opens the store and loads the definitions that the options of a command name. Modules that need the runtime are imported lazily,
 * so that help, completions and usage errors are printed at once.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { invalidOption, JobchartError } from '../core/errors.ts'
import type { Client, JobDefinition, Store } from '../index.ts'
import { parseAddress, type RedisAddress } from './address.ts'
import type { StoreOptions } from './options.ts'

/**
 * The store at an address. A SQLite file must exist and be of this version: a reading command must neither create a file nor migrate it.
 * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE, STORE_CORRUPT, UNSUPPORTED
 */
export async function openStore(text: string | undefined): Promise<Store> {
  const address = parseAddress(text)
  return address.kind === 'redis' ? redisStoreAt(address) : sqliteStoreAt(address.path)
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

/** Everything that a module exports. @throws JobchartError INVALID_OPTION; with `problems` if a machine in it cannot be a job */
export async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    if (error instanceof JobchartError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const isTypes = code === 'ERR_UNKNOWN_FILE_EXTENSION'
    const hint = isTypes
      ? 'This Node does not run TypeScript: use Node 22.18 or newer, or name the compiled file.'
      : 'The module must load by itself: node FILE. It is run, so keep the start of the runtime in another module.'
    throw new JobchartError('INVALID_OPTION', `${file} cannot be loaded: ${message}`, { hint, cause: error })
  }
}

export const isJobDefinition = (value: unknown): value is JobDefinition =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'limits' in value &&
  'maxAttempts' in value

/**
 * The definitions that a module exports, in lists or by themselves. Lists come first: their order says which version of a machine
 * is the current one, and the exports of a module have none.
 */
export function jobsIn(exported: Readonly<Record<string, unknown>>): readonly JobDefinition[] {
  const values = Object.values(exported)
  return [...values.filter((value) => Array.isArray(value)), ...values].flat().filter(isJobDefinition)
}

/** The definitions that modules export. @throws JobchartError INVALID_OPTION */
async function loadJobs(files: readonly string[]): Promise<readonly JobDefinition[]> {
  const found = new Set<JobDefinition>()
  for (const file of files) {
    const jobs = jobsIn(await loadModule(file))
    for (const job of jobs) found.add(job)
    if (jobs.length > 0) continue
    throw invalidOption('--jobs', 'a module that exports results of defineJob', file, 'Export them, or a list of them.')
  }
  return [...found]
}
