/** The store of the example, against the contract: one store, two stores on one server, and a server that fails. */
import { createRuntime, defineJob, JobchartError, type Runtime } from 'jobchart'
import type { Store } from 'jobchart/store'
import { checkHistory, finalState, recordingStore, storeConformance, type HistoryLine } from 'jobchart/store-testing'
import { seededRandom } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { KeyValueServer, type Fault } from '../../examples/store/server.ts'
import { keyValueStore } from '../../examples/store/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob } from '../../src/store-testing/conformance/acts.ts'
import { everyNth } from '../harness/long-form.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { subjectInTurn } from '../support/in-turn.ts'

storeConformance({
  name: 'the store of the example',
  // The two in turn run every case, with the same code.
  test: everyNth(6, test),
  random: { sequences: 10 },
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
  random: { sequences: 10, seed: 3_001 },
  async create() {
    const clock = movingClock()
    const server = new KeyValueServer(() => clock.now())
    const [one, other] = [keyValueStore(server), keyValueStore(server)]
    await one.open({ clock })
    await other.open({ clock })
    return subjectInTurn(one, other, clock)
  },
})

/** @param share of the calls that fail before they are carried out, and of those that fail after */
function failing(server: KeyValueServer, share: number): Record<Fault, number> {
  const random = seededRandom(1)
  const failed = { before: 0, after: 0 }
  server.faultOf = () => {
    const drawn = random()
    const fault = drawn < share ? 'before' : drawn < 2 * share ? 'after' : null
    if (fault !== null) failed[fault]++
    return fault
  }
  return failed
}

/** As a caller does who must know: what may be repeated is, until the store has answered. */
async function repeated<T>(call: () => T | Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof JobchartError) || error.code !== 'STORE_UNAVAILABLE' || tries === 20) throw error
    }
  }
}

async function looking(server: KeyValueServer): Promise<Store> {
  const store = keyValueStore(server)
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

test('four stores that want the same jobs keep every promise, while calls fail before and after they are carried out', async () => {
  const clock = movingClock()
  const server = new KeyValueServer(() => clock.now())
  const lines: HistoryLine[] = []
  const limits = { concurrency: 6, perKey: 2, rate: null }
  const stores = [1, 2, 3, 4].map(() => recordingStore(keyValueStore(server), (line) => lines.push(line)))
  for (const store of stores) {
    await store.open({ clock })
    onTestFinished(() => store.close())
  }
  const failed = failing(server, 0.05)
  const produce = async (store: Store, n: number): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      const jobs = [0, 1].map((j) => newJob(`${n}-${i}-${j}`, { maxAttempts: 100, concurrencyKey: `c${(i + j) % 4}` }))
      await repeated(() => store.insert([{ jobs, capacity: null }]))
    }
  }
  const work = async (store: Store, n: number): Promise<void> => {
    for (let turn = 0; (await repeated(() => store.counts())).done < 200; turn++) {
      const demand = [{ type: 'mail', max: 2, limits }]
      const claim = async () => store.claim({ worker: `w${n}`, leaseMs: 30_000, token: `${n}/${turn}`, demand })
      // A claim is not repeated: what it has claimed if its reply was lost is free again when its lease has run out.
      const { jobs } = await claim().catch(() => ({ jobs: [] }))
      await repeated(() => store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }))))
      if (jobs.length === 0) await clock.advance(3_000)
      await repeated(() => store.rescue(10))
    }
  }
  await Promise.all(stores.flatMap((store, n) => [produce(store, n), work(store, n)]))
  expect(Math.min(failed.before, failed.after)).toBeGreaterThan(30)
  server.faultOf = () => null
  const store = await looking(server)
  expect(await store.counts()).toMatchObject({ done: 200, dead: 0, queued: 0, running: 0 })
  const { violations } = checkHistory(lines, { final: await finalState(store), limits: { mail: limits } })
  expect(violations).toEqual([])
  const { transitions } = await store.transitions(null, 10_000)
  expect(transitions.map(({ seq }) => seq)).toEqual(transitions.map((_, i) => i + 1))
})

test('two runtimes on a server whose calls fail bring every job to its end', async () => {
  const server = new KeyValueServer(() => systemClock.now())
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const echo = defineJob<number, number>({ type: 'echo', retry: { maxAttempts: 20 }, run: async (n) => n })
  const runtimes = [1, 2].map(() =>
    createRuntime({ jobs: [echo], store: keyValueStore(server), concurrency: 5, lease: '1s', logger }),
  )
  for (const runtime of runtimes) {
    await runtime.start()
    onTestFinished(async () => void (await runtime.stop()))
  }
  // Claims that fail are repeated later and later.
  failing(server, 0.02)
  const numbers = Array.from({ length: 100 }, (_, n) => n)
  const results = await Promise.all(
    numbers.map(async (n) => {
      const runtime = runtimes[n % 2] as Runtime
      const job = await repeated(() => runtime.enqueue(echo, n, { id: `job ${n}` }))
      return job.result()
    }),
  )
  server.faultOf = () => null
  expect(results).toEqual(numbers)
  for (const runtime of runtimes) await runtime.stop()
  const store = await looking(server)
  expect(await store.counts()).toMatchObject({ done: 100, dead: 0, queued: 0, running: 0 })
})
