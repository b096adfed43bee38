/** Stores by their addresses, as they stand in the environment of a program. */
import '../core/node-version.ts'
import type { Store } from '../store.ts'
import { storeAt } from './store-at.ts'

/**
 * The store at an address: `redis://user:password@host:6379/0?prefix=shop` (`rediss://` for TLS),
 * `postgres://user:password@host:5432/database?schema=shop`, the path of a SQLite file (also as `sqlite:jobs.db`), or
 * `memory:`. The same as `store: address` of `createRuntime` and `createClient`,
 * and as `--store` of the command line. A file that is not there is created.
 * @throws JobchartError INVALID_OPTION. Its `open` rejects as that of the store
 * @example const store = openStore(process.env.JOBS ?? 'jobs.db')
 */
export const openStore = (address: string): Store => storeAt(address, 'address')
