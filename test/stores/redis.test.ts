/**
 * The Redis store against the contract, with each of the drivers: every third case with ioredis, and all of them in the
 * long form. Each case is a user's who has the rights that the guide names, and no others.
 */
import { randomUUID } from 'node:crypto'
import { storeConformance, type Subject } from '../../src/store-testing/conformance/index.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { addressFor, addressWithoutFunctions } from '../support/redis-user.ts'

// Each has a server of its own, which does not know the scripts yet.
const server = serverOfFile()
const serverOfIoredis = serverOfFile()

storeConformance({
  name: 'redis, @redis/client',
  test,
  async create(): Promise<Subject> {
    const prefix = randomUUID()
    return redisSubject(await addressFor(server(), prefix, prefix), nodeRedisAt, { prefix })
  },
  random: { sequences: isLong ? 100 : 12 },
})
storeConformance({
  name: 'redis, ioredis, each write by the core, scripts instead of functions',
  test: everyNth(8, test),
  async create(): Promise<Subject> {
    const prefix = randomUUID()
    const url = await addressWithoutFunctions(serverOfIoredis(), prefix, prefix)
    return redisSubject(url, ioredisAt, { prefix, native: false })
  },
  random: { seed: 1_001, sequences: 20 },
})
storeConformance({
  name: 'redis, @redis/client, all terms in their index',
  test: everyNth(3, test),
  async create(): Promise<Subject> {
    const prefix = randomUUID()
    return redisSubject(await addressFor(server(), prefix, prefix), nodeRedisAt, { prefix, indexes: true })
  },
  random: { seed: 2_001, sequences: isLong ? 100 : 12 },
})
