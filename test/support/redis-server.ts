/** Redis servers for tests. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, test } from 'vitest'
import { program, redisServer, type RedisServer } from './redis-process.ts'

/** Why no server can be started here; null = one can. */
const missing =
  spawnSync(program, ['--version']).status === 0 ? null : `${program} is not installed: apt-get install redis-server`

if (missing !== null) console.error(`Tests of the Redis store are left out: ${missing}`)

export const canStartRedis = missing === null

/** A test that needs a server. Under CI=true a test that is left out fails the run. */
export const redisTest = test.skipIf(missing !== null)

/** One server for the tests of a file. */
export function serverOfFile(...settings: readonly string[]): () => RedisServer {
  let server: RedisServer | null = null
  beforeAll(async () => {
    if (missing === null) server = await redisServer(...settings)
  })
  afterAll(() => server?.remove())
  return () => {
    if (server === null) throw new Error(missing ?? 'the server has not been started')
    return server
  }
}
