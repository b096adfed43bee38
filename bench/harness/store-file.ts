/** Our stores, by the file they are in. Loaded when they are used: a benchmark of another store has nothing to do with them. */
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

/** Where a store is: plain data, so that it can be passed to another process. */
export type Place = { readonly path: string } | { readonly url: string; readonly prefix: string }

export const storeAt = (place: Place): Promise<Store> =>
  'path' in place ? sqliteStoreAt(place.path) : redisStoreAt(place.url, place.prefix)
