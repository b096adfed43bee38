/** Cancels. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { Selection } from '../../store.ts'
import { cancel, idsOf, lease, newJob, put, putAndEnd, putAndTake, recordOf, stateOf, take } from './acts.ts'
import type { Cases } from './subject.ts'

export const cancelCases: Cases = {
  'a cancel by filter changes a bounded number of jobs per call, and the next call continues after them': async ({
    store,
  }) => {
    const ids = Array.from({ length: 600 }, (_, i) => `job ${i}`)
    await put(store, ...ids.map((id) => newJob(id)), newJob('other', { type: 'sms' }))
    const select = (next: string | undefined): Selection => ({
      filter: { type: 'mail' },
      ...(next !== undefined && { after: next }),
    })
    const all: string[] = []
    for (let next: string | undefined, i = 0; i === 0 || next !== undefined; i++) {
      const [answer] = await store.cancel([{ selection: select(next), reason: null, graceMs: 0 }])
      assert.ok(answer !== undefined && answer.cancelled.length <= caps.selection)
      all.push(...answer.cancelled)
      next = answer.next
      // What is enqueued meanwhile is left alone.
      await put(store, newJob(`later ${i}`))
    }
    assert.deepEqual(all, ids)
    const [few] = await store.cancel([{ selection: { filter: { type: 'mail' }, limit: 1 }, reason: null, graceMs: 0 }])
    assert.deepEqual([few?.cancelled, typeof few?.next], [['later 0'], 'string'])
    const retried = await store.retry({ filter: { state: 'cancelled' }, limit: 2 })
    assert.deepEqual(retried.retried, ['job 0', 'job 1'])
    const again = await store.retry({ filter: { state: 'cancelled' }, limit: 1, after: retried.next ?? '' })
    assert.deepEqual(again.retried, ['job 2'])
    const gone = await store.discard({ filter: { state: 'cancelled' }, limit: 1 })
    assert.deepEqual([gone.discarded, typeof gone.next], [['job 3'], 'string'])
    const last = await store.discard({ filter: { state: 'cancelled', tag: 'none' }, after: gone.next ?? '' })
    assert.deepEqual([last.discarded, last.next], [[], undefined])
  },
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
  'a request by filter selects by the states that the requests before it have left': async ({ store }) => {
    for (const id of ['a', 'b']) await putAndTake(store, id)
    const request = (selection: Selection) => ({ selection, reason: null, graceMs: 0 })
    const answers = await store.cancel([
      request({ ids: ['a'] }),
      request({ filter: { state: 'running' } }),
      request({ filter: { state: 'cancelling' } }),
    ])
    assert.deepEqual(
      answers.map(({ cancelling }) => cancelling),
      [['a'], ['b'], ['a', 'b']],
    )
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
    await store.cancel([{ selection: { filter: { meta: { tenant: 'a' } } }, reason: null, graceMs: 0 }])
    const { state, input, meta, tags } = await recordOf(store, 'a')
    assert.deepEqual([state, { input, meta, tags }], ['cancelled', given])
  },
  'a filter cancels the jobs it matches, except those that have ended': async ({ store }) => {
    await putAndEnd(store, 'done', 'done', { tags: ['red'] })
    await put(store, newJob('a', { tags: ['red', 'blue'] }), newJob('b'), newJob('c', { tags: ['red'], type: 'sms' }))
    const filter = { tag: 'red', type: ['mail', 'fax'] }
    const [answer] = await store.cancel([{ selection: { filter }, reason: null, graceMs: 0 }])
    assert.deepEqual([answer?.cancelled, answer?.finished], [['a'], []])
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
}
