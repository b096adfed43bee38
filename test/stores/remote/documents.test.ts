/** A store that somebody else has written, of documents behind an asynchronous interface, against the contract. */
import { JobchartError, remoteStore, type FindQuery, type Found, type TypeFigures } from 'jobchart/store'
import { expect, test } from 'vitest'
import { lease, newJob, put, putAndEnd, putAndTake, workerInfo } from '../../../src/store-testing/conformance/acts.ts'
import { storeConformance } from '../../../src/store-testing/conformance/index.ts'
import type { NewJob } from '../../../src/store.ts'
import { movingClock } from '../moving-clock.ts'
import { remoteCases } from './cases.ts'
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

for (const [name, run] of Object.entries(remoteCases)) test(name, run)

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

test('what an operation asks for one after the other is loaded together: keys of jobs that are retried, holders of keys', async () => {
  let loads = 0
  class Counting extends MapPort {
    override load(...args: Parameters<MapPort['load']>): Promise<void> {
      loads++
      return super.load(...args)
    }
  }
  const clock = movingClock()
  const store = remoteStore(new Counting(new SharedMap(), clock))
  await store.open({ clock })
  const ids = Array.from({ length: 100 }, (_, i) => `job ${i}`)
  const loadsOf = async (act: () => unknown): Promise<number> => {
    loads = 0
    await act()
    return loads
  }
  const keyed = (prefix: string, fields: Partial<NewJob>): NewJob[] =>
    ids.map((id) => newJob(`${prefix}${id}`, { key: `key of ${id}`, ...fields }))
  await put(store, ...keyed('', {}))
  await store.cancel([{ ids, reason: null, graceMs: 0 }])
  expect(await loadsOf(() => store.retry(ids))).toBeLessThan(10)
  for (const onConflict of ['keep', 'replace', 'follow', 'supersede'] as const) {
    const found = await loadsOf(() => put(store, ...keyed(`${onConflict} `, { onConflict })))
    expect(found, onConflict).toBeLessThan(10)
  }
  await store.close()
})

/** Keeps what the searches for ended jobs have asked for. */
class Recording extends MapPort {
  run = 'a'
  readonly asked: (number | null)[] = []
  /** How many jobs each has asked for. */
  readonly limits: number[] = []

  override find(query: FindQuery): Promise<Found> {
    if (query.by === 'finished') {
      this.asked.push(query.after?.number ?? null)
      this.limits.push(query.limit)
    }
    return super.find(query)
  }

  epoch(): string {
    return this.run
  }
}

test('what is kept for a while although it is too much is not looked at before its time', async () => {
  const clock = movingClock()
  const port = new Recording(new SharedMap(), clock)
  const store = remoteStore(port)
  await store.open({ clock })
  const bounds = { count: 2, countMax: 5, minAgeMs: 60_000, ageMs: 1e12 }
  await store.retain({ types: new Map(), others: { done: bounds, dead: bounds, cancelled: bounds } })
  const doneAfter = async (...more: string[]): Promise<string> => {
    for (const id of more) await putAndEnd(store, id, 'done')
    while ((await store.prune(10)).more);
    return (await store.list({ state: 'done' })).map(({ id }) => id).join('')
  }
  expect(await doneAfter('a', 'b', 'c')).toBe('abc')
  const looks = port.asked.length
  expect(await doneAfter('d')).toBe('abcd')
  expect(await doneAfter('e')).toBe('abcde')
  expect(port.asked.length).toBe(looks)
  expect(await doneAfter('f')).toBe('bcdef')
  await clock.advance(60_000)
  expect(await doneAfter()).toBe('ef')
  // The first one is old enough.
  expect(await doneAfter('g')).toBe('fg')
})

test('a prune begins where the last one has found something, but for ten minutes and in one epoch', async () => {
  const clock = movingClock()
  const port = new Recording(new SharedMap(), clock)
  const store = remoteStore(port)
  await store.open({ clock })
  const kept = {
    done: { count: 2, ageMs: 1e12 },
    dead: { count: 9, ageMs: 1e12 },
    cancelled: { count: 9, ageMs: 1e12 },
  }
  await store.retain({ types: new Map(), others: kept })
  const ended = async (...ids: string[]): Promise<(number | null)[]> => {
    for (const id of ids) await putAndEnd(store, id, 'done')
    const before = port.asked.length
    while ((await store.prune(10)).more);
    return port.asked.slice(before)
  }
  expect((await ended('a', 'b', 'c'))[0]).toBe(null)
  // The end of `a` was the third transition.
  expect((await ended('d'))[0]).toBe(2)
  expect((await ended('e'))[0]).toBeGreaterThan(2)
  expect((await store.list({ state: 'done' })).map(({ id }) => id)).toEqual(['d', 'e'])
  await clock.advance(600_000)
  expect((await ended('f'))[0]).toBe(null)
  port.run = 'b'
  expect((await ended('g'))[0]).toBe(null)
  expect((await ended('h'))[0]).toBeGreaterThan(2)
  expect((await store.list({ state: 'done' })).map(({ id }) => id)).toEqual(['g', 'h'])
})

