/** The store on a port of a schema: with jobs that cannot be read, and the repair. */
import type { Store } from '../../store.ts'
import { discardAside } from '../remote/operations.ts'
import { remoteStore } from '../remote/store.ts'
import type { PostgresPort } from './port.ts'

export function postgresStoreOn(port: PostgresPort): Store {
  const store = remoteStore(port)
  return {
    ...store,
    async claim(request) {
      const answer = await store.claim(request)
      const unreadable = port.takeUnreadable()
      return unreadable.length === 0 ? answer : { ...answer, unreadable }
    },
    discard: async (ids) => discardAside(await store.discard(ids), port.discardUnreadable),
    unreadable: () => port.unreadable(),
    repair: () => port.repair(),
  }
}
