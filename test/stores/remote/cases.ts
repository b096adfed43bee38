/** Stores of a port as others meet them: what several processes write at once. Each on a map of its own. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { JobchartError, remoteStore, type Commit, type Loaded, type Store, type Wanted } from 'jobchart/store'
import {
  ask,
  lease,
  newJob,
  noLimits,
  put,
  putAndEnd,
  putAndTake,
  take,
} from '../../../src/store-testing/conformance/acts.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

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

/** Three processes claim sixty jobs. @param most how many may run at once */
async function claimsAtOnce(limits: object, most: number): Promise<void> {
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
    assert.ok(jobs.length > 0 && jobs.length <= most, `${jobs.length} of ${most}`)
    claimed.push(...jobs.map(({ id }) => id))
    await Promise.all(
      answers.map((answer, n) =>
        stores[n]?.settle(answer.jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }))),
      ),
    )
  }
  assert.deepEqual(claimed.toSorted(), ids.toSorted())
}

/** Its answers may be lost. */
class Losing extends MapPort {
  isLosing = false

  override async commit(commit: Commit): Promise<number | readonly string[]> {
    const answer = await super.commit(commit)
    if (this.isLosing) throw new JobchartError('STORE_UNAVAILABLE', 'the answer was lost', { hint: 'Repeat the call.' })
    return answer
  }
}

/** Somebody else acts before the next commit, or behind the next read of heads. */
class Interrupted extends MapPort {
  beforeCommit: (() => Promise<unknown>) | null = null
  afterHeads: (() => Promise<unknown>) | null = null

  override async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    await super.load(wanted, into)
    const { afterHeads } = this
    if (afterHeads === null || !wanted.some(({ kind }) => kind === 'heads')) return
    this.afterHeads = null
    await afterHeads()
  }

  override async commit(commit: Commit): Promise<number | readonly string[]> {
    const { beforeCommit } = this
    this.beforeCommit = null
    await beforeCommit?.()
    return super.commit(commit)
  }
}

async function interrupted() {
  const [shared, clock] = [new SharedMap(), movingClock()]
  const port = new Interrupted(shared, clock)
  return { port, store: await opened(port), other: await opened(new MapPort(shared, clock)) }
}

const ids = ['a', 'b', 'c', 'd']

