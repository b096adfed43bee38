/**
 * Connections that are cut and half-closed amid load: no call hangs, nothing is lost, and every worker works again
 * within seconds.
 */
import { randomUUID } from 'node:crypto'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { checkHistory, finalState, recordingStore, type HistoryLine } from 'jobchart/store-testing'
import { expect, onTestFinished } from 'vitest'
import { CuttingProxy } from '../support/cutting-proxy.ts'
import { isLong } from '../harness/long-form.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()
const workers = 4
const harmsMin = isLong ? 300 : 25
/** When nothing is cut any more, every worker must run jobs again within this. */
const backMs = 5_000
/** An answer is waited for 10 s at most. */
const callMs = 11_000

redisTest('connections are cut at random amid load', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const proxy = new CuttingProxy(server().port, seed)
  const url = `redis://127.0.0.1:${await proxy.start()}`
  onTestFinished(() => proxy.end())
  const prefix = randomUUID()
  const lines: HistoryLine[] = []
  const lastRun = Array.from({ length: workers }, () => 0)
  const jobOf = (worker: number) =>
    defineJob<null, void>({
      type: 'job',
      concurrency: 32,
      retry: { maxAttempts: 50 },
      // Each is looked at when all is over.
      retention: { done: { count: 1_000_000 } },
      run: () => void (lastRun[worker] = performance.now()),
    })
  const runtimes = lastRun.map((_, worker) =>
    createRuntime({
      jobs: [jobOf(worker)],
      store: recordingStore(redisStore({ url, prefix }), (line) => lines.push(line)),
      concurrency: 8,
      lease: '2s',
      logger: {},
    }),
  )
  onTestFinished(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.stop({ mode: 'abort', timeout: '1s' })))
  })
  for (const runtime of runtimes) await runtime.start()
  // Not through the proxy.
  const direct = recordingStore(redisStore({ url: server().url, prefix }), (line) => lines.push(line))
  const client = createClient({ store: direct })
  onTestFinished(() => client.close())

  const acknowledged: string[] = []
  let slowestMs = 0
  const enqueue = async (runtime: (typeof runtimes)[number], id: string): Promise<void> => {
    for (let stored = false; !stored;) {
      const startedAt = performance.now()
      try {
        await runtime.enqueueByName('job', null, { id })
        stored = true
      } catch (error) {
        // With the same id it is one job, whether the failed call has stored it or not.
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      }
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
    }
    acknowledged.push(id)
  }
  proxy.rage(50)
  await Promise.all(
    runtimes.map(async (runtime, worker) => {
      for (let wave = 0; proxy.harm.cut + proxy.harm.halfClosed < harmsMin; wave++) {
        await Promise.all([0, 1, 2, 3, 4].map((n) => enqueue(runtime, `${worker}-${wave}-${n}`)))
      }
    }),
  )
  proxy.calm()
  const calmAt = performance.now()
  for (let n = 0; lastRun.some((at) => at < calmAt) && performance.now() < calmAt + 2 * backMs; n++) {
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((i) => client.enqueueByName('job', null, { id: `calm-${n}-${i}` })))
  }
  const said = `seed ${seed}, ${JSON.stringify(proxy.harm)}, ${acknowledged.length} jobs, slowest call ${slowestMs} ms`
  expect(Math.max(...lastRun.map((at) => at - calmAt)), said).toBeLessThan(backMs)
  expect(Math.min(...lastRun), said).toBeGreaterThan(calmAt)
  expect(slowestMs, said).toBeLessThan(callMs)
  // What a cut has left behind runs again when its lease has expired.
  const left = async (): Promise<number> => {
    const { queued, running, retrying } = await client.counts()
    return queued + running + retrying
  }
  await expect.poll(left, { interval: 50 }).toBe(0)
  const records = await client.store.get(acknowledged)
  expect(
    records.filter((record) => record?.state !== 'done'),
    said,
  ).toEqual([])
  const { violations } = checkHistory(lines, { final: await finalState(direct), limits: {} })
  expect(violations, said).toEqual([])
})
