/** A store that somebody else has written, of documents behind an asynchronous interface, against the contract. */
import { setImmediate } from 'node:timers/promises'
import { JobchartError, remoteStore, type Commit, type Loaded, type Store, type Wanted } from 'jobchart/store'
import { expect, test } from 'vitest'
import { ask, lease, newJob, noLimits, put, putAndTake } from '../../../src/store-testing/conformance/acts.ts'
import { storeConformance } from '../../../src/store-testing/conformance/index.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

storeConformance({
  name: 'documents in a map',
  test,
  async create() {
    const clock = movingClock()
    const store = remoteStore(new MapPort(new SharedMap(), clock))
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
  random: { sequences: 20 },
})

const opened = async (port: MapPort): Promise<Store> => {
  const store = remoteStore(port)
  await store.open({ clock: movingClock() })
  return store
}

/** Its queues are read later than its figures: of two claims, one may see jobs that follow those of the other. */
class Lagging extends MapPort {
  private turns = 0

  override async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    const lag = wanted.some(({ kind }) => kind === 'heads') ? this.turns++ % 7 : 0
    for (let i = 0; i < lag; i++) await setImmediate()
    return super.load(wanted, into)
  }
}

test.for([
  ['any number', {}, Infinity],
  ['a concurrency', { concurrency: 4 }, 4],
  ['a concurrency per key', { perKey: 4 }, 4],
] as const)('processes that claim at once claim each job once, and keep to %s', async ([, limits, most]) => {
  const shared = new SharedMap()
  const clock = movingClock()
  const stores = await Promise.all([1, 2, 3].map(() => opened(new Lagging(shared, clock))))
  const [first] = stores as [Store]
  const ids = Array.from({ length: 60 }, (_, n) => `job ${n}`)
  await put(first, ...ids.map((id) => newJob(id, { concurrencyKey: 'k' })))
  const claimed: string[] = []
  while (claimed.length < ids.length) {
    const answers = await Promise.all(
      stores.map((store, n) =>
        ask(store, { worker: `w${n}`, token: `t${n} ${claimed.length}`, max: 3, limits: { ...noLimits, ...limits } }),
      ),
    )
    const jobs = answers.flatMap((answer) => answer.jobs)
    expect(jobs.length).toBeGreaterThan(0)
    expect(jobs.length).toBeLessThanOrEqual(most)
    claimed.push(...jobs.map(({ id }) => id))
    await Promise.all(
      answers.map((answer, n) =>
        stores[n]?.settle(answer.jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }))),
      ),
    )
  }
  expect(claimed.toSorted()).toEqual(ids.toSorted())
})

test('a write that was carried out although its answer was lost has the same answer when it is repeated', async () => {
  class Losing extends MapPort {
    isLosing = false

    override async commit(commit: Commit): Promise<number | readonly string[]> {
      const answer = await super.commit(commit)
      if (this.isLosing)
        throw new JobchartError('STORE_UNAVAILABLE', 'the answer was lost', { hint: 'Repeat the call.' })
      return answer
    }
  }
  const port = new Losing(new SharedMap(), movingClock())
  const store = await opened(port)
  const job = await putAndTake(store, 'a')
  const end = { ...lease(job), event: 'COMPLETE', to: 'done' } as const
  port.isLosing = true
  await expect(store.settle([end])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  port.isLosing = false
  const [once, again] = [await store.settle([end]), await store.settle([end])]
  expect(once).toEqual(again)
  expect(once[0]?.outcome).toBe('settled')
  const { transitions } = await store.transitions(null, 10)
  expect(transitions.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
})

test('a port is opened by the first who opens the store, and closed with the last one', async () => {
  const calls: string[] = []
  class Counting extends MapPort {
    override open(): void {
      calls.push('open')
      if (calls.length === 1) throw new JobchartError('STORE_UNAVAILABLE', 'not yet', { hint: 'Try again.' })
    }

    override close(): void {
      calls.push('close')
    }
  }
  const clock = movingClock()
  const store = remoteStore(new Counting(new SharedMap(), clock))
  await expect(store.open({ clock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await Promise.all([store.open({ clock }), store.open({ clock })])
  await store.close()
  expect(calls).toEqual(['open', 'open'])
  await store.close()
  await store.close()
  expect(calls).toEqual(['open', 'open', 'close'])
})
