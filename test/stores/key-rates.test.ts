/**
 * The rate limit of a key where the clock or the limit changes, and what is left of it: on the memory store and on
 * SQLite.
 */
import { memoryStore } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { ask, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../src/store.ts'
import { fileStore } from '../support/file-store.ts'

const stores: [name: string, make: () => Store][] = [
  ['memory', memoryStore],
  ['sqlite', fileStore],
]

const limits = { keyRate: { limit: 1, perMs: 60_000 } }

async function opened(make: () => Store) {
  const [store, clock] = [make(), new VirtualClock()]
  await store.open({ clock })
  const add = (id: string) => put(store, newJob(id, { concurrencyKey: 'x' }))
  return { store, clock, add }
}

test.each(stores)('what was claimed at a time that is still to come counts as claimed now, %s', async (_, make) => {
  const { store, clock, add } = await opened(make)
  await add('a')
  await add('b')
  await add('c')
  await take(store, { limits: { keyRate: { limit: 2, perMs: 60_000 } } })
  clock.jump(-3_600_000)
  const [shortfall] = (await ask(store, { limits })).shortfalls
  expect(shortfall).toEqual({ type: 'mail', reason: 'limited', until: store.now() + 60_000 })
  await clock.advance(59_999)
  expect(await take(store, { limits })).toHaveLength(0)
  await clock.advance(1)
  expect(await take(store, { limits })).toHaveLength(1)
})

test.each(stores)('another limit holds from the next claim on, %s', async (_, make) => {
  const { store, clock, add } = await opened(make)
  for (const id of ['a', 'b', 'c', 'd']) await add(id)
  expect(await take(store, { limits })).toHaveLength(1)
  expect(await take(store, { limits: { keyRate: { limit: 3, perMs: 60_000 } } })).toHaveLength(2)
  expect((await ask(store, { limits })).shortfalls[0]?.reason).toBe('limited')
  await clock.advance(60_000)
  expect(await take(store, { limits })).toHaveLength(1)
})
