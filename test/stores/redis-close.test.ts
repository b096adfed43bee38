/** A client that is closed while its connection for wake-ups is being made. */
import { once } from 'node:events'
import { createClient } from '@redis/client'
import { Redis as Ioredis } from 'ioredis'
import { expect, onTestFinished } from 'vitest'
import { redisStore } from 'jobchart/redis'
import { systemClock } from '../../src/core/clock.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { forkProgram } from '../harness/processes.ts'
import { redisServer } from '../support/redis-process.ts'
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

redisTest.for(['@redis/client', 'ioredis'])('calls that a close ends say so, with %s', async (driver) => {
  const own = await redisServer()
  onTestFinished(() => own.remove())
  const client = driver === 'ioredis' ? new Ioredis(own.url, { lazyConnect: true }) : createClient({ url: own.url })
  const store = redisStore({ client })
  await store.open({ clock: systemClock })
  await store.counts()
  await own.command('CLIENT', 'PAUSE', '20000', 'ALL')
  const insert = (id: string): Promise<unknown> => put(store, newJob(id))
  const calls = Promise.allSettled([insert('a'), store.queue('job', { paused: true }), insert('b'), store.counts()])
  await store.close()
  const refusal = { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('a stopped runtime') as unknown }
  for (const call of await calls) expect(call).toMatchObject({ status: 'rejected', reason: refusal })
})
