/** Our stores, by where they are. Each is loaded when it is used. */
import type { Store } from '../../src/store.ts'

/** A store in the file, with default options but for the thread it works in. */
export async function sqliteStoreAt(path: string, thread = false): Promise<Store> {
  const { sqliteStore } = await import('../../src/stores/sqlite/index.ts')
  return sqliteStore({ path, thread })
}

/** The option `store` of a runtime: one in the file or, without a file, the default. */
export const storeIn = async (file: string | undefined): Promise<{ readonly store?: Store }> =>
  file === undefined ? {} : { store: await sqliteStoreAt(file) }

/** A store on a server, with default options. */
export async function redisStoreAt(url: string, prefix: string): Promise<Store> {
  const { redisStore } = await import('../../src/stores/redis/index.ts')
  return redisStore({ url, prefix })
}

/** A store in a database, with default options. */
export async function postgresStoreAt(url: string, schema: string): Promise<Store> {
  const { postgresStore } = await import('../../src/stores/postgres/index.ts')
  return postgresStore({ url, schema })
}

/** Where a store is: plain data, so that it can be passed to another process. */
export type StoreLocation =
  | { readonly path: string }
  | { readonly url: string; readonly prefix: string }
  | { readonly url: string; readonly schema: string }

export function storeAt(location: StoreLocation): Promise<Store> {
  if ('path' in location) return sqliteStoreAt(location.path)
  return 'schema' in location
    ? postgresStoreAt(location.url, location.schema)
    : redisStoreAt(location.url, location.prefix)
}

/** Calls `use` with where a store of each name is on a server, which is gone afterwards. */
export type WithStores = <T>(use: (locationOf: (name: string) => StoreLocation) => Promise<T>) => Promise<T>
