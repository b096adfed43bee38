/** What users read goes by a connection of its own, so that a large answer holds up no claim. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import type { Store } from '../../src/store.ts'
import { lease, newJob, put, takeOne } from '../../src/store-testing/conformance/acts.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

/** Is this a command by which is read, and not written? */
const isReading = ([command = '', name = '']: readonly string[]): boolean =>
  /^(HGET|HMGET|HGETALL|HVALS|ZRANGE|ZRANGEBYSCORE|XRANGE)$/.test(command) || /_(figures|first)$/.test(name)

/** The wires from the server to its clients, on which the answer of one command takes long. */
class Wires {
  private readonly arrives = Promise.withResolvers<void>()
  private readonly sent = Promise.withResolvers<void>()
  private isArmed = false

  /** The answer of the next command that reads does not arrive until `release`. @returns when that was sent */
  holdNext(): Promise<void> {
    this.isArmed = true
    return this.sent.promise
  }

  release(): void {
    this.arrives.resolve()
  }

  private holds(command: readonly string[]): boolean {
    if (!this.isArmed || !isReading(command)) return false
    this.isArmed = false
    this.sent.resolve()
    return true
  }

  /** Answers arrive in their order, each when all of the one before it is there. */
  to(client: RedisClient): RedisClient {
    let before: Promise<unknown> = Promise.resolve()
    return {
      connect: () => client.connect(),
      send: (command) => {
        const arrived = Promise.all([before, this.holds(command) ? this.arrives.promise : null])
        before = arrived
        const answer = client.send(command)
        answer.catch(() => {})
        return arrived.then(() => answer)
      },
      subscribe: (channel, told) => client.subscribe(channel, told),
      onReady: (listener) => client.onReady(listener),
      close: () => client.close(),
      duplicate: () => this.to(client.duplicate()),
      hasOneServer: client.hasOneServer,
    }
  }
}

async function storeOn(wires: Wires): Promise<Store> {
  const makeClient = async (): Promise<RedisClient> => wires.to(await nodeRedisAt(server().url))
  const store = redisStoreOf({ makeClient, where: 'test', namespace: namespaceOf(randomUUID()), transitionsMax: 100 })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

const reads: Readonly<Record<string, (store: Store) => unknown>> = {
  records: (store) => store.get(['large']),
  lists: (store) => store.list({}),
  figures: (store) => store.queuedSince(['mail']),
  activity: (store) => store.activity({ period: 'minute', from: 0, queues: 'total' }),
  counts: (store) => store.counts(),
  workers: (store) => store.workers(),
  'the log': (store) => store.transitions(null, 100),
  'bulk operations': (store) => store.bulk.list(),
  schedules: (store) => store.schedules.list(),
}

test.for(Object.keys(reads))('while the answer of %s arrives, a job is claimed, renewed and ended', async (name) => {
  const wires = new Wires()
  const store = await storeOn(wires)
  await put(store, newJob('large', { input: 'x'.repeat(900_000) }))
  const large = await takeOne(store)
  await put(store, newJob('small'))
  const held = wires.holdNext()
  const read = Promise.resolve(reads[name]?.(store))
  await held
  const small = await takeOne(store)
  const heartbeats = [lease(large)]
  expect(await store.extend({ worker: 'w', leaseMs: 60_000, heartbeats })).toMatchObject([{ outcome: 'extended' }])
  expect(await store.settle([{ ...lease(small), event: 'COMPLETE', to: 'done' }])).toMatchObject([
    { outcome: 'settled' },
  ])
  wires.release()
  await read
})
