/** A client that is closed while its connection for wake-ups is being made. */
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { forkProgram } from '../harness/processes.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()
const clients = 24
/** What a process with so many clients takes on a busy computer at most. */
const endsMs = 60_000

redisTest.for(['@redis/client', 'ioredis'])(
  'a process that enqueues and closes ends by itself, with %s',
  async (driver) => {
    const args = [server().url, driver, String(clients)]
    const child = forkProgram(new URL('redis/enqueueing-child.ts', import.meta.url), args)
    onTestFinished(() => void child.kill('SIGKILL'))
    // The channel of messages to this process would keep it.
    child.disconnect()
    expect(await once(child, 'exit', { signal: AbortSignal.timeout(endsMs) })).toEqual([0, null])
  },
)
