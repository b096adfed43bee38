import { randomUUID } from 'node:crypto'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'

/** A Redis store in a namespace of its own, for one case of the conformance suite. */
export async function redisSubject(
  url: string,
  clientAt: (url: string) => Promise<RedisClient>,
  { prefix = randomUUID(), clock = movingClock(), native = true } = {},
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
  return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
}