export const remoteCases: Readonly<Record<string, () => Promise<void>>> = {
  'processes that claim at once claim each job once': () => claimsAtOnce({}, Infinity),
  'processes that claim at once keep to a concurrency': () => claimsAtOnce({ concurrency: 4 }, 4),
  'processes that claim at once keep to a concurrency per key': () => claimsAtOnce({ perKey: 4 }, 4),

  async 'a write that was carried out although its answer was lost has the same answer when it is repeated'() {
    const port = new Losing(new SharedMap(), movingClock())
    const store = await opened(port)
    const job = await putAndTake(store, 'a')
    const end = { ...lease(job), event: 'COMPLETE', to: 'done' } as const
    port.isLosing = true
    await assert.rejects(async () => store.settle([end]), { code: 'STORE_UNAVAILABLE' })
    port.isLosing = false
    const [once, again] = [await store.settle([end]), await store.settle([end])]
    assert.deepEqual(once, again)
    assert.equal(once[0]?.outcome, 'settled')
    const { transitions } = await store.transitions(null, 10)
    assert.deepEqual(
      transitions.map(({ event }) => event),
      ['ENQUEUE', 'CLAIM', 'COMPLETE'],
    )
  },

  async 'jobs that others claim after the heads were read do not hide those behind them'() {
    const { port, store, other } = await interrupted()
    await put(store, ...Array.from({ length: 10 }, (_, n) => newJob(`job ${n}`)))
    port.afterHeads = () => take(other, { worker: 'other', max: 5 })
    const { jobs, shortfalls } = await ask(store, { max: 5 })
    assert.deepEqual(
      jobs.map(({ id }) => id),
      ['job 5', 'job 6', 'job 7', 'job 8', 'job 9'],
    )
    assert.deepEqual(shortfalls, [])
  },

  async 'processes that claim at once keep to a rate'() {
    const [shared, clock] = [new SharedMap(), movingClock()]
    const stores = await Promise.all([1, 2, 3].map(() => opened(new Lagging(shared, clock))))
    await put(stores[0] as Store, ...Array.from({ length: 20 }, (_, n) => newJob(`job ${n}`)))
    const limits = { ...noLimits, rate: { limit: 4, perMs: 60_000 } }
    const claimed: string[] = []
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        stores.map((store, n) => ask(store, { worker: `w${n}`, token: `t${n} ${round}`, max: 1, limits })),
      )
      claimed.push(...answers.flatMap(({ jobs }) => jobs.map(({ id }) => id)))
    }
    assert.equal(claimed.length, 4)
  },

  async 'a run that another process cancels before the commit ends as cancelled'() {
    const { port, store, other } = await interrupted()
    const job = await putAndTake(store, 'a')
    port.beforeCommit = async () => other.cancel([{ ids: ['a'], reason: 'enough', graceMs: 0 }])
    const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual([answer?.outcome, answer?.from, answer?.to], ['settled', 'cancelling', 'cancelled'])
  },

  async 'calls take effect in the order in which they are made, however long each takes'() {
    const { port, store } = await interrupted()
    await put(store, newJob('a'), newJob('b'))
    port.afterHeads = async () => {
      for (let i = 0; i < 20; i++) await setImmediate()
    }
    const [[job], [answer]] = await Promise.all([
      take(store, { max: 1 }),
      store.cancel([{ ids: ['a'], reason: null, graceMs: 0 }]),
    ])
    assert.deepEqual([job?.id, answer?.cancelling], ['a', ['a']])
  },

  async 'a read sees what was asked for before it'() {
    const { store } = await interrupted()
    await put(store, newJob('a'))
    const [, [record]] = await Promise.all([take(store, { max: 1 }), store.get(['a'])])
    assert.equal(record?.state, 'running')
  },

  async 'a job that another process has changed before the commit is judged anew, and nothing is written twice'() {
    const { port, store, other } = await interrupted()
    await put(store, ...ids.map((id) => newJob(id)))
    port.beforeCommit = () => take(other, { worker: 'other', max: 1 })
    const [answer] = await store.cancel([{ ids, reason: null, graceMs: 0 }])
    assert.deepEqual([answer?.cancelling, answer?.cancelled], [['a'], ['b', 'c', 'd']])
    assert.deepEqual(
      answer?.transitions.map(({ seq }) => seq),
      [6, 7, 8, 9],
    )
    const { transitions } = await store.transitions(null, 20)
    assert.deepEqual(
      transitions.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
  },

  async 'of inserts of two processes at once no more succeed than there is room for'() {
    const { port, store, other } = await interrupted()
    port.beforeCommit = () => put(other, newJob('theirs'))
    const [[answer] = []] = await store.insert([{ jobs: [newJob('mine')], capacity: 1 }])
    assert.equal(answer?.outcome, 'full')
    assert.equal((await store.counts()).queued, 1)
  },

  async 'a key that another process has taken before the commit is answered with its holder'() {
    const { port, store, other } = await interrupted()
    port.beforeCommit = () => put(other, newJob('theirs', { key: 'k' }))
    const [answer] = await put(store, newJob('mine', { key: 'k' }))
    assert.deepEqual([answer?.outcome, answer?.id], ['duplicate', 'theirs'])
  },

  async 'a job that was retried after a prune has found it is not removed'() {
    const { port, store, other } = await interrupted()
    await putAndEnd(store, 'a', 'dead')
    const none = { count: 0, ageMs: 0 }
    await store.retain({ types: new Map(), others: { done: none, dead: none, cancelled: none } })
    port.beforeCommit = async () => other.retry(['a'])
    await store.prune(10)
    assert.equal((await store.get(['a']))[0]?.state, 'queued')
  },
}
