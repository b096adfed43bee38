/** The PostgreSQL store: jobs in a schema of a database, shared by the processes of many hosts. */
import '../../core/node-version.ts'
import { byDefault, given, integer, table, type RulesOf } from '../../core/checks.ts'
import { caps } from '../../core/caps.ts'
import type { Store } from '../../store.ts'
import { postgresPort } from './port.ts'
import { schemaName } from './schema-name.ts'
import { postgresStoreOn } from './store.ts'
import { targetOf } from './target.ts'

export { inspectPostgresServer, postgresMigration, type PostgresServerInfo } from './inspect.ts'

export interface PostgresStoreOptions {
  /**
   * Where the database is: `postgres://user:password@host:5432/database`. It may list hosts, `postgres://a,b/database`:
   * the first one that takes writes is used. The driver is `pg`. One of `url`, `pool` and `pglite` must be given.
   */
  readonly url?: string
  /** A `Pool` of `pg`. It is left as it is: the store connects three times by the same settings. */
  readonly pool?: object
  /**
   * A `PGlite`, which is PostgreSQL in this process: for tests, and for programs of one process. Close it after the
   * store.
   */
  readonly pglite?: object
  /**
   * The schema of all tables and functions, default `jobchart`: stores of different schemas know nothing of each other.
   */
  readonly schema?: string
  /** Entries of the transition log that are kept at least, default 10,000. */
  readonly transitionsMax?: number
}

const postgresOptions = table(
  {
    // One of them is the target.
    url: given,
    pool: given,
    pglite: given,
    schema: byDefault('jobchart', schemaName),
    transitionsMax: byDefault(caps.transitions, integer(1, 1_000_000_000)),
  } satisfies RulesOf<PostgresStoreOptions>,
  { hint: "Pass where the database is: postgresStore({ url: 'postgres://localhost/app' })." },
)

/**
 * A store in a schema of a PostgreSQL database, version 14 or later. Nothing is sent before it is opened by a client or
 * a runtime, which also makes the schema, or brings it to this version.
 * @throws JobchartError INVALID_OPTION; its `open` rejects with STORE_UNAVAILABLE, or UNSUPPORTED (an older server,
 * another encoding than UTF8, a schema of a later jobchart, or no driver is installed)
 * @example
 * const runtime = createRuntime({ jobs, store: postgresStore({ url: 'postgres://localhost/app' }) })
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { schema, transitionsMax } = postgresOptions(options, 'options of postgresStore')
  return postgresStoreOn(postgresPort({ ...targetOf(options), schema, transitionsMax }))
}