/** Keeps of which types the numbers of jobs were looked at. */
class Watching extends MapPort {
  readonly looked = new Set<string>()
  private readonly watched = new WeakMap<object, TypeFigures>()

  override async figures() {
    const { byType, ...rest } = await super.figures()
    return { byType: new Map(Array.from(byType, ([type, each]) => [type, this.counted(type, each)])), ...rest }
  }

  private counted(type: string, figures: TypeFigures): TypeFigures {
    const known = this.watched.get(figures)
    if (known !== undefined) return known
    const get = (): TypeFigures['counts'] => {
      this.looked.add(type)
      return figures.counts
    }
    const made = Object.defineProperty({ ...figures }, 'counts', { get })
    this.watched.set(figures, made)
    return made
  }
}

test('a prune looks at the numbers of the types in which something has changed, and of all under other policies', async () => {
  const clock = movingClock()
  const port = new Watching(new SharedMap(), clock)
  const store = remoteStore(port)
  await store.open({ clock })
  const bounds = (count: number) => ({ count, ageMs: 1e12 })
  const policy = (count: number) => ({ done: bounds(count), dead: bounds(count), cancelled: bounds(count) })
  await store.retain({ types: new Map(), others: policy(2) })
  for (const type of ['a', 'b', 'c']) await putAndEnd(store, `${type} 1`, 'done', { type })
  const read = async (): Promise<readonly string[]> => {
    port.looked.clear()
    while ((await store.prune(10)).more);
    return [...port.looked]
  }
  expect(await read()).toEqual(['a', 'b', 'c'])
  expect(await read()).toEqual([])
  await putAndEnd(store, 'b 2', 'done', { type: 'b' })
  expect(await read()).toEqual(['b'])
  expect(await read()).toEqual([])
  await store.retain({ types: new Map([['c', policy(1)]]), others: policy(3) })
  expect(await read()).toEqual(['a', 'b', 'c'])
  expect(await read()).toEqual([])
})

test('a prune reads about as many ended jobs as have gone in the last one, and more where all of them go', async () => {
  const clock = movingClock()
  const port = new Recording(new SharedMap(), clock)
  const store = remoteStore(port)
  await store.open({ clock })
  const bounds = { count: 2, ageMs: 1e12 }
  await store.retain({ types: new Map(), others: { done: bounds, dead: bounds, cancelled: bounds } })
  let jobs = 0
  const pruned = async (count: number): Promise<[pruned: number, limits: readonly number[]]> => {
    for (let i = 0; i < count; i++) await putAndEnd(store, `${++jobs}`, 'done')
    port.limits.length = 0
    const answer = await store.prune(200)
    return [answer.pruned, [...port.limits]]
  }
  expect(await pruned(12)).toEqual([10, [1, 11]])
  expect(await pruned(10)).toEqual([10, [14]])
  expect(await pruned(3)).toEqual([3, [14]])
  expect(await pruned(10)).toEqual([10, [5, 11]])
  expect(await pruned(150)).toEqual([150, [14, 100, 151]])
  expect(await pruned(1)).toEqual([1, [189]])
  expect((await store.list({ state: 'done' })).map(({ id }) => id)).toEqual([`${jobs - 1}`, `${jobs}`])
})

test('a heartbeat, and the worker that sends it, are one commit, and nothing is loaded that this process has written', async () => {
  const calls: string[] = []
  class Counting extends MapPort {
    override load(...args: Parameters<MapPort['load']>): Promise<void> {
      calls.push('load')
      return super.load(...args)
    }

    override commit(...args: Parameters<MapPort['commit']>): ReturnType<MapPort['commit']> {
      calls.push('commit')
      return super.commit(...args)
    }
  }
  const [shared, clock] = [new SharedMap(), movingClock()]
  const store = remoteStore(new Counting(shared, clock))
  const other = remoteStore(new MapPort(shared, clock))
  await Promise.all([store.open({ clock }), other.open({ clock })])
  await store.worker('w1', workerInfo('w1'))
  const job = await putAndTake(store, 'job')
  const beat = async (): Promise<readonly string[]> => {
    await clock.advance(1_000)
    calls.length = 0
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [{ ...lease(job), steps: { a: 1 } }] })
    expect((await store.workers()).map(({ id, seenAt }) => [id, seenAt])).toEqual([['w1', clock.now()]])
    return calls.filter((call, i) => call === 'commit' || calls.indexOf('commit') > i)
  }
  expect(await beat()).toEqual(['load', 'commit'])
  expect(await beat()).toEqual(['commit'])
  // Somebody else has written the worker.
  await other.worker('w1', workerInfo('w1', { slots: 3 }))
  expect(await beat()).toEqual(['commit', 'commit'])
  expect((await store.workers())[0]?.slots).toBe(3)
  expect(await beat()).toEqual(['commit'])
  await Promise.all([store.close(), other.close()])
})
