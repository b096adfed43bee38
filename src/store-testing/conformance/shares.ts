/** How concurrency keys share the claims of a type by weight. */
import assert from 'node:assert/strict'
import type { Store } from '../../store.ts'
import { cancel, idsOf, lease, newJob, put, take } from './acts.ts'
import type { Cases } from './subject.ts'

/** Inserts `count` jobs of a key, with ids of the key and a number. */
async function fill(store: Store, concurrencyKey: string | null, count: number, keyWeight?: number): Promise<void> {
  const weight = keyWeight === undefined ? {} : { keyWeight }
  const ids = Array.from({ length: count }, (_, i) => `${concurrencyKey}.${i}`)
  await put(store, ...ids.map((id) => newJob(id, { concurrencyKey, ...weight })))
}

const keysOf = (ids: readonly string[]): string => ids.map((id) => id.slice(0, id.indexOf('.'))).join(' ')
const takeShares = async (store: Store, max: number, limits = {}): Promise<string> =>
  keysOf(idsOf(await take(store, { max, limits, keyShares: true })))

export const shareCases: Cases = {
  'keys share the claims by weight, regardless of the order of inserts': async ({ store }) => {
    await fill(store, 'x', 8)
    await fill(store, 'y', 9, 4)
    assert.equal(await takeShares(store, 7), 'y y y x y y y')
    assert.equal(await takeShares(store, 3), 'y x y', 'the shares go on from claim to claim')
  },
  'without shares the jobs of all keys are claimed first in, first out': async ({ store }) => {
    await fill(store, 'x', 2)
    await fill(store, 'y', 2, 3)
    assert.deepEqual(idsOf(await take(store, { max: 4 })), ['x.0', 'x.1', 'y.0', 'y.1'])
  },
  'one of many keys gives all that is asked for, if its jobs come first': async ({ store }) => {
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
    await put(store, ...keys.map((key) => newJob(`${key}.0`, { concurrencyKey: key })))
    const urgent = Array.from({ length: 25 }, (_, i) => `k7.urgent ${i}`)
    await put(store, ...urgent.map((id) => newJob(id, { concurrencyKey: 'k7', priority: 1 })))
    assert.deepEqual(idsOf(await take(store, { max: 20 })), urgent.slice(0, 20))
    const rest = [...urgent.slice(20), ...keys.map((key) => `${key}.0`)]
    assert.deepEqual(idsOf(await take(store, { max: 10, limits: { perKey: 23 } })), [
      ...rest.slice(0, 3),
      ...rest.slice(5, 12),
    ])
    assert.deepEqual(idsOf(await take(store, { max: 50 })), [...rest.slice(3, 5), ...rest.slice(12)])
  },
  'within a key jobs are claimed by priority, then first in, first out': async ({ store }) => {
    await fill(store, 'x', 3)
    await put(store, newJob('x.urgent', { concurrencyKey: 'x', priority: 9 }))
    await fill(store, 'y', 2)
    const ids = idsOf(await take(store, { max: 6, keyShares: true }))
    assert.deepEqual(ids, ['x.urgent', 'y.0', 'x.0', 'y.1', 'x.1', 'x.2'])
  },
  'jobs without a key share as if they had one key of weight 1': async ({ store }) => {
    await fill(store, null, 5)
    await fill(store, 'x', 4, 3)
    assert.equal(await takeShares(store, 8), 'x x null x x null null null')
    assert.equal(await takeShares(store, 8), 'null')
  },
  'a key gains no credit while it has no work': async ({ store }) => {
    await fill(store, 'x', 20)
    await fill(store, 'y', 1)
    await takeShares(store, 10)
    await put(store, ...[1, 2, 3].map((i) => newJob(`y.${i}`, { concurrencyKey: 'y' })))
    assert.equal(await takeShares(store, 6), 'x y x y x y')
  },
  'a key that has one job at a time gets no more than its share': async ({ store }) => {
    await fill(store, 'x', 20)
    let keys = ''
    for (let i = 0; i < 4; i++) {
      await put(store, newJob(`y.${i}`, { concurrencyKey: 'y' }))
      keys += `${await takeShares(store, 2)} `
    }
    assert.equal(
      keys
        .trim()
        .split(' ')
        .filter((key) => key === 'y').length,
      4,
    )
  },
  'a key at its concurrency limit gives its share to the others, and catches up when it is below': async ({
    store,
  }) => {
    await fill(store, 'x', 9)
    await fill(store, 'y', 9, 4)
    const limits = { perKey: 1 }
    const [y] = await take(store, { max: 1, limits, keyShares: true })
    assert.equal(y?.id, 'y.0')
    assert.equal(await takeShares(store, 5, limits), 'x')
    await store.settle([{ ...lease(y), event: 'COMPLETE', to: 'done' }])
    assert.equal(await takeShares(store, 7), 'y y y y y y x', 'after 8 : 2 claims the shares are exact')
  },
  'a key that was kept back catches up by 32 claims at most': async ({ store }) => {
    await fill(store, 'x', 102, 4)
    await fill(store, 'y', 60)
    const capped = { perKey: 1 }
    const [y] = idsOf(await take(store, { max: 1, keyShares: true }))
    assert.equal(y, 'x.0')
    for (let i = 0; i < 50; i++) {
      const jobs = await take(store, { max: 2, limits: capped, keyShares: true })
      assert.equal(keysOf(idsOf(jobs)), 'y')
      await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE' as const, to: 'done' as const })))
    }
    const keys = (await takeShares(store, 50)).split(' ')
    assert.equal(keys.indexOf('y'), 37, 'the claim that was due, 32 to catch up, and 4 by weight')
  },
  'claims with and without shares of one type do not affect each other': async ({ store }) => {
    await fill(store, 'x', 4)
    await fill(store, null, 2)
    await fill(store, 'y', 4)
    assert.equal(await takeShares(store, 3), 'x null y')
    assert.deepEqual(idsOf(await take(store, { max: 3 })), ['x.1', 'x.2', 'x.3'])
    assert.equal(await takeShares(store, 5), 'null y y y')
  },
  'the weight of a key is that of its first job': async ({ store }) => {
    await put(store, newJob('x.0', { concurrencyKey: 'x' }), newJob('x.1', { concurrencyKey: 'x', keyWeight: 4 }))
    await fill(store, 'y', 4, 2)
    await cancel(store, ['x.0'])
    assert.equal(await takeShares(store, 2), 'x y')
  },
}
