/** The store at an address. Nothing of a file or a server is loaded before the store is opened. */
import { parseAddress } from '../core/address.ts'
import { text } from '../core/checks.ts'
import type { Store } from '../store.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { lateStore } from './late-store.ts'

const addressText = text(4_096)

/** @param option the name of the address, for messages. @throws JobchartError as `openStore` */
export function storeAt(address: string, option: string): Store {
  const parsed = parseAddress(addressText(address, option), option)
  switch (parsed.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return lateStore({
        name: 'sqlite',
        capabilities: { durable: true, shared: true, groupsCalls: true },
        optional: ['confirm', 'repair', 'terms', 'unreadable'],
        load: async () => (await import('../stores/sqlite/index.ts')).sqliteStore({ path: parsed.path }),
      })
    case 'redis':
      return lateStore({
        name: 'redis',
        capabilities: { durable: true, shared: true },
        optional: ['announce', 'repair', 'unreadable'],
        load: async () => {
          const { redisStore } = await import('../stores/redis/index.ts')
          const { url, prefix } = parsed
          return redisStore({ url, ...(prefix !== undefined && { prefix }) })
        },
      })
    case 'postgres':
      return lateStore({
        name: 'postgres',
        capabilities: { durable: true, shared: true, transactions: true },
        optional: [],
        load: async () => {
          const { postgresStore } = await import('../stores/postgres/index.ts')
          const { url, schema } = parsed
          return postgresStore({ url, ...(schema !== undefined && { schema }) })
        },
      })
  }
}
