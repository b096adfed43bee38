/** The store of the example, against the contract: one store, two stores on one server, and a server that fails. */
import { createRuntime, defineJob, JobchartError, type Runtime } from 'jobchart'
import { checkHistory, finalState, recordingStore, storeConformance, type HistoryLine } from 'jobchart/store-testing'
import { seededRandom } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { KeyValueServer } from '../../examples/store/server.ts'
import { keyValueStore } from '../../examples/store/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { inTurn } from '../support/in-turn.ts'

storeConformance({
  name: 'the store of the example',
  test,
  random: { sequences: 20 },
  async create() {
    const clock = movingClock()
    const store = keyValueStore(new KeyValueServer(() => clock.now()))
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
})

storeConformance({
  name: 'the store of the example, two on one server in turn',
  test,
  random: { sequences: 20, seed: 3_001 },
  async create() {
    const clock = movingClock()
    const server = new KeyValueServer(() => clock.now())
    const [one, other] = [keyValueStore(server), keyValueStore(server)]
    await one.open({ clock })
    await other.open({ clock })
    return {
      store: inTurn(one, other),
      advance: (ms) => clock.advance(ms),
      async close() {
        await one.close()
        await other.close()
      },
    }
  },
})

/** As a caller does who must know: with an id of his own, until the store has answered. */
async function enqueued(call: () => ReturnType<Runtime['enqueue']>): ReturnType<Runtime['enqueue']> {
  for (let tries = 0; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof JobchartError) || error.code !== 'STORE_UNAVAILABLE' || tries === 10) throw error
    }
  }
}

test('two runtimes on a server whose calls fail before and after they are carried out lose nothing', async () => {
  const server = new KeyValueServer(() => systemClock.now())
  const lines: HistoryLine[] = []
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const echo = defineJob<number, number>({ type: 'echo', retry: { maxAttempts: 20 }, run: async (n) => n })
  const runtimes = [1, 2].map(() => {
    const store = recordingStore(keyValueStore(server), (line) => lines.push(line))
    return createRuntime({ jobs: [echo], store, concurrency: 5, lease: '1s', logger })
  })
  for (const runtime of runtimes) {
    await runtime.start()
    onTestFinished(() => runtime.stop())
  }
  const random = seededRandom(1)
  server.faultOf = () => {
    const drawn = random()
    return drawn < 0.05 ? 'before' : drawn < 0.1 ? 'after' : null
  }
  const numbers = Array.from({ length: 200 }, (_, n) => n)
  const results = await Promise.all(
    numbers.map(async (n) => {
      const runtime = runtimes[n % 2] as Runtime
      const job = await enqueued(() => runtime.enqueue(echo, n, { id: `job ${n}` }))
      return job.result()
    }),
  )
  server.faultOf = () => null
  expect(results).toEqual(numbers)
  expect(Math.min(server.failed.before, server.failed.after)).toBeGreaterThan(5)
  for (const runtime of runtimes) await runtime.stop()

  const looking = keyValueStore(server)
  await looking.open({ clock: systemClock })
  onTestFinished(() => looking.close())
  expect(await looking.counts()).toMatchObject({ done: 200, dead: 0, queued: 0, running: 0 })
  const { violations } = checkHistory(lines, { final: await finalState(looking) })
  expect(violations).toEqual([])
}, 60_000)
