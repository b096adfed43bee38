/** Retention on a server that is lost in the middle of a look. */
import { expect, onTestFinished, test } from 'vitest'
import { RemoteDriver } from '../../src/stores/remote/driver.ts'
import { prune } from '../../src/stores/redis/prune.ts'
import type { RedisServer } from '../../src/stores/redis/server.ts'

test('a look whose reads all fail rejects, and leaves no rejection to the process', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const lost = async (): Promise<never> => {
    throw new Error('the connection was lost')
  }
  const server = {
    redis: { pipeline: async () => [['type'], [], []], send: lost },
    keys: {},
    time: { now: () => 0 },
    run: lost,
  } as unknown as RedisServer
  await expect(prune({ server, driver: new RemoteDriver(server) }, 100)).rejects.toThrow('the connection was lost')
  // Node tells of it when the turn is over.
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})
