/** The wall clock of a host is set forward while jobs run there: time that has not passed ends no lease. */
import { createRuntime, defineJob, memoryStore, type Clock, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { test, type TestContext } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { newFile } from '../support/new-file.ts'

const server = serverOfFile()
const hourMs = 3_600_000
/** Heartbeats that reach beyond a lease, which has three. */
const heartbeats = 4
/** A busy machine may stop a process for a second: that must not end a lease here. */
const lease = '4s'

function hostWithClock() {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  return { clock, setForward: (ms: number) => void (aheadMs += ms) }
}

const stores: Readonly<Record<string, (context: TestContext) => Promise<() => Store>>> = {
  memory: async () => {
    const store = memoryStore()
    return () => store
  },
  sqlite: async ({ onTestFinished }) => {
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    const path = await newFile(folder.path)
    return () => sqliteStore({ path })
  },
  redis: async () => () => redisStore({ url: server().url }),
}

test.concurrent.for(Object.keys(stores))(
  'a clock that is set forward by an hour aborts no handler: %s',
  async (name, context) => {
    const { skip, onTestFinished, expect } = context
    if (name === 'redis' && !canStartRedis) skip()
    const { clock, setForward } = hostWithClock()
    const open = await stores[name]!(context)
    const aborted: unknown[] = []
    const go = Promise.withResolvers<void>()
    const runs: string[] = []
    const work = defineJob<null, void>({
      type: 'work',
      run: async (_, { signal, id, attempt }) => {
        runs.push(`${id} ${attempt}`)
        signal.addEventListener('abort', () => aborted.push(signal.reason))
        await go.promise
      },
    })
    const runtimes = [1, 2].map(() =>
      createRuntime({ jobs: [work], store: open(), clock, lease, concurrency: 1, logger: {} }),
    )
    onTestFinished(() =>
      Promise.all(runtimes.map((runtime) => runtime.stop({ mode: 'abort', timeout: '1s' }))).then(() => {}),
    )
    for (const runtime of runtimes) await runtime.start()
    const [one] = runtimes as [(typeof runtimes)[0]]
    const jobs = await one.enqueueMany(work, [null, null])
    await expect.poll(() => runs.length).toBe(2)
    setForward(hourMs)
    const seen = new Set<number>()
    await expect
      .poll(
        async () => {
          for (const { id, seenAt } of await one.workers()) if (id === one.id) seen.add(seenAt)
          return seen.size
        },
        { interval: 20 },
      )
      .toBeGreaterThan(heartbeats)
    go.resolve()
    await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))
    expect([aborted, runs.length]).toEqual([[], 2])
  },
)
