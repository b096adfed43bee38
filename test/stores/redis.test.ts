/**
 * The Redis store against the contract, with each of the drivers: every third case with ioredis, and all of them in the long form.
 * Each case is a user's who has the rights that the guide names, and no others.
 */
import { randomUUID } from 'node:crypto'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { storeConformance, type Subject } from '../../src/store-testing/conformance/index.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { everyNth, isLong } from '../support/long-form.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import type { RedisServer } from '../support/redis-process.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { addressFor } from '../support/redis-user.ts'

// Each has a server of its own, which does not know the scripts yet.
const server = serverOfFile()
const serverOfIoredis = serverOfFile()

async function withLeastRights(
  server: RedisServer,
  clientAt: (url: string) => Promise<RedisClient>,
  native: boolean,
): Promise<Subject> {
  const prefix = randomUUID()
  return redisSubject(await addressFor(server, prefix, prefix), clientAt, { prefix, native })
}

storeConformance({
  name: 'redis, @redis/client',
  test,
  create: () => withLeastRights(server(), nodeRedisAt, true),
  random: { sequences: isLong ? 100 : 40 },
})
storeConformance({
  name: 'redis, ioredis, each write by the core',
  test: everyNth(3, test),
  create: () => withLeastRights(serverOfIoredis(), ioredisAt, false),
  random: { seed: 1_001, sequences: 20 },
})
