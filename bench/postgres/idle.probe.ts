/** What a runtime costs that has nothing to do. */
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../src/stores/postgres/store.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import { idleAfterJobs, type Idle } from '../harness/idle.ts'

export interface IdleParams {
  readonly url: string
  readonly forMs: number
}

/** Counts the queries here: the server counts what it does by itself, too. */
function countingStore(url: string, schema: string) {
  const queries = { count: 0 }
  const target = targetOf({ url })
  const connect = async () => {
    const link = await target.connect()
    const query = link.query.bind(link)
    link.query = (...statement) => {
      queries.count++
      return query(...statement)
    }
    return link
  }
  return { store: postgresStoreOn(postgresPort({ ...target, connect, schema, transitionsMax: 100_000 })), queries }
}

/** @throws NotVerified unless the jobs before have run once each */
export function measure({ url, forMs }: IdleParams): Promise<Idle> {
  const { store, queries } = countingStore(url, `idle_${process.pid}`)
  return idleAfterJobs(store, { types: ['a', 'b', 'c'], settleMs: 3_000, forMs, count: () => queries.count })
}
