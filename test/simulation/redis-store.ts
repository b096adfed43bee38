/**
 * A Redis store in virtual time. The scripts are told the time of the world instead of the server's, and no time passes
 * while a command is on its way: so the network, which takes real time, takes none of the world's.
 */
import { randomUUID } from 'node:crypto'
import type { Store } from 'jobchart'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import { Traffic } from './traffic.ts'

/** The same client, whose calls are counted. */
const countedClient = (traffic: Traffic, client: RedisClient): RedisClient => ({
  connect: () => traffic.counted(client.connect()),
  send: (command) => traffic.counted(client.send(command)),
  subscribe: (channel, told) => traffic.counted(client.subscribe(channel, told)),
  onReady: (listener) => client.onReady(listener),
  close: () => client.close(),
  duplicate: () => countedClient(traffic, client.duplicate()),
  hasOneServer: client.hasOneServer,
})

interface RedisInVirtualTime {
  readonly store: Store
  /** Resolves when nothing is on its way to the server. */
  readonly settled: () => Promise<void>
  /** Removes all its keys. */
  readonly dispose: () => Promise<void>
}

/** @param url the server; the store has a prefix of its own there, and leaves nothing behind */
export function redisInVirtualTime(url: string): RedisInVirtualTime {
  const traffic = new Traffic()
  const namespace = namespaceOf(randomUUID())
  let given: Clock = systemClock
  const clock: Clock = {
    now: () => given.now(),
    monotonic: () => given.monotonic(),
    timer: (run, delayMs, options) => given.timer(run, delayMs, options),
    nextTurn: (run) => given.nextTurn(run),
  }
  const makeClient = async (): Promise<RedisClient> => countedClient(traffic, await nodeRedisAt(url))
  const store = redisStoreOf({ makeClient, where: url, namespace, transitionsMax: 10_000, clock })
  return {
    store: {
      ...store,
      open(options) {
        if (given === systemClock) given = options.clock
        return store.open(options)
      },
    },
    settled: () => traffic.settled(),
    dispose: () => removeAll(url, namespace),
  }
}

async function removeAll(url: string, namespace: string): Promise<void> {
  const client = await nodeRedisAt(url)
  await client.connect()
  try {
    const keys = (await client.send(['KEYS', `${namespace}*`])) as readonly string[]
    if (keys.length > 0) await client.send(['UNLINK', ...keys])
  } finally {
    client.close()
  }
}
