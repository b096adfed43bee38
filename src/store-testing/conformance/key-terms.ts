/** Limits per key of workers that differ: those of the worker that has started last hold for all. */
import assert from 'node:assert/strict'
import type { Store, TypeLimits } from '../../store.ts'
import { ask, idsOf, newJob, put, take } from './acts.ts'
import type { Cases } from './subject.ts'

/** Claims of a worker with its own definition: the greater `startedAt`, the newer it is. */
const workerOf =
  (store: Store, startedAt: number, limits: Partial<TypeLimits>, shares: { readonly keyShares?: true } = {}) =>
  async (max = 100): Promise<string> =>
    idsOf(await take(store, { max, startedAt, worker: `w${startedAt}`, limits, leaseMs: 600_000, ...shares })).join(' ')

const fill = (store: Store, key: string, count: number): Promise<unknown> =>
  put(store, ...Array.from({ length: count }, (_, i) => newJob(`${key}.${i}`, { concurrencyKey: key })))

export const keyTermsCases: Cases = {
  'of workers whose concurrency per key differs, that of the one that has started last holds': async ({ store }) => {
    await fill(store, 'x', 9)
    const [older, newer] = [workerOf(store, 1, { perKey: 5 }), workerOf(store, 2, { perKey: 2 })]
    assert.equal(await older(1), 'x.0')
    assert.equal(await newer(), 'x.1')
    assert.equal(await older(), '')
    const { shortfalls } = await ask(store, { startedAt: 1, worker: 'w1', limits: { perKey: 5 } })
    assert.deepEqual(shortfalls, [{ type: 'mail', reason: 'capped' }])
  },
  'a newer worker without a limit per key ends it for older ones': async ({ store }) => {
    await fill(store, 'x', 9)
    const [older, newer] = [workerOf(store, 1, { perKey: 1 }), workerOf(store, 2, {})]
    assert.equal(await older(), 'x.0')
    assert.equal(await newer(2), 'x.1 x.2')
    assert.equal(await older(2), 'x.3 x.4')
  },
  'of workers whose rate limits per key differ, that of the one that has started last holds': async ({ store }) => {
    await fill(store, 'x', 9)
    const rate = (limit: number): Partial<TypeLimits> => ({ keyRate: { limit, perMs: 600_000 } })
    const [older, newer] = [workerOf(store, 1, rate(1)), workerOf(store, 2, rate(4))]
    assert.equal(await older(), 'x.0')
    assert.equal(await older(), '')
    assert.equal(await newer(1), 'x.1')
    assert.equal(await older(1), 'x.2')
    assert.equal(await newer(), 'x.3')
    assert.equal(await older(), '')
  },
  'of workers of which one shares by weight, the one that has started last decides': async ({ store }) => {
    await fill(store, 'x', 3)
    await fill(store, 'y', 3)
    const [older, newer] = [workerOf(store, 1, {}), workerOf(store, 2, {}, { keyShares: true })]
    assert.equal(await older(1), 'x.0')
    assert.equal(await newer(1), 'x.1')
    assert.equal(await older(2), 'y.0 x.2')
  },
  'the limits per key of an older worker hold again half a minute after the last claim of the newer one': async ({
    store,
    advance,
  }) => {
    await fill(store, 'x', 9)
    const [older, newer] = [workerOf(store, 1, { perKey: 5 }), workerOf(store, 2, { perKey: 1 })]
    assert.equal(await newer(), 'x.0')
    await advance(20_000)
    assert.equal(await newer(), '')
    await advance(20_000)
    assert.equal(await older(), '')
    await advance(10_000)
    assert.equal(await older(), 'x.1 x.2 x.3 x.4')
  },
  'a claim that does not tell when its worker has started has its own limits per key': async ({ store }) => {
    await fill(store, 'x', 9)
    assert.equal(await workerOf(store, 5, { perKey: 1 })(), 'x.0')
    assert.deepEqual(idsOf(await take(store, { limits: { perKey: 3 } })), ['x.1', 'x.2'])
    assert.equal(await workerOf(store, 4, { perKey: 4 })(), 'x.3')
  },
}
