/** Retry and discard of ended jobs. */
import assert from 'node:assert/strict'
import {
  take,
  takeOne,
  boom,
  cancel,
  changeMatching,
  idsOf,
  lease,
  newJob,
  recordOf,
  plainCheckpoint,
  saveSteps,
  put,
  putAndEnd,
  putAndTake,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'

export const againCases: Cases = {
  'a retry opens a new generation and keeps errors, logs and history': async ({ store }) => {
    const job = await putAndTake(store, 'a', { maxAttempts: 1 })
    await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [{ ...lease(job), steps: { charge: 1 } }] })
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', error: boom }])
    const answer = await store.retry(['a'])
    assert.deepEqual(
      [answer.retried, answer.transitions[0]?.event, answer.transitions[0]?.to],
      [['a'], 'RETRY', 'queued'],
    )
    const record = await recordOf(store, 'a')
    assert.deepEqual([record.state, record.attempt, record.generation], ['queued', 0, 2])
    assert.deepEqual([record.error, record.finishedAt, record.errors.length], [null, null, 1])
    assert.equal(record.history.length, 4)
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual([again.attempt, again.generation, again.steps], [1, 2, null])
  },
  'a cancelled job can be retried, which removes the reason of its cancel': async ({ store }) => {
    await put(store, newJob('a'))
    await cancel(store, ['a'], 'enough')
    assert.deepEqual((await store.retry(['a'])).retried, ['a'])
    assert.equal((await recordOf(store, 'a')).cancelReason, null)
    const job = await takeOne(store)
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [lease(job)] })
    assert.deepEqual(heartbeat, { outcome: 'extended' })
  },
  'only dead and cancelled jobs are retried': async ({ store }) => {
    await putAndEnd(store, 'done', 'done')
    await put(store, newJob('queued'))
    const { retried, refused, notFound, transitions } = await store.retry(['done', 'queued', 'nobody'])
    assert.deepEqual([retried, refused, notFound, transitions], [[], ['done', 'queued'], ['nobody'], []])
  },
  'a retried job takes its unique key again, and is refused if another job holds it': async ({ store }) => {
    await putAndEnd(store, 'a', 'dead', { key: 'k' })
    await put(store, newJob('b', { key: 'k' }))
    assert.deepEqual((await store.retry(['a'])).refused, ['a'])
    await cancel(store, ['b'])
    assert.deepEqual((await store.retry(['a'])).retried, ['a'])
    assert.equal((await put(store, newJob('c', { key: 'k' })))[0]?.id, 'a')
  },
  'all dead jobs of a type are retried, oldest first': async ({ store }) => {
    for (const id of ['a', 'b', 'c']) await putAndEnd(store, id, 'dead')
    await putAndEnd(store, 'd', 'dead', { type: 'sms' })
    await putAndEnd(store, 'e', 'done')
    const { retried, refused } = await changeMatching(store, 'retry', { type: 'mail' })
    assert.deepEqual([retried, refused], [['a', 'b', 'c'], []])
    assert.deepEqual(idsOf(await take(store)), ['a', 'b', 'c'])
  },
  'a discarded job does not exist any more, and its id is free': async ({ store }) => {
    await putAndEnd(store, 'a', 'done')
    await put(store, newJob('b'))
    const { discarded, refused, notFound } = await store.discard(['a', 'b', 'nobody'])
    assert.deepEqual([discarded, refused, notFound], [['a'], ['b'], ['nobody']])
    assert.deepEqual(await store.get(['a']), [null])
    assert.equal((await store.counts()).done, 0)
    assert.equal((await put(store, newJob('a', { type: 'sms' })))[0]?.outcome, 'inserted')
  },
  'a filter discards jobs that have ended': async ({ store }) => {
    await putAndEnd(store, 'a', 'done')
    await putAndEnd(store, 'b', 'dead')
    await put(store, newJob('c'))
    assert.deepEqual((await changeMatching(store, 'discard', { state: ['done', 'queued'] })).discarded, ['a'])
    assert.deepEqual((await changeMatching(store, 'discard', {})).discarded, ['b'])
    assert.deepEqual(idsOf(await store.list({})), ['c'])
  },
  'a retry with a new input starts the job from the beginning': async ({ store }) => {
    const job = await putAndTake(store, 'a', { input: { old: true }, tags: ['t'], key: 'k' })
    await write(store, job, plainCheckpoint(1))
    await saveSteps(store, job, { charge: 1 })
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    await store.retry(['a'], false, 0, { input: { new: [1] } })
    const { input, tags, key, checkpoint } = await recordOf(store, 'a')
    assert.deepEqual({ input, tags, key, checkpoint }, { input: { new: [1] }, tags: ['t'], key: 'k', checkpoint: null })
    const again = await takeOne(store)
    assert.deepEqual([again.input, again.checkpoint, again.steps, again.generation], [{ new: [1] }, null, null, 2])
  },
}
