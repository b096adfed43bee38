/** The shares of concurrency keys, over many claims: on the memory store and on SQLite. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from 'jobchart'
import { seededRandom, VirtualClock } from 'jobchart/testing'
import { clockAfter, finishOf, startAfter } from '../../src/core/shares.ts'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { ClaimedJob, Store } from '../../src/store.ts'
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

test.each(stores)('of 10,000 claims each of 1,000 keys gets its share by weight, %s', async (_, make) => {
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
    // A share may be no whole number of claims: then it is less than one claim off. The shares of all claims are
    // whole.
    const off = claimed === claims ? 0 : 1
    for (const { key, weight } of keys) {
      const share = (claimed * weight) / sum
      expect(Math.abs((given.get(key) ?? 0) - share), `${key} of ${claimed}`).toBeLessThan(0.005 * share + off)
    }
  }
})

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

/**
 * The starts of keys of weights 3, 1 and 1 that always have work, percent: 3,000 jobs of 0.1 to 1.9 s, in so many
 * slots.
 */
async function startsOf(store: Store, slots: number, perKey: number): Promise<number[]> {
  const random = seededRandom(slots)
  const [started, running]: [string[], { readonly job: ClaimedJob; readonly end: number }[]] = [[], []]
  const add = (key: string) =>
    put(store, newJob(`${key}${started.length}`, { concurrencyKey: key, keyWeight: key === 'a' ? 3 : 1 }))
  for (const key of ['a', 'b', 'c']) {
    await put(
      store,
      ...Array.from({ length: 10 }, (_, i) =>
        newJob(`${key}.${i}`, { concurrencyKey: key, keyWeight: key === 'a' ? 3 : 1 }),
      ),
    )
  }
  for (let now = 0; started.length < 3_000;) {
    const limits = { perKey }
    const free = slots - running.length
    for (const job of await take(store, { max: free, limits, keyShares: true, token: `t${started.length}` })) {
      started.push(job.id.slice(0, 1))
      running.push({ job, end: now + 0.1 + 1.8 * random() })
      await add(job.id.slice(0, 1))
    }
    running.sort((a, b) => b.end - a.end)
    const { job, end } = running.pop() as (typeof running)[number]
    now = end
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  }
  return ['a', 'b', 'c'].map((key) => (started.filter((each) => each === key).length * 100) / started.length)
}

/** The table of docs/tenants.md. */
const measured = [
  { slots: 2, perKey: 2, starts: [60, 20, 20] },
  { slots: 3, perKey: 2, starts: [60, 20, 20] },
  { slots: 4, perKey: 2, starts: [50, 25, 25] },
  { slots: 5, perKey: 2, starts: [40, 30, 30] },
  { slots: 6, perKey: 2, starts: [33, 33, 33] },
  { slots: 2, perKey: 3, starts: [60, 20, 20] },
  { slots: 3, perKey: 3, starts: [60, 20, 20] },
  { slots: 4, perKey: 3, starts: [60, 20, 20] },
  { slots: 5, perKey: 3, starts: [60, 20, 20] },
  { slots: 6, perKey: 3, starts: [50, 25, 25] },
]

async function expectStarts(store: Store, { slots, perKey, starts }: (typeof measured)[number]): Promise<void> {
  const given = await startsOf(store, slots, perKey)
  for (const [i, percent] of starts.entries())
    expect(Math.abs((given[i] ?? 0) - percent), given.join(', ')).toBeLessThan(1)
}

test.each(measured)(
  'keys of weights 3, 1 and 1 with perKey $perKey get $starts % of the starts in $slots slots, memory',
  async (each) => expectStarts(await opened(memoryStore), each),
)

test('a cap that allows the shares on average does not change them, sqlite', async () =>
  expectStarts(await opened(fileStore), { slots: 3, perKey: 2, starts: [60, 20, 20] }))

test('claims differ from the shares by less than one claim of each key, whatever the weights', () => {
  const property = fc.property(
    fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 2, maxLength: 20 }),
    fc.integer({ min: 1, max: 500 }),
    (weights, claims) => {
      const keys = weights.map((weight) => ({ weight, start: 0, given: 0 }))
      let clock = 0
      for (let i = 0; i < claims; i++) {
        const next = keys.reduce((a, b) => (finishOf(b.start, b.weight) < finishOf(a.start, a.weight) ? b : a))
        const finish = finishOf(next.start, next.weight)
        clock = clockAfter(clock, finish)
        next.start = startAfter(clock, finish, next.weight)
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
