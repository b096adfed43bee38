/** Succession of jobs with one key: keys held until the start, jobs that follow, and delays that are replaced. */
import assert from 'node:assert/strict'
import { boom, cancel, idsOf, lease, newJob, park, put, putAndTake, recordOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'

const early = { key: 'k', until: 'start' } as const
const follow = { key: 'k', onConflict: 'follow' } as const

export const successionCases: Cases = {
  'a key that is held until the start is taken while its job is queued': async ({ store }) => {
    await put(store, newJob('a', { ...early, delayMs: 1_000 }))
    const [answer] = await put(store, newJob('b', early))
    assert.deepEqual([answer?.outcome, answer?.id], ['duplicate', 'a'])
  },
  'the claim of a job frees a key held until the start, and the next job of the key waits for its end': async ({
    store,
  }) => {
    const a = await putAndTake(store, 'a', early)
    const [b] = await put(store, newJob('b', early))
    assert.deepEqual([b?.outcome, b?.state, b?.dueAt], ['inserted', 'scheduled', null])
    const [c] = await put(store, newJob('c', early))
    assert.deepEqual([c?.outcome, c?.id], ['duplicate', 'b'])
    assert.deepEqual(await take(store), [])
    const settlement = { ...lease(a), event: 'COMPLETE', to: 'done' } as const
    const [settled] = await store.settle([settlement])
    assert.deepEqual([settled?.to, settled?.successor?.id, settled?.successor?.event], ['done', 'b', 'DUE'])
    assert.deepEqual((await store.settle([settlement]))[0], settled, 'the same answer again')
    assert.deepEqual(idsOf(await take(store)), ['b'])
    assert.equal((await put(store, newJob('d', early)))[0]?.outcome, 'inserted')
  },
  'a job that waits for a started one waits through its retries': async ({ store, advance }) => {
    const a = await putAndTake(store, 'a', early)
    await put(store, newJob('b', early))
    await store.settle([{ ...lease(a), event: 'FAIL', to: 'retrying', error: boom, delayMs: 10_000 }])
    assert.deepEqual(await take(store), [])
    await advance(10_000)
    assert.deepEqual(idsOf((await store.promote(10)).transitions), ['a'])
    const again = await takeOne(store)
    assert.equal(again.id, 'a')
    const [settled] = await store.settle([{ ...lease(again), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    assert.deepEqual([settled?.to, settled?.successor?.id], ['dead', 'b'])
  },
  'a job of the key that is inserted while that job is retrying waits, too': async ({ store }) => {
    const a = await putAndTake(store, 'a', early)
    await store.settle([{ ...lease(a), event: 'RELEASE', to: 'queued' }])
    const [b] = await put(store, newJob('b', early))
    assert.deepEqual([b?.outcome, b?.state, b?.dueAt], ['inserted', 'scheduled', null])
    assert.equal((await takeOne(store)).id, 'a')
  },
  'the cancel of a retrying job releases the next one': async ({ store }) => {
    const a = await putAndTake(store, 'a', early)
    await put(store, newJob('b', early))
    await store.settle([{ ...lease(a), event: 'FAIL', to: 'retrying', error: boom, delayMs: 10_000 }])
    const answer = await cancel(store, ['a'])
    const transitions = answer?.transitions.map(({ id, event, to }) => [id, event, to])
    assert.deepEqual(transitions, [
      ['a', 'CANCEL', 'cancelled'],
      ['b', 'DUE', 'queued'],
    ])
    assert.deepEqual(answer?.cancelled, ['a'])
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
  'a retry of the ended job takes the key until its next start': async ({ store }) => {
    const a = await putAndTake(store, 'a', early)
    await store.settle([{ ...lease(a), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    assert.deepEqual((await store.retry(['a'])).retried, ['a'])
    assert.equal((await put(store, newJob('b', early)))[0]?.id, 'a')
    await takeOne(store)
    assert.deepEqual((await put(store, newJob('b', early)))[0]?.outcome, 'inserted')
    assert.deepEqual((await store.retry(['a'])).refused, ['a'])
  },
  'follow replaces the input of a job that has not started': async ({ store }) => {
    await put(store, newJob('a', { key: 'k', input: 'old' }))
    const [answer] = await put(store, newJob('b', { ...follow, input: 'new' }))
    assert.deepEqual([answer?.outcome, answer?.id], ['replaced', 'a'])
    assert.equal((await takeOne(store)).input, 'new')
  },
  'follow runs once after a job that has started, with the newest input': async ({ store }) => {
    const a = await putAndTake(store, 'a', { key: 'k', input: 1 })
    const [b] = await put(store, newJob('b', { ...follow, input: 2 }))
    assert.deepEqual(
      [b?.outcome, b?.id, b?.state, b?.dueAt, b?.superseded],
      ['inserted', 'b', 'scheduled', null, undefined],
    )
    const [c] = await put(store, newJob('c', { ...follow, input: 3 }))
    assert.deepEqual([c?.outcome, c?.id], ['replaced', 'b'])
    const [d] = await put(store, newJob('d', { key: 'k', input: 4 }))
    assert.deepEqual([d?.outcome, d?.id], ['duplicate', 'b'])
    assert.deepEqual(await take(store), [])
    const [settled] = await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual([settled?.to, settled?.successor?.id], ['done', 'b'])
    const next = await takeOne(store)
    assert.deepEqual([next.id, next.input], ['b', 3])
    await store.settle([{ ...lease(next), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(await take(store), [])
  },
  'follow waits for the end of a parked job, and of one whose lease runs out': async ({ store, advance }) => {
    const a = await putAndTake(store, 'a', { key: 'k' })
    await park(store, a)
    const [b] = await put(store, newJob('b', follow))
    assert.deepEqual([b?.outcome, b?.state, b?.dueAt], ['inserted', 'scheduled', null])
    const answer = await cancel(store, ['a'])
    assert.deepEqual(
      answer?.transitions.map(({ id, to }) => [id, to]),
      [
        ['a', 'cancelled'],
        ['b', 'queued'],
      ],
    )
    await takeOne(store)
    await put(store, newJob('c', { ...follow, maxAttempts: 1 }))
    await advance(60_000)
    await store.rescue(10)
    assert.equal((await takeOne(store)).id, 'b', 'an attempt is left')
  },
  'a job that follows counts towards the capacity, a replaced input does not': async ({ store }) => {
    await putAndTake(store, 'a', { key: 'k' })
    const [full] = await store.insert([{ jobs: [newJob('b', follow)], capacity: 0 }])
    assert.equal(full?.[0]?.outcome, 'full')
    const two = [newJob('b', follow), newJob('c', follow)]
    const [answers] = await store.insert([{ jobs: two, capacity: 1 }])
    assert.deepEqual(
      answers?.map(({ outcome, id }) => [outcome, id]),
      [
        ['inserted', 'b'],
        ['replaced', 'b'],
      ],
    )
    const [again] = await store.insert([{ jobs: [newJob('d', follow)], capacity: 1 }])
    assert.deepEqual([again?.[0]?.outcome, again?.[0]?.id], ['replaced', 'b'])
  },
  'replace with a delay restarts the delay of a scheduled job; without one the delay stays': async ({
    store,
    advance,
  }) => {
    const debounce = { key: 'k', onConflict: 'replace', delayMs: 60_000 } as const
    await put(store, newJob('a', debounce))
    await advance(40_000)
    const [answer] = await put(store, newJob('b', debounce))
    const { enqueuedAt, dueAt } = await recordOf(store, 'a')
    assert.deepEqual([answer?.outcome, answer?.dueAt], ['replaced', dueAt])
    assert.ok(dueAt !== null && dueAt >= enqueuedAt + 100_000, 'due later than before')
    await put(store, newJob('c', { ...debounce, delayMs: 0 }))
    assert.equal((await recordOf(store, 'a')).dueAt, dueAt)
    await advance(40_000)
    assert.deepEqual((await store.promote(10)).transitions, [])
    await advance(40_000)
    assert.deepEqual(idsOf((await store.promote(10)).transitions), ['a'])
    const [queued] = await put(store, newJob('d', debounce))
    assert.deepEqual([queued?.outcome, queued?.state], ['replaced', 'queued'])
  },
  'the delay of a replace also applies to a job that waits for another one': async ({ store, advance }) => {
    const a = await putAndTake(store, 'a', { key: 'k' })
    await put(store, newJob('b', follow))
    await put(store, newJob('c', { ...follow, delayMs: 60_000 }))
    const [settled] = await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done' }])
    assert.equal(settled?.successor, undefined)
    assert.deepEqual(await take(store), [])
    await advance(60_000)
    await store.promote(10)
    assert.deepEqual(idsOf(await take(store)), ['b'])
  },
}
