/**
 * An item of a call that the file refuses half-way: its part of the transaction is taken back, with all that it has
 * counted.
 */
import { expect, onTestFinished, test } from 'vitest'
import type { Settlement } from '../../src/core/settlement.ts'
import type { Store } from '../../src/store.ts'
import { boom, lease, newJob, putAndTake, plainCheckpoint } from '../../src/store-testing/conformance/acts.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

async function opened(): Promise<Store> {
  const subject = await sqliteSubject(false)
  onTestFinished(() => subject.close())
  return subject.store
}

const enqueuedOf = async (store: Store): Promise<Record<string, number>> => {
  const activity = await store.activity({ period: 'hour', from: 0, queues: 'each' })
  return Object.fromEntries(activity.map(({ type, buckets }) => [type ?? '', buckets[0]?.enqueued ?? 0]))
}

test('jobs of a request that fails are not counted, and those beside it are', async () => {
  const store = await opened()
  await store.insert([{ jobs: [newJob('a')], capacity: null }])
  // The column takes whole numbers.
  const refused = newJob('d', { priority: 0.5 })
  const answers = await store.insert([
    { jobs: [newJob('b')], capacity: null },
    { jobs: [newJob('c'), newJob('x', { type: 'fax' }), refused], capacity: null },
    { jobs: [newJob('e', { type: 'sms' })], capacity: null },
  ])
  expect(answers.map(([first]) => first?.outcome)).toEqual(['inserted', 'failed', 'inserted'])
  expect(await enqueuedOf(store)).toEqual({ mail: 2, sms: 1 })
  expect((await store.counts()).queued).toBe(3)
})

test('a failure whose settlement is refused is in no group', async () => {
  const store = await opened()
  const job = await putAndTake(store, 'a', { onConflict: 'keep' })
  const wrong = { ...lease(job), event: 'FAIL', to: 'retrying', error: boom, delayMs: Infinity } as const
  expect((await store.settle([wrong]))[0]?.outcome).toBe('failed')
  expect(await store.failures({})).toEqual([])
  await store.settle([{ ...wrong, delayMs: 0 }])
  expect(await store.failures({})).toMatchObject([{ count: 1, dead: 0 }])
})

test('a machine whose settlement is refused is counted where it was, and one beside it where it is', async () => {
  const store = await opened()
  const jobs = [await putAndTake(store, 'a'), await putAndTake(store, 'b'), await putAndTake(store, 'c')]
  const to = (number: number, state: string) => ({ checkpoint: { ...plainCheckpoint(number), states: [state] } })
  await store.checkpoint(jobs.map((job) => ({ ...lease(job), ...to(1, 'asked') })))
  const delays = [1, Infinity, 1]
  const parked = jobs.map((job, i) => ({
    ...lease(job),
    event: 'PARK',
    to: 'waiting',
    delayMs: delays[i] as number,
    ...to(2, 'reminded'),
  })) satisfies Settlement[]
  const answers = await store.settle(parked)
  expect(answers.map(({ outcome }) => outcome)).toEqual(['settled', 'failed', 'settled'])
  expect((await store.machineCounts('mail')).states).toEqual({ asked: 1, reminded: 2 })
})
