/** The Redis store against the contract, with each of the drivers: every third case with ioredis, and all of them in the long form. */
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { everyNth, isLong } from '../support/long-form.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

// Each has a server of its own, which does not know the scripts yet.
const server = serverOfFile()
const serverOfIoredis = serverOfFile()

storeConformance({
  name: 'redis, @redis/client',
  test,
  create: () => redisSubject(server().url, nodeRedisAt),
  random: { sequences: isLong ? 100 : 40 },
})
storeConformance({
  name: 'redis, ioredis, each write by the core',
  test: everyNth(3, test),
  create: () => redisSubject(serverOfIoredis().url, ioredisAt, { native: false }),
  random: { seed: 1_001, sequences: 20 },
})
