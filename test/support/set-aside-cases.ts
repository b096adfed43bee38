/** What holds on every store for jobs that it sets aside, because something else has made them unreadable. */
import { expect } from 'vitest'
import { idsOf, newJob, put, putAndTake, take } from '../../src/store-testing/conformance/acts.ts'
import type { NewJob, Store } from '../../src/store.ts'

/** Makes a job unreadable. */
type Break = (id: string) => unknown

export async function freesItsKey(store: Store, breaks: Break): Promise<void> {
  const keyed: Partial<NewJob> = { key: 'k', until: 'start' }
  await put(store, newJob('holds', { key: 'x' }))
  await breaks('holds')
  expect(await store.get(['holds'])).toEqual([null])
  expect((await put(store, newJob('next', { key: 'x', delayMs: 9e6 })))[0]?.outcome).toBe('inserted')
  await putAndTake(store, 'starts', keyed)
  await put(store, newJob('waits', keyed))
  await store.promote(10)
  expect((await store.get(['waits']))[0]?.state).toBe('scheduled')
  await breaks('starts')
  expect(await store.get(['starts'])).toEqual([null])
  await store.promote(10)
  expect((await store.get(['waits']))[0]?.state).toBe('queued')
}

/** @param breaks of a queued job, and of one that runs */
export async function makesRoom(
  store: Store,
  breaks: { readonly queued: Break; readonly running: Break },
): Promise<void> {
  const perKey = { limits: { perKey: 1 } }
  await put(store, ...['a', 'b', 'c', 'd', 'e'].map((id) => newJob(id, { concurrencyKey: 'k' })))
  await breaks.queued('a')
  const [b, ...others] = await take(store, perKey)
  expect([b?.id, others]).toEqual(['b', []])
  await breaks.running('b')
  expect(await store.get(['b'])).toEqual([null])
  expect(idsOf(await take(store, perKey))).toEqual(['c'])
}
