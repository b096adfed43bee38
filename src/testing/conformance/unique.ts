/** One live job per key. */
import assert from 'node:assert/strict'
import { cancel, idsOf, lease, newJob, put, putAndTake, recordOf, stateOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'

export const uniqueCases: Cases = {
  'a taken key answers with its holder': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const [answer] = await put(store, newJob('b', { key: 'k' }))
    assert.deepEqual([answer?.outcome, answer?.id, answer?.state], ['duplicate', 'a', 'queued'])
    assert.deepEqual(idsOf(await store.list({})), ['a'])
  },
  'each type has keys of its own': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const [answer] = await put(store, newJob('b', { key: 'k', type: 'sms' }))
    assert.equal(answer?.outcome, 'inserted')
  },
  'a key is taken while its job is scheduled, runs, waits to retry, or is being cancelled': async ({ store }) => {
    const taken = async () => (await put(store, newJob('b', { key: 'k' })))[0]?.outcome
    await put(store, newJob('a', { key: 'k', delayMs: 1_000 }))
    assert.equal(await taken(), 'duplicate')
    await cancel(store, ['a'])
    const job = await putAndTake(store, 'c', { key: 'k' })
    assert.equal(await taken(), 'duplicate')
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 60_000 }])
    assert.equal(await taken(), 'duplicate')
    await cancel(store, ['c'])
    await putAndTake(store, 'd', { key: 'k' })
    await cancel(store, ['d'])
    assert.equal(await stateOf(store, 'd'), 'cancelling')
    assert.equal(await taken(), 'duplicate')
  },
  'the write that ends a job frees its key': async ({ store }) => {
    for (const [i, event] of (['COMPLETE', 'FAIL'] as const).entries()) {
      const job = await putAndTake(store, `job ${i}`, { key: 'k' })
      await store.settle([{ ...lease(job), event, to: 'done', fatal: true }])
    }
    await put(store, newJob('x', { key: 'k' }))
    await cancel(store, ['x'])
    assert.equal((await put(store, newJob('y', { key: 'k' })))[0]?.outcome, 'inserted')
  },
  'replace puts the new input on a job that has not started, which keeps its place': async ({ store }) => {
    await put(store, newJob('a', { key: 'k', input: 'old' }), newJob('b'))
    const [answer] = await put(store, newJob('c', { key: 'k', input: 'new', tags: ['t'], onConflict: 'replace' }))
    assert.deepEqual([answer?.outcome, answer?.id], ['replaced', 'a'])
    const [first] = await take(store, { max: 1 })
    assert.deepEqual([first?.id, first?.input], ['a', 'new'])
    assert.deepEqual((await recordOf(store, 'a')).tags, ['t'])
  },
  'replace leaves a job that has started as it is': async ({ store }) => {
    await putAndTake(store, 'a', { key: 'k', input: 'old' })
    const [answer] = await put(store, newJob('b', { key: 'k', input: 'new', onConflict: 'replace' }))
    assert.deepEqual([answer?.outcome, answer?.id, answer?.state], ['duplicate', 'a', 'running'])
    assert.equal((await recordOf(store, 'a')).input, 'old')
  },
  'replace forgets the steps that an earlier attempt finished with the old input': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await store.extend({ worker: 'w1', leaseMs: 1_000, beats: [{ ...lease(job), steps: { charge: 1 } }] })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    await put(store, newJob('b', { key: 'k', input: 'new', onConflict: 'replace' }))
    assert.equal((await takeOne(store)).steps, null)
  },
  'supersede cancels a job that has not started and takes its place': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const [answer] = await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    assert.equal(answer?.outcome, 'inserted')
    const { superseded } = answer
    assert.deepEqual([superseded?.id, superseded?.event, superseded?.to], ['a', 'CANCEL', 'cancelled'])
    assert.equal((await recordOf(store, 'a')).cancelReason, 'superseded')
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
  'supersede marks a running job, whose end does not free the key': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    const [answer] = await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    assert.deepEqual([answer?.outcome, answer?.superseded?.to], ['inserted', 'cancelling'])
    const [settled] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(settled?.to, 'cancelled')
    assert.equal((await put(store, newJob('c', { key: 'k' })))[0]?.id, 'b')
  },
  'of inserts of one key at the same moment exactly one succeeds': async ({ store }) => {
    const jobs = Array.from({ length: 20 }, (_, i) => newJob(`job ${i}`, { key: 'k' }))
    const answers = await Promise.all(jobs.map((job) => put(store, job)))
    assert.equal(answers.flat().filter(({ outcome }) => outcome === 'inserted').length, 1)
    assert.equal((await store.counts()).queued, 1)
  },
}
