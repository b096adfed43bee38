/** In a browser no store has an address but that in memory: see `stores.ts`. */
import type { StoreLoaders } from './stores.ts'

export const stores: StoreLoaders | null = null
