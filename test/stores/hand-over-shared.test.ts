/** Hand-over between processes of one store. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startChild } from '../harness/processes.ts'

const server = serverOfFile()

test('on SQLite a client hands over to the worker of another process, and waits until it is free', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'jobs.db')
  const job = defineJob<number, void>({ type: 'handed', capacity: 0, run: () => {} })
  await using client = createClient({ store: sqliteStore({ path }), jobs: [job] })
  expect(await client.tryEnqueue(job, 1)).toBeNull()
  const first = client.enqueue(job, 1)
  const child = startChild(new URL('sqlite/hand-over-child.ts', import.meta.url), path)
  expect(await child.heard()).toBe('ready')
  await first
  expect(await child.heard()).toBe(1)
  expect(await client.tryEnqueue(job, 2)).toBeNull()
  const second = client.enqueue(job, 2)
  child.tell('end')
  const handle = await second
  expect(await child.heard()).toBe(2)
  child.tell('end')
  await handle.result()
  child.process.kill('SIGKILL')
  await expect(child.ended()).rejects.toThrow('SIGKILL')
  // The record of the killed worker counts until its lease has run out: the job waits in the queue for another worker.
  const third = await client.tryEnqueue(job, 3)
  expect(await third?.record()).toMatchObject({ state: 'queued' })
  expect(await client.tryEnqueue(job, 4)).toBeNull()
})

redisTest('on Redis clients hand over to the runtimes of all processes', async () => {
  const prefix = randomUUID()
  const store = () => redisStore({ url: server().url, prefix })
  let running = 0
  let most = 0
  const job = defineJob<number, number>({
    type: 'handed',
    capacity: 0,
    run: async (n) => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return n
    },
  })
  const runtimes = [2, 1].map((concurrency) => createRuntime({ jobs: [job], store: store(), concurrency }))
  const clients = [1, 2, 3].map(() => createClient({ store: store(), jobs: [job] }))
  onTestFinished(async () => {
    await Promise.all([...runtimes, ...clients].map((each) => each[Symbol.asyncDispose]()))
  })
  const calls = Array.from({ length: 60 }, (_, n) => clients[n % 3]?.run(job, n))
  await Promise.all(runtimes.map((runtime) => runtime.start()))
  expect(await Promise.all(calls)).toEqual(Array.from({ length: 60 }, (_, n) => n))
  expect(most).toBeLessThanOrEqual(3)
})
