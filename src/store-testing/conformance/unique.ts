/** One live job per key. */
import assert from 'node:assert/strict'
import type { NewJob } from '../../store.ts'
import { boom, cancel, idsOf, lease, newJob, put, putAndTake, recordOf, stateOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

export const uniqueCases: Cases = {
  'a thousand jobs of one request meet the holders of their keys': async ({ store }) => {
    const kinds = ['keep', 'replace', 'supersede', 'follow'] as const
    const jobs = (prefix: string): NewJob[] =>
      Array.from({ length: 1_100 }, (_, i) =>
        newJob(`${prefix} ${i}`, { key: `key ${i}`, onConflict: kinds[i % kinds.length] ?? 'keep' }),
      )
    await put(store, ...jobs('first'))
    const answers = await put(store, ...jobs('second'))
    assert.deepEqual(
      answers.slice(0, 4).map(({ outcome, id }) => [outcome, id]),
      [
        ['duplicate', 'first 0'],
        ['replaced', 'first 1'],
        ['inserted', 'second 2'],
        ['replaced', 'first 3'],
      ],
    )
    const outcomes = Map.groupBy(answers, ({ outcome }) => outcome)
    assert.deepEqual(
      [...outcomes].map(([outcome, those]) => [outcome, those.length]),
      [
        ['duplicate', 275],
        ['replaced', 550],
        ['inserted', 275],
      ],
    )
    const { queued, cancelled } = await store.counts()
    assert.deepEqual([queued, cancelled], [1_100, 275])
  },
  'an insert with a taken key is answered with its holder': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const [answer] = await put(store, newJob('b', { key: 'k' }))
    assert.deepEqual([answer?.outcome, answer?.id, answer?.state], ['duplicate', 'a', 'queued'])
    assert.deepEqual(idsOf(await store.list({})), ['a'])
  },
  'keys are separate for each type': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const [answer] = await put(store, newJob('b', { key: 'k', type: 'sms' }))
    assert.equal(answer?.outcome, 'inserted')
  },
  'a key is taken while its job is scheduled, runs, or waits to retry': async ({ store }) => {
    const taken = async () => (await put(store, newJob('b', { key: 'k' })))[0]?.outcome
    await put(store, newJob('a', { key: 'k', delayMs: 1_000 }))
    assert.equal(await taken(), 'duplicate')
    await cancel(store, ['a'])
    const job = await putAndTake(store, 'c', { key: 'k' })
    assert.equal(await taken(), 'duplicate')
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 60_000 }])
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
  'replace sets the new input of a job that has not started, which keeps its place': async ({ store }) => {
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
  'replace removes the results of steps completed with the old input': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [{ ...lease(job), steps: { charge: 1 } }] })
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
  'the job that supersedes a running one is queued by the write that ends that one': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    const [answer] = await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    assert.deepEqual([answer?.outcome, answer?.state, answer?.dueAt], ['inserted', 'scheduled', null])
    assert.deepEqual(await take(store), [])
    await advance(10_000)
    assert.deepEqual((await store.promote(10)).transitions, [], 'time alone does not let it go on')
    const settlement = { ...lease(job), event: 'FAIL', to: 'retrying', error: boom } as const
    const [settled] = await store.settle([settlement])
    const { successor } = settled ?? {}
    assert.deepEqual([settled?.to, successor?.id, successor?.event, successor?.to], ['cancelled', 'b', 'DUE', 'queued'])
    assert.deepEqual((await store.settle([settlement]))[0], settled)
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
  'the superseding job is queued when the lease of the superseded one runs out': async ({ store, advance }) => {
    await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    await advance(60_000)
    const { transitions } = await store.rescue(10)
    assert.deepEqual(
      transitions.map(({ id, event, to }) => [id, event, to]),
      [
        ['a', 'EXPIRE', 'cancelled'],
        ['b', 'DUE', 'queued'],
      ],
    )
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
  'the delay of the superseding job elapses while it waits': async ({ store, advance }) => {
    const later = { onConflict: 'supersede', delayMs: 60_000 } as const
    const job = await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', { key: 'k', ...later }))
    const other = await putAndTake(store, 'c', { key: 'l' })
    await put(store, newJob('d', { key: 'l', ...later }))
    await advance(20_000)
    const [ended] = await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    assert.deepEqual([ended?.to, ended?.successor], ['cancelled', undefined])
    const { state, enqueuedAt, dueAt } = await recordOf(store, 'b')
    assert.deepEqual([state, dueAt], ['scheduled', enqueuedAt + 60_000])
    await advance(40_000)
    assert.deepEqual(idsOf((await store.promote(10)).transitions), ['b'])
    await store.settle([{ ...lease(other), event: 'RELEASE', to: 'queued' }])
    assert.deepEqual(idsOf(await take(store)), ['b', 'd'])
  },
  'every job of the key that is inserted before the running one has ended waits for it': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    const [again] = await put(store, newJob('c', { key: 'k', onConflict: 'supersede' }))
    assert.deepEqual([again?.state, again?.superseded?.id, again?.superseded?.to], ['scheduled', 'b', 'cancelled'])
    assert.equal((await put(store, newJob('x', { key: 'k' })))[0]?.id, 'c')
    const [replaced] = await put(store, newJob('y', { key: 'k', input: 'new', onConflict: 'replace' }))
    assert.deepEqual([replaced?.outcome, replaced?.id, replaced?.state], ['replaced', 'c', 'scheduled'])
    await cancel(store, ['c'])
    const [free] = await put(store, newJob('d', { key: 'k' }))
    assert.deepEqual([free?.outcome, free?.state], ['inserted', 'scheduled'])
    assert.deepEqual((await store.retry(['b'])).refused, ['b'])
    await cancel(store, ['d'])
    assert.deepEqual((await store.retry(['b'])).refused, ['b'], 'nobody holds the key, but its job runs')
    await put(store, newJob('e', { key: 'k', onConflict: 'replace' }))
    assert.deepEqual(await take(store), [])
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(idsOf(await take(store)), ['e'])
    assert.equal((await recordOf(store, 'e')).history.length, 3)
  },
  'the cancel of a job that waits for another one frees the key': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    await cancel(store, ['b'])
    const [settled] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(settled?.successor, undefined)
    const [free] = await put(store, newJob('c', { key: 'k' }))
    assert.deepEqual([free?.outcome, free?.state], ['inserted', 'queued'])
    await cancel(store, ['c'])
    assert.deepEqual((await store.retry(['a'])).retried, ['a'])
  },
  'a job that is being cancelled does not keep others out: a new one is inserted, and waits for its end': async ({
    store,
  }) => {
    for (const onConflict of ['keep', 'replace', 'supersede'] as const) {
      const job = await putAndTake(store, onConflict, { key: 'k' })
      await cancel(store, [onConflict])
      const [answer] = await put(store, newJob(`after ${onConflict}`, { key: 'k', onConflict }))
      assert.deepEqual([answer?.outcome, answer?.state, answer?.superseded], ['inserted', 'scheduled', undefined])
      assert.deepEqual(await take(store), [])
      await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
      const next = await takeOne(store)
      assert.equal(next.id, `after ${onConflict}`)
      await store.settle([{ ...lease(next), event: 'COMPLETE', to: 'done' }])
    }
  },
  'a job that waits for another one is part of the backlog, and counts towards the capacity': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    const heir = newJob('b', { key: 'k', onConflict: 'supersede' })
    const [full] = await store.insert([{ jobs: [heir, newJob('c')], capacity: 1 }])
    assert.equal(full?.[0]?.outcome, 'full')
    assert.equal(await stateOf(store, 'a'), 'running')
    const [room] = await store.insert([{ jobs: [heir], capacity: 1 }])
    assert.equal(room?.[0]?.outcome, 'inserted')
    const { scheduled, cancelling, queued } = await store.counts()
    assert.deepEqual([scheduled, cancelling, queued], [1, 1, 0])
    const [kept] = await store.insert([{ jobs: [newJob('d', { key: 'k' })], capacity: 1 }])
    assert.deepEqual([kept?.[0]?.outcome, kept?.[0]?.id], ['duplicate', 'b'])
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal((await store.counts()).queued, 1)
  },
  'the end of a job sends a ready hint for the job that waits for it': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    await hinted(store, 'ready', '"mail"', () => store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]))
  },
  'of inserts of one key at the same moment exactly one succeeds': async ({ store }) => {
    const jobs = Array.from({ length: 20 }, (_, i) => newJob(`job ${i}`, { key: 'k' }))
    const answers = await Promise.all(jobs.map((job) => put(store, job)))
    assert.equal(answers.flat().filter(({ outcome }) => outcome === 'inserted').length, 1)
    assert.equal((await store.counts()).queued, 1)
  },
}
