/** `confirm`: the state of claimed jobs before they start, for stores that have this method. */
import assert from 'node:assert/strict'
import type { Standing, Store } from '../../store.ts'
import { cancel, lease, newJob, put, putAndTake, recordOf, take } from './acts.ts'
import type { Cases } from './subject.ts'

/** A store without the method passes the case. */
function expectStanding(store: Store, jobs: Parameters<typeof lease>[0][], expected: readonly Standing[]): void {
  if (store.confirm !== undefined) assert.deepEqual(store.confirm(jobs.map(lease)), expected)
}

export const confirmCases: Cases = {
  'a claimed job may start': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'))
    const jobs = [...(await take(store))]
    const before = await Promise.all(jobs.map(({ id }) => recordOf(store, id)))
    expectStanding(store, jobs, [{ outcome: 'leased' }, { outcome: 'leased' }])
    expectStanding(store, [], [])
    assert.deepEqual(await Promise.all(jobs.map(({ id }) => recordOf(store, id))), before)
  },
  'a job that was cancelled since its claim is cancelling, with the reason': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'), newJob('c'))
    const jobs = [...(await take(store))]
    await cancel(store, ['b'], 'enough')
    await store.cancel([{ ids: ['c'], reason: null, graceMs: 5_000 }])
    expectStanding(store, jobs, [
      { outcome: 'leased' },
      { outcome: 'cancelling', reason: 'enough' },
      { outcome: 'cancelling' },
    ])
  },
  'a job whose queue was paused since its claim is paused, until the queue is resumed': async ({ store }) => {
    await put(store, newJob('a'), newJob('b', { type: 'sms' }))
    const jobs = [...(await take(store)), ...(await take(store, { type: 'sms' }))]
    await store.queue('mail', { paused: true })
    expectStanding(store, jobs, [{ outcome: 'paused' }, { outcome: 'leased' }])
    await cancel(store, ['a'], 'enough')
    expectStanding(store, jobs.slice(0, 1), [{ outcome: 'cancelling', reason: 'enough' }])
    await store.queue('mail', { paused: false })
    expectStanding(store, jobs.slice(1), [{ outcome: 'leased' }])
  },
  'a job that was rescued, claimed again, settled or removed is lost': async ({ store, advance }) => {
    const a = await putAndTake(store, 'a')
    await advance(30_000)
    await store.rescue(10)
    expectStanding(store, [a], [{ outcome: 'lost' }])
    const [again] = await take(store, { token: 't2' })
    assert.ok(again)
    expectStanding(store, [a, again], [{ outcome: 'lost' }, { outcome: 'leased' }])
    await store.settle([{ ...lease(again), event: 'COMPLETE', to: 'done' }])
    expectStanding(store, [again], [{ outcome: 'lost' }])
    await store.discard(['a'])
    expectStanding(store, [again], [{ outcome: 'lost' }])
  },
}
