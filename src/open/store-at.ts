/** The store at an address. Nothing of a file or a server is loaded before the store is opened. */
import { parseAddress } from '../core/address.ts'
import { text } from '../core/checks.ts'
import { JobchartError } from '../core/errors.ts'
import type { Store } from '../store.ts'
import { stores } from '#stores'
import { memoryStore } from '../stores/memory/index.ts'
import { lateStore } from './late-store.ts'

const addressText = text(4_096)

/** @param option the name of the address, for messages. @throws JobchartError as `openStore` */
export function storeAt(address: string, option: string): Store {
  const parsed = parseAddress(addressText(address, option), option)
  if (parsed.kind === 'memory') return memoryStore()
  if (stores === null) {
    throw new JobchartError('UNSUPPORTED', `${option}: a browser has no ${parsed.kind} store`, {
      hint: 'Pass memoryStore(), or a store of your own.',
    })
  }
  const { sqlite, redis, postgres } = stores
  switch (parsed.kind) {
    case 'sqlite':
      return lateStore({
        name: 'sqlite',
        capabilities: { durable: true, shared: true, groupsCalls: true },
        optional: ['confirm', 'repair', 'terms', 'unreadable'],
        load: () => sqlite(parsed.path),
      })
    case 'redis':
      return lateStore({
        name: 'redis',
        capabilities: { durable: true, shared: true },
        optional: ['announce', 'repair', 'terms', 'unreadable', 'watchEnds'],
        load: () => redis(parsed.url, parsed.prefix),
      })
    case 'postgres':
      return lateStore({
        name: 'postgres',
        capabilities: { durable: true, shared: true, transactions: true, wholeClaims: true },
        optional: ['repair', 'terms', 'unreadable', 'watchEnds'],
        load: () => postgres(parsed.url, parsed.schema),
      })
  }
}
