import { randomUUID } from 'node:crypto'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import type { Store } from '../../src/store.ts'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'

interface Options {
  readonly prefix?: string
  readonly clock?: ReturnType<typeof movingClock>
  readonly native?: boolean
  /** Has it enter the terms of jobs into their index with each insert, however few there are. */
  readonly indexes?: boolean
}

/** A Redis store in a namespace of its own, for one case of the conformance suite. */
export async function redisSubject(
  url: string,
  clientAt: (url: string) => Promise<RedisClient>,
  { prefix = randomUUID(), clock = movingClock(), native = true, indexes = false }: Options = {},
): Promise<Subject> {
  const store = redisStoreOf({
    makeClient: () => clientAt(url),
    where: url,
    namespace: namespaceOf(prefix),
    transitionsMax: 10_000,
    clock,
    native,
  })
  await store.open({ clock })
  return { store: indexes ? indexing(store) : store, advance: (ms) => clock.advance(ms), close: () => store.close() }
}

/** A search for terms enters all jobs. */
const indexing = (store: Store): Store => ({
  ...store,
  async insert(requests) {
    const answers = await store.insert(requests)
    await store.terms?.({ text: 'any', limit: 1, countMax: 1 })
    return answers
  },
})
