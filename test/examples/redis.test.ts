/** The example of several processes on one Redis server. */
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { redisTest as test } from '../support/redis-server.ts'
import { runProgram } from '../harness/processes.ts'

test('a producer and two workers share a Redis server, which the example starts if none runs', async () => {
  const path = fileURLToPath(new URL('../../examples/redis/main.ts', import.meta.url))
  expect(await runProgram(path)).toEqual({
    stdout: 'producer: 20 thumbnails\nproducer: each in one attempt: true\nthe workers have stopped\n',
    stderr: '',
    exitCode: 0,
    signal: null,
  })
})
