/** A server that is told, while processes work on it, to remove keys when its memory is full. */
import { randomUUID } from 'node:crypto'
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { expect } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile('--maxmemory', '100mb')
const policy = (name: string): Promise<unknown> => server().command('CONFIG', 'SET', 'maxmemory-policy', name)

test('a heartbeat warns once of each change to a policy that removes jobs, at most a minute later', async () => {
  let passed = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed }
  let asked = 0
  const makeClient = async () => {
    const client = await nodeRedisAt(server().url)
    const send = client.send.bind(client)
    client.send = (command) => {
      if (command[0] === 'INFO') asked++
      return send(command)
    }
    return client
  }
  const settings = { where: 'here', namespace: namespaceOf(randomUUID()), transitionsMax: 100, clock }
  const store = redisStoreOf({ makeClient, ...settings })
  const warned: JobchartError[] = []
  const logger = { warn: (_: string, fields?: Record<string, unknown>) => void warned.push(fields?.['error'] as never) }
  const mail = defineJob<void, void>({ type: 'mail', run: async () => {} })
  await using runtime = createRuntime({ jobs: [mail], store, logger, lease: '1s' })
  await runtime.start()
  /** Lets a minute pass, and awaits that the server was asked. */
  const minute = async (): Promise<void> => {
    const before = asked
    passed += 60_000
    await expect.poll(() => asked, { timeout: 5_000 }).toBe(before + 1)
    // What is told of the answer is told by the end of the next call.
    await store.counts()
  }
  await minute()
  expect(warned).toEqual([])
  await policy('allkeys-lru')
  await minute()
  await minute()
  expect(warned.map(({ code, message }) => [code, message])).toEqual([
    ['UNSUPPORTED', 'Redis at here removes keys when its memory is full (allkeys-lru)'],
  ])
  await policy('noeviction')
  await minute()
  expect(warned).toHaveLength(1)
  await policy('allkeys-random')
  await minute()
  expect(warned).toHaveLength(2)
})
