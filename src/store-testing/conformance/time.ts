/** Effects of time: due jobs, leases that run out, and the retention of ended jobs. */
import assert from 'node:assert/strict'
import {
  boom,
  cancel,
  idsOf,
  lease,
  newJob,
  prune,
  put,
  putAndEnd,
  putAndTake,
  recordOf,
  take,
  takeOne,
} from './acts.ts'
import type { Cases, Subject } from './subject.ts'

const forever = { ageMs: 1e12, count: 1e9 }
const keepAll = { done: forever, dead: forever, cancelled: forever }

export const timeCases: Cases = {
  'due jobs are promoted, earliest first, and never before their due time': async ({ store, advance }) => {
    await put(
      store,
      newJob('late', { delayMs: 20_000 }),
      newJob('early', { delayMs: 10_000 }),
      newJob('next', { delayMs: 20_000 }),
    )
    const early = await recordOf(store, 'early')
    assert.deepEqual(await store.promote(10), { transitions: [], nextAt: early.dueAt, more: false })
    // A margin before the due time, for a store with a real clock.
    await advance(8_000)
    assert.deepEqual((await store.promote(10)).transitions, [])
    await advance(12_000)
    const { transitions, nextAt, more } = await store.promote(10)
    assert.deepEqual([nextAt, more], [null, false])
    assert.deepEqual(
      transitions.map(({ id, event, from, to }) => [id, event, from, to]),
      ['early', 'late', 'next'].map((id) => [id, 'DUE', 'scheduled', 'queued']),
    )
    assert.equal((await recordOf(store, 'early')).dueAt, null)
    assert.deepEqual(idsOf(await take(store)), ['early', 'late', 'next'])
  },
  'a job that became due goes to the end of its queue': async ({ store, advance }) => {
    await put(store, newJob('a', { delayMs: 1_000 }))
    await advance(1_000)
    await put(store, newJob('b'))
    await store.promote(10)
    assert.deepEqual(idsOf(await take(store)), ['b', 'a'])
  },
  'promote and rescue process a limited number of jobs per call': async ({ store, advance }) => {
    const ids = ['a', 'b', 'c']
    await put(store, ...ids.map((id) => newJob(id, { delayMs: 1_000 })))
    await advance(1_000)
    const first = await store.promote(2)
    assert.deepEqual([idsOf(first.transitions), first.more], [['a', 'b'], true])
    const second = await store.promote(2)
    assert.deepEqual([idsOf(second.transitions), second.more], [['c'], false])
    await take(store)
    await advance(60_000)
    assert.deepEqual([(await store.rescue(2)).transitions.length, (await store.rescue(2)).transitions.length], [2, 1])
  },
  'a rescue that follows at once leaves a job whose expired lease was extended, or whose attempt has ended': async ({
    store,
    advance,
  }) => {
    const [extended, ended, failed] = [
      await putAndTake(store, 'extended'),
      await putAndTake(store, 'ended'),
      await putAndTake(store, 'failed'),
      await putAndTake(store, 'expired'),
    ]
    await advance(60_000)
    const [, , , { transitions }] = await Promise.all([
      store.settle([{ ...lease(ended), event: 'COMPLETE', to: 'done' }]),
      store.settle([{ ...lease(failed), event: 'FAIL', to: 'retrying', delayMs: 1_000, error: boom }]),
      store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [lease(extended)] }),
      store.rescue(10),
    ])
    assert.deepEqual(idsOf(transitions), ['expired'])
    assert.deepEqual(
      (await store.get(['extended', 'ended', 'failed', 'expired'])).map((record) => record?.state),
      ['running', 'done', 'retrying', 'queued'],
    )
  },
  'a promote that follows at once leaves due jobs that were cancelled, and finds one that was retried without a delay':
    async ({ store, advance }) => {
      await put(store, newJob('cancelled', { delayMs: 1_000 }), newJob('due', { delayMs: 1_000 }))
      const job = await putAndTake(store, 'failed')
      await advance(1_000)
      const [, , { transitions }] = await Promise.all([
        cancel(store, ['cancelled']),
        store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }]),
        store.promote(10),
      ])
      assert.deepEqual(idsOf(transitions).toSorted(), ['due', 'failed'])
      assert.equal((await recordOf(store, 'cancelled')).state, 'cancelled')
    },
  'a job whose lease has run out is queued again at its old place, the attempt spent': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a', { maxAttempts: 2 })
    await put(store, newJob('b'))
    const { nextAt } = await store.rescue(10)
    assert.ok(nextAt !== null && nextAt > job.startedAt)
    await advance(30_000)
    const { transitions } = await store.rescue(10)
    assert.deepEqual(
      transitions.map(({ id, event, to, attempt, worker, error }) => [id, event, to, attempt, worker, error?.code]),
      [['a', 'EXPIRE', 'queued', 1, 'w1', 'LEASE_LOST']],
    )
    const { errors } = await recordOf(store, 'a')
    assert.deepEqual([errors.length, errors[0]?.attempt, errors[0]?.error.code], [1, 1, 'LEASE_LOST'])
    const again = await take(store, { token: 't2', max: 1 })
    assert.deepEqual([again[0]?.id, again[0]?.attempt], ['a', 2])
  },
  'a poisonous job is dead after exactly its last attempt': async ({ store, advance }) => {
    await put(store, newJob('a', { maxAttempts: 3 }))
    for (const attempt of [1, 2, 3]) {
      assert.equal((await takeOne(store, { token: `t${attempt}` })).attempt, attempt)
      await advance(30_000)
      const { transitions } = await store.rescue(10)
      assert.equal(transitions[0]?.to, attempt < 3 ? 'queued' : 'dead')
    }
    const { state, error, errors, finishedAt } = await recordOf(store, 'a')
    assert.deepEqual([state, error?.code, errors.length], ['dead', 'LEASE_LOST', 3])
    assert.ok(finishedAt !== null)
  },
  'a job that is being cancelled is cancelled when its lease runs out': async ({ store, advance }) => {
    await putAndTake(store, 'a')
    await cancel(store, ['a'])
    await advance(30_000)
    assert.equal((await store.rescue(10)).transitions[0]?.to, 'cancelled')
  },
  'an expired lease is valid until it is rescued': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await advance(60_000)
    const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(answer?.outcome, 'settled')
    assert.deepEqual((await store.rescue(10)).transitions, [])
  },
  'a rescued lease no longer counts towards the concurrency limits': async ({ store, advance }) => {
    await put(store, newJob('a', { concurrencyKey: 'x' }))
    const limits = { concurrency: 1, perKey: 1 }
    await take(store, { limits })
    await advance(30_000)
    await store.rescue(10)
    assert.deepEqual(idsOf(await take(store, { limits, token: 't2' })), ['a'])
  },
  'ended jobs beyond the count are removed, oldest first': async ({ store }) => {
    await fill(store)
    const policy = { ...keepAll, done: { ...forever, count: 1 }, dead: { ...forever, count: 2 } }
    assert.deepEqual(await prune(store, policy, 1), { pruned: 1, nextAt: null, more: true })
    assert.deepEqual(idsOf(await store.list({ state: 'done' })), ['done 1', 'done 2'])
    assert.partialDeepStrictEqual(await prune(store, policy, 10), { pruned: 2, more: false })
    assert.deepEqual(idsOf(await store.list({ state: 'done' })), ['done 2'])
    assert.deepEqual(idsOf(await store.list({ state: 'dead' })), ['dead 1', 'dead 2'])
    assert.equal((await store.counts()).cancelled, 3)
  },
  'ended jobs beyond the age are removed, in the order of their ends': async ({ store, advance }) => {
    await fill(store)
    await advance(10_000)
    await putAndEnd(store, 'young', 'dead')
    const policy = { ...keepAll, dead: { ...forever, ageMs: 10_000 } }
    assert.partialDeepStrictEqual(await prune(store, policy, 100), { pruned: 3, more: false })
    assert.deepEqual(idsOf(await store.list({ state: 'dead' })), ['young'])
    assert.partialDeepStrictEqual(await prune(store, keepAll, 100), { pruned: 0, more: false })
    const { done, dead, cancelled } = await store.counts()
    assert.deepEqual([done, dead, cancelled], [3, 1, 3])
  },
  'no job is removed by count before its minimum age, unless there are too many': async ({ store, advance }) => {
    await fill(store)
    await advance(10_000)
    const young = await putAndEnd(store, 'young', 'done')
    const { finishedAt } = await recordOf(store, young.id)
    const done = { ...forever, count: 0, minAgeMs: 10_000 }
    const { nextAt, ...first } = await prune(store, { ...keepAll, done }, 100)
    assert.deepEqual(first, { pruned: 3, more: false })
    assert.deepEqual([idsOf(await store.list({ state: 'done' })), nextAt], [['young'], (finishedAt ?? 0) + 10_000])
    for (const id of ['b', 'c']) await putAndEnd(store, id, 'done')
    assert.equal((await prune(store, { ...keepAll, done: { ...done, countMax: 2 } }, 100)).pruned, 1)
    assert.deepEqual(idsOf(await store.list({ state: 'done' })), ['b', 'c'])
    await advance(10_000)
    assert.equal((await prune(store, { ...keepAll, done }, 100)).pruned, 2)
  },
  'a prune answers when the next job is to be removed': async ({ store, advance }) => {
    assert.deepEqual(await prune(store, keepAll, 100), { pruned: 0, nextAt: null, more: false })
    await putAndEnd(store, 'a', 'dead')
    await advance(10_000)
    await putAndEnd(store, 'b', 'done')
    const [a, b] = await Promise.all(['a', 'b'].map(async (id) => (await recordOf(store, id)).finishedAt ?? 0))
    const policy = { ...keepAll, done: { ...forever, ageMs: 60_000 }, dead: { ...forever, ageMs: 100_000 } }
    assert.equal((await prune(store, policy, 100)).nextAt, (b ?? 0) + 60_000)
    await advance(70_000)
    assert.deepEqual(await prune(store, policy, 100), { pruned: 1, nextAt: (a ?? 0) + 100_000, more: false })
  },
  'jobs of one type never cause the removal of another type': async ({ store, advance }) => {
    await putAndEnd(store, 'order', 'done', { type: 'sms' })
    await advance(10_000)
    for (const id of ['a', 'b', 'c']) await putAndEnd(store, id, 'done')
    const policy = { ...keepAll, done: { ...forever, count: 2 } }
    assert.partialDeepStrictEqual(await prune(store, policy, 100), { pruned: 1, more: false })
    assert.deepEqual(idsOf(await store.list({ state: 'done' })), ['order', 'b', 'c'])
    assert.deepEqual(idsOf(await store.list({ orderBy: 'finished', order: 'newest' })), ['c', 'b', 'order'])
  },
  'a type is kept by its own policy, whoever prunes, and the others by the policy for all others': async ({
    store,
    advance,
  }) => {
    for (const type of ['mail', 'sms', 'fax']) {
      for (const n of [1, 2]) await putAndEnd(store, `${type} ${n}`, 'done', { type })
    }
    assert.deepEqual(await store.prune(100), { pruned: 0, nextAt: null, more: false })
    const done = (count: number, ageMs = forever.ageMs) => ({ ...keepAll, done: { ageMs, count } })
    await store.retain({ types: new Map([['mail', done(1)]]), others: keepAll })
    // Another worker, which does not know the first type.
    await store.retain({ types: new Map([['sms', done(9, 10_000)]]), others: done(0) })
    assert.partialDeepStrictEqual(await store.prune(100), { pruned: 3, more: false })
    assert.deepEqual(idsOf(await store.list({})), ['mail 2', 'sms 1', 'sms 2'])
    await advance(10_000)
    assert.partialDeepStrictEqual(await store.prune(100), { pruned: 2, more: false })
    // A shorter policy applies to jobs that have ended before it.
    await store.retain({ types: new Map([['mail', done(0)]]), others: keepAll })
    assert.partialDeepStrictEqual(await store.prune(100), { pruned: 1, nextAt: null, more: false })
  },
  'a prune of more types than it looks at in one call goes on until nothing is left': async ({ store }) => {
    const types = Array.from({ length: 450 }, (_, i) => `type ${i}`)
    await put(store, ...types.map((type) => newJob(type, { type })))
    await cancel(store, types)
    await store.retain({ types: new Map(), others: { ...keepAll, cancelled: { ...forever, count: 0 } } })
    let pruned = 0
    for (let more = true; more;) {
      const answer = await store.prune(1_000)
      pruned += answer.pruned
      more = answer.more
    }
    assert.deepEqual([pruned, (await store.list({})).length], [450, 0])
  },
  'errors of the last attempt survive a snooze, not a success': async ({ store }) => {
    const first = await putAndTake(store, 'a')
    await store.settle([{ ...lease(first), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }])
    await store.promote(1)
    const second = await takeOne(store, { token: 't2' })
    await store.settle([{ ...lease(second), event: 'SNOOZE', to: 'scheduled', delayMs: 0 }])
    assert.deepEqual((await recordOf(store, 'a')).error, boom)
    await store.promote(1)
    const third = await takeOne(store, { token: 't3' })
    await store.settle([{ ...lease(third), event: 'COMPLETE', to: 'done' }])
    const { error, errors } = await recordOf(store, 'a')
    assert.deepEqual([error, errors.length], [null, 1])
  },
}

/** Three ended jobs of each state, in turn, and one that is queued. */
async function fill(store: Subject['store']): Promise<void> {
  for (const i of [0, 1, 2]) {
    for (const end of ['done', 'dead', 'cancelled'] as const) await putAndEnd(store, `${end} ${i}`, end)
  }
  await store.discard(['cancelled 0'])
  await put(store, newJob('cancelled 3', { type: 'sms' }), newJob('waiting', { type: 'sms' }))
  await cancel(store, ['cancelled 3'])
}
