/** A client that is closed while its connection for wake-ups is being made. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { plainEnvironment } from '../support/plain-environment.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()
const clients = 24
/** What a process with so many clients takes on a busy computer at most. */
const endsMs = 60_000

redisTest.for(['@redis/client', 'ioredis'])(
  'a process that enqueues and closes ends by itself, with %s',
  async (driver) => {
    const child = fork(
      fileURLToPath(new URL('redis/enqueueing-child.ts', import.meta.url)),
      [server().url, driver, String(clients)],
      { execArgv: ['--conditions=@jobchart/source'], env: plainEnvironment },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    // The channel of messages to this process would keep it.
    child.disconnect()
    expect(await once(child, 'exit', { signal: AbortSignal.timeout(endsMs) })).toEqual([0, null])
  },
)
