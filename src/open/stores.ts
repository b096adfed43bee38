/**
 * The stores of addresses. Their modules are loaded when one is opened. Bundles for a browser have `no-stores.ts`
 * instead: package.json names both as `#stores`.
 */
import type { Store } from '../store.ts'

export interface StoreLoaders {
  readonly sqlite: (path: string) => Promise<Store>
  readonly redis: (url: string, prefix: string | undefined) => Promise<Store>
  readonly postgres: (url: string, schema: string | undefined) => Promise<Store>
}

export const stores: StoreLoaders | null = {
  async sqlite(path) {
    const { sqliteStore } = await import('../stores/sqlite/index.ts')
    return sqliteStore({ path })
  },
  async redis(url, prefix) {
    const { redisStore } = await import('../stores/redis/index.ts')
    return redisStore({ url, ...(prefix !== undefined && { prefix }) })
  },
  async postgres(url, schema) {
    const { postgresStore } = await import('../stores/postgres/index.ts')
    return postgresStore({ url, ...(schema !== undefined && { schema }) })
  },
}
