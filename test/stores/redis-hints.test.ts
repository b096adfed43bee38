/** Work on Redis is found by hints alone: the workers of these tests never look for it by themselves. */
import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { createClient, createRuntime, defineJob, type Clock, type Runtime, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { NewJob } from '../../src/store.ts'
import { seededRandom } from '../../src/testing/index.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

/** A store of which a worker is told by hints alone which queues have work. */
const withoutLooks = (store: Store): Store => ({ ...store, queues: async () => [] })

/** Of a client that is told by hints alone which jobs have ended: what it asks for each second is never asked. */
const withoutPolls: Clock = {
  ...systemClock,
  timer: (run, ms, options) => (ms < 1_000 ? systemClock.timer(run, ms, options) : { cancel: () => {} }),
}
/** For one round of jobs that take some turns of the event loop, also on a busy machine. */
const roundMsMax = 60_000

test.for<[string, Partial<NewJob>]>([
  ['plain jobs', {}],
  ['jobs with a key', { key: 'k' }],
])('another process hears of ends of %s only once it waits for one', async ([, terms]) => {
  const prefix = randomUUID()
  const open = async (): Promise<Store> => {
    const store = redisStore({ url: server().url, prefix })
    await store.open({ clock: systemClock })
    onTestFinished(() => store.close())
    return store
  }
  const [here, there] = [await open(), await open()]
  const heard: string[] = []
  const hears = (kind: string): Promise<void> => expect.poll(() => heard, { interval: 5 }).toContain(kind)
  here.watch(({ kind }) => heard.push(kind))
  await hears('missed')
  const end = async (id: string): Promise<void> => {
    await put(there, newJob(id, terms))
    const [job] = await take(there)
    if (job === undefined) throw new Error('no job was claimed')
    await there.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  }
  await end('first')
  // What was told before it has arrived with it.
  await there.queue('mail', { paused: true })
  await hears('queue')
  await there.queue('mail', { paused: false })
  expect(heard).not.toContain('ended')
  heard.length = 0
  here.watchEnds?.()
  here.watchEnds?.()
  await hears('missed')
  await end('second')
  await hears('ended')
})

test.for([[3], [3, 20]])('no job waits beside workers of %j slots, whoever has enqueued it', async (slotsOf) => {
  const seed = Math.floor(Math.random() * 1e9)
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const below = (max: number): number => Math.floor(random() * max)
  const prefix = randomUUID()
  const open = (): Store => redisStore({ url: server().url, prefix })
  const run = async (): Promise<void> => {
    for (let turns = below(4); turns > 0; turns--) await turn()
  }
  const jobs = [
    defineJob<number>({ type: 'free', run }),
    defineJob<number>({ type: 'capped', concurrency: 2, run }),
    defineJob<number>({ type: 'keyed', concurrencyKey: (key) => String(key), perKey: 1, run }),
    defineJob<number>({ type: 'rare', run }),
  ] as const
  const worker = async (slots: number): Promise<Runtime> => {
    const runtime = createRuntime({ jobs, store: withoutLooks(open()), concurrency: slots, logger: {} })
    onTestFinished(() => runtime.stop({ timeout: '1s' }).then(() => {}))
    await runtime.start()
    return runtime
  }
  const [own] = (await Promise.all(slotsOf.map(worker))) as [Runtime]
  const client = createClient({ jobs, store: open(), clock: withoutPolls })
  onTestFinished(() => client.close())
  for (let round = 0; round < 150; round++) {
    const pauses = round % 10 === 0
    if (pauses) await client.queue('free').pause()
    const handles = await Promise.all(
      Array.from({ length: 1 + below(12) }, async () => {
        const job = jobs[below(20) === 0 ? 3 : below(3)] ?? jobs[0]
        const by = random() < 0.3 ? own : client
        if (random() < 0.3) await turn()
        return by.enqueue(job, below(3))
      }),
    )
    if (pauses) {
      for (let turns = below(20); turns > 0; turns--) await turn()
      await client.queue('free').resume()
    }
    const signal = AbortSignal.timeout(roundMsMax)
    if (random() < 0.7) await Promise.all(handles.map((handle) => handle.result({ signal })))
  }
  await expect.poll(async () => (await client.counts()).queued, { interval: 20 }).toBe(0)
})
