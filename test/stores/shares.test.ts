/** The shares of concurrency keys, over many claims: on the memory store and on SQLite. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { clockAfter, finishOf } from '../../src/core/shares.ts'
import { newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../src/store.ts'
import { fileStore } from '../support/file-store.ts'

const stores: [name: string, make: () => Store][] = [
  ['memory', memoryStore],
  ['sqlite', fileStore],
]

const opened = async (make: () => Store): Promise<Store> => {
  const store = make()
  await store.open({ clock: new VirtualClock() })
  return store
}

test.each(stores)(
  'of 10,000 claims each of 1,000 keys gets its share by weight, %s',
  async (_, make) => {
    const store = await opened(make)
    const keys = Array.from({ length: 1_000 }, (__, i) => ({ key: `tenant ${i}`, weight: 1 + (i % 4) }))
    const sum = keys.reduce((all, { weight }) => all + weight, 0)
    const claims = 10_000
    for (const { key, weight } of keys) {
      const backlog = Math.ceil((claims * weight) / sum) + 2
      const ids = Array.from({ length: backlog }, (__, i) => `${key}:${i}`)
      await put(store, ...ids.map((id) => newJob(id, { concurrencyKey: key, keyWeight: weight })))
    }
    const given = new Map<string, number>()
    for (let claimed = 0; claimed < claims;) {
      for (const { id } of await take(store, { max: 50, keyShares: true, token: `t${claimed}` })) {
        const key = id.slice(0, id.indexOf(':'))
        given.set(key, (given.get(key) ?? 0) + 1)
        claimed++
      }
      if (claimed % 1_000 !== 0) continue
      // A share may be no whole number of claims: then it is less than one claim off. The shares of all claims are whole.
      const off = claimed === claims ? 0 : 1
      for (const { key, weight } of keys) {
        const share = (claimed * weight) / sum
        expect(Math.abs((given.get(key) ?? 0) - share), `${key} of ${claimed}`).toBeLessThan(0.005 * share + off)
      }
    }
  },
  60_000,
)

test.each(stores)('no key waits for longer than its share says while others keep coming, %s', async (_, make) => {
  const store = await opened(make)
  await put(store, newJob('small', { concurrencyKey: 'small' }))
  let claimed = 0
  for (let n = 0; n < 200; n++) {
    await put(store, newJob(`big ${n}`, { concurrencyKey: `big ${n % 3}`, keyWeight: 10, priority: 100 }))
    claimed++
    const [job] = await take(store, { max: 1, keyShares: true, token: `t${n}` })
    if (job?.id === 'small') break
  }
  // Three keys of weight 10: 30 claims of theirs to one of a key of weight 1.
  expect(claimed).toBeLessThanOrEqual(31)
})

test('claims differ from the shares by less than one claim of each key, whatever the weights', () => {
  const property = fc.property(
    fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 2, maxLength: 20 }),
    fc.integer({ min: 1, max: 500 }),
    (weights, claims) => {
      const keys = weights.map((weight) => ({ weight, start: 0, given: 0 }))
      let clock = 0
      for (let i = 0; i < claims; i++) {
        const next = keys.reduce((a, b) => (finishOf(b.start, b.weight) < finishOf(a.start, a.weight) ? b : a))
        next.start = clock = clockAfter(clock, finishOf(next.start, next.weight))
        next.given++
      }
      for (const a of keys) {
        for (const b of keys) {
          const apart = Math.abs(a.given / a.weight - b.given / b.weight)
          expect(apart).toBeLessThanOrEqual(1 / a.weight + 1 / b.weight + 1e-9)
        }
      }
    },
  )
  fc.assert(property, { numRuns: 300 })
})
