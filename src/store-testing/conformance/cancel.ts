/** Cancels. */
import assert from 'node:assert/strict'
import {
  cancel,
  changeMatching,
  idsOf,
  lease,
  newJob,
  put,
  putAndEnd,
  putAndTake,
  recordOf,
  stateOf,
  take,
} from './acts.ts'
import type { Cases } from './subject.ts'

export const cancelCases: Cases = {
  'a job without a lease is cancelled at once, in whatever state it waits': async ({ store }) => {
    const retrying = await putAndTake(store, 'retrying')
    const waiting = await putAndTake(store, 'waiting')
    await store.settle([
      { ...lease(retrying), event: 'FAIL', to: 'retrying', delayMs: 1_000 },
      { ...lease(waiting), event: 'PARK', to: 'waiting' },
    ])
    await put(store, newJob('queued'), newJob('scheduled', { delayMs: 1_000 }))
    const ids = ['retrying', 'waiting', 'queued', 'scheduled']
    const answer = await cancel(store, ids, 'enough')
    assert.deepEqual(answer?.cancelled, ids)
    assert.deepEqual(
      answer.transitions.map(({ id, event, from, to, reason }) => [id, event, from, to, reason]),
      ids.map((id) => [id, 'CANCEL', id, 'cancelled', 'enough']),
    )
    const record = await recordOf(store, 'queued')
    assert.deepEqual([record.cancelReason, record.finishedAt], ['enough', answer.transitions[2]?.at])
    assert.deepEqual(await take(store), [])
    assert.equal((await store.promote(10)).nextAt, null)
  },
  'a leased job is marked as cancelled, and a second cancel changes nothing': async ({ store }) => {
    await putAndTake(store, 'a')
    const first = await cancel(store, ['a'], 'first')
    assert.deepEqual([first?.cancelling, first?.transitions.length], [['a'], 1])
    const second = await cancel(store, ['a'], 'second')
    assert.deepEqual([second?.cancelling, second?.transitions.length], [['a'], 0])
    const record = await recordOf(store, 'a')
    assert.deepEqual([record.state, record.cancelReason, record.finishedAt], ['cancelling', 'first', null])
  },
  'a cancel by filter selects by the states that the calls before it have left': async ({ store }) => {
    for (const id of ['a', 'b']) await putAndTake(store, id)
    assert.deepEqual((await cancel(store, ['a']))?.cancelling, ['a'])
    assert.deepEqual((await changeMatching(store, 'cancel', { state: 'running' })).cancelling, ['b'])
    assert.deepEqual((await changeMatching(store, 'cancel', { state: 'cancelling' })).cancelling, ['a', 'b'])
  },
  'a cancel before a claim wins: the job never starts': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'))
    const [, jobs] = await Promise.all([cancel(store, ['a']), take(store)])
    assert.deepEqual(idsOf(jobs), ['b'])
  },
  'each id is reported: cancelled, cancelling, finished or not found': async ({ store }) => {
    await putAndEnd(store, 'done', 'done')
    await putAndTake(store, 'running')
    await put(store, newJob('queued'))
    const answer = await cancel(store, ['nobody', 'done', 'running', 'queued', 'queued'])
    const { cancelled, cancelling, finished, notFound } = answer ?? {}
    assert.deepEqual([cancelled, cancelling, finished, notFound], [['queued'], ['running'], ['done'], ['nobody']])
    assert.equal(await stateOf(store, 'done'), 'done')
  },
  'jobs are cancelled in the order of priority, then older first': async ({ store }) => {
    await put(store, ...[0, 9, 5, 9].map((priority, i) => newJob(`${priority}.${i}`, { priority })))
    const answer = await cancel(store, ['0.0', '9.3', '5.2', '9.1'])
    assert.deepEqual(answer?.cancelled, ['9.1', '9.3', '5.2', '0.0'])
    assert.deepEqual(idsOf(answer.transitions), answer.cancelled)
  },
  'a job that a filter has found by its meta keeps its input and its meta': async ({ store }) => {
    const given = { input: { n: 1 }, meta: { tenant: 'a' }, tags: ['red'] }
    await put(store, newJob('a', given))
    await changeMatching(store, 'cancel', { meta: { tenant: 'a' } })
    const { state, input, meta, tags } = await recordOf(store, 'a')
    assert.deepEqual([state, { input, meta, tags }], ['cancelled', given])
  },
  'a filter cancels the jobs it matches, except those that have ended': async ({ store }) => {
    await putAndEnd(store, 'done', 'done', { tags: ['red'] })
    await put(store, newJob('a', { tags: ['red', 'blue'] }), newJob('b'), newJob('c', { tags: ['red'], type: 'sms' }))
    const jobs = await changeMatching(store, 'cancel', { tag: 'red', type: ['mail', 'fax'] })
    assert.deepEqual(jobs, { cancelled: ['a'], cancelling: [] })
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
}
