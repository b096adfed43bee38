/** The Redis store against the contract, with each of the drivers. */
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

const server = serverOfFile()

storeConformance({
  name: 'redis, @redis/client',
  test,
  create: () => redisSubject(server().url, nodeRedisAt),
  random: { sequences: 100 },
})
storeConformance({
  name: 'redis, ioredis',
  test,
  create: () => redisSubject(server().url, ioredisAt),
  random: { seed: 1_001, sequences: 20 },
})
