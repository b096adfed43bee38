/** A Redis store whose commands a test holds up. */
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import type { Store } from '../../src/store.ts'

/** A store of which a test delays commands: `before` is called with each, and waited for. */
export async function delayedStore(
  url: string,
  prefix: string,
  before: (command: readonly string[], client: RedisClient) => Promise<void>,
): Promise<Store> {
  const wrapped = (client: RedisClient): RedisClient => ({
    connect: () => client.connect(),
    send: async (command) => {
      await before(command, client)
      return client.send(command)
    },
    subscribe: (channel, told) => client.subscribe(channel, told),
    onReady: (listener) => client.onReady(listener),
    close: () => client.close(),
    duplicate: () => wrapped(client.duplicate()),
    hasOneServer: client.hasOneServer,
  })
  const makeClient = async (): Promise<RedisClient> => wrapped(await nodeRedisAt(url))
  const store = redisStoreOf({ makeClient, where: 'test', namespace: namespaceOf(prefix), transitionsMax: 100 })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}
