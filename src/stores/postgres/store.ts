/** The store on a port of a schema: with jobs that cannot be read, and the repair. */
import type { Store } from '../../store.ts'
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
    async discard(ids) {
      const answer = await store.discard(ids)
      if (answer.notFound.length === 0) return answer
      const gone = new Set(await port.discardUnreadable(answer.notFound))
      return {
        ...answer,
        discarded: [...answer.discarded, ...gone],
        notFound: answer.notFound.filter((id) => !gone.has(id)),
      }
    },
    unreadable: () => port.unreadable(),
    repair: () => port.repair(),
  }
}
