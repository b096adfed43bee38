/** Claims: order, pause, concurrency and rate limits. */
import assert from 'node:assert/strict'
import { ask, boom, cancel, idsOf, lease, newJob, noLimits, put, putAndTake, recordOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

export const claimCases: Cases = {
  'a claim counts the attempt and sets worker, token and lease': async ({ store }) => {
    await put(store, newJob('a', { priority: 3, input: { n: [1] } }))
    const job = await takeOne(store, { token: 't1', worker: 'w7' })
    const { id, type, input, priority, attempt, maxAttempts, generation, token, steps } = job
    assert.deepEqual(
      { id, type, input, priority, attempt, maxAttempts, generation, token, steps },
      {
        id: 'a',
        type: 'mail',
        input: { n: [1] },
        priority: 3,
        attempt: 1,
        maxAttempts: 3,
        generation: 1,
        token: 't1',
        steps: null,
      },
    )
    const record = await recordOf(store, 'a')
    assert.deepEqual([record.state, record.attempt, record.worker], ['running', 1, 'w7'])
    assert.equal(record.startedAt, job.startedAt)
    assert.equal(record.history.at(-1)?.seq, job.seq)
    assert.deepEqual([job.record().id, job.record().state], ['a', 'running'])
  },
  'where the store groups calls, a claim that is sent right behind an insert finds its jobs': async ({ store }) => {
    if (store.capabilities.groupsCalls !== true) return
    const inserted = put(store, newJob('a'), newJob('b', { delayMs: 1_000 }), newJob('c'))
    const claimed = ask(store, { max: 10 })
    await inserted
    assert.deepEqual(idsOf((await claimed).jobs), ['a', 'c'])
  },
  'a claim sets how many attempts a job may spend': async ({ store }) => {
    await put(store, newJob('a', { maxAttempts: 1 }))
    const first = await takeOne(store, { maxAttempts: 2 })
    assert.deepEqual([first.maxAttempts, first.record().maxAttempts, first.pins], [2, 2, null])
    const failing = { event: 'FAIL', to: 'retrying', error: boom } as const
    const [retrying] = await store.settle([{ ...lease(first), ...failing }])
    assert.equal(retrying?.to, 'retrying')
    await store.promote(10)
    const second = await takeOne(store)
    assert.deepEqual([second.attempt, second.maxAttempts], [2, 2], 'as it stands, where the claim does not say')
    const [last] = await store.settle([{ ...lease(second), ...failing }])
    assert.deepEqual([last?.to, (await recordOf(store, 'a')).maxAttempts], ['dead', 2])
  },
  'if a claim allows fewer attempts than were spent, its attempt is the last one': async ({ store, advance }) => {
    await put(store, newJob('a', { maxAttempts: 5 }))
    for (let attempt = 1; attempt <= 3; attempt++) {
      await store.settle([{ ...lease(await takeOne(store)), event: 'FAIL', to: 'retrying', error: boom }])
      await store.promote(10)
    }
    const job = await takeOne(store, { maxAttempts: 2 })
    assert.deepEqual([job.attempt, job.maxAttempts], [4, 2])
    await advance(60_000)
    await store.rescue(10)
    assert.equal((await recordOf(store, 'a')).state, 'dead')
  },
  'the pinned settings of a job are part of its claim, and no claim changes pinned attempts': async ({ store }) => {
    const backoff = { kind: 'constant', baseMs: 5, maxMs: 5, jitter: false } as const
    await put(store, newJob('a', { maxAttempts: 7, pins: { maxAttempts: 7, backoff, attemptTimeoutMs: 9 } }))
    await put(store, newJob('b', { pins: { attemptTimeoutMs: 9 } }))
    const [a, b] = await take(store, { maxAttempts: 2 })
    assert.deepEqual([a?.maxAttempts, a?.pins], [7, { maxAttempts: 7, backoff, attemptTimeoutMs: 9 }])
    assert.deepEqual([b?.maxAttempts, b?.pins], [2, { attemptTimeoutMs: 9 }])
  },
  'a claimed job has its concurrency key': async ({ store }) => {
    await put(store, newJob('a', { concurrencyKey: 'x' }), newJob('b'))
    const jobs = await take(store)
    assert.deepEqual(
      jobs.map(({ id, concurrencyKey }) => [id, concurrencyKey]),
      [
        ['a', 'x'],
        ['b', null],
      ],
    )
  },
  'a claimed job has its meta, as a copy': async ({ store }) => {
    await put(store, newJob('a', { meta: { trace: { id: 'x' } } }), newJob('b'))
    const [a, b] = await take(store)
    assert.ok(a !== undefined)
    assert.deepEqual([a.meta, a.record().meta], [{ trace: { id: 'x' } }, { trace: { id: 'x' } }])
    assert.deepEqual([b?.meta, b?.record().meta], [null, {}])
    ;(a.meta as { trace: { id: string } }).trace.id = 'changed'
    assert.deepEqual((await recordOf(store, 'a')).meta, { trace: { id: 'x' } })
  },
  'the answer to a claim describes the claim, not a cancel requested in the same turn': async ({ store }) => {
    await put(store, newJob('a'))
    const [jobs] = await Promise.all([take(store), cancel(store, ['a'])])
    const { history } = await recordOf(store, 'a')
    assert.deepEqual(
      history.map(({ event }) => event),
      ['ENQUEUE', 'CLAIM', 'CANCEL'],
    )
    assert.equal(jobs[0]?.seq, history[1]?.seq)
  },
  'the input of a claimed job is a copy': async ({ store }) => {
    const job = await putAndTake(store, 'a', { input: { list: [1] } })
    ;(job.input as { list: number[] }).list.push(2)
    assert.deepEqual((await recordOf(store, 'a')).input, { list: [1] })
  },
  'jobs with a higher priority are claimed first, equal ones first in, first out': async ({ store }) => {
    const priorities = [0, 5, 0, 9, 5, -1, 0]
    await put(store, ...priorities.map((priority, i) => newJob(`${priority}.${i}`, { priority })))
    assert.deepEqual(idsOf(await take(store)), ['9.3', '5.1', '5.4', '0.0', '0.2', '0.6', '-1.5'])
  },
  'a claim returns no more jobs of a type than requested': async ({ store }) => {
    await put(
      store,
      ...['a', 'b', 'c'].map((id) => newJob(id)),
      newJob('d', { type: 'sms' }),
      newJob('e', { type: 'fax' }),
    )
    const demand = ['sms', 'mail'].map((type) => ({ type, max: 2, limits: noLimits }))
    const { jobs, shortfalls } = await store.claim({ worker: 'w1', token: 't', leaseMs: 1_000, demand })
    assert.deepEqual(idsOf(jobs).toSorted(), ['a', 'b', 'd'])
    assert.deepEqual(shortfalls, [{ type: 'sms', reason: 'empty' }])
  },
  'a job is claimed once, whichever worker claims': async ({ store }) => {
    await put(store, ...Array.from({ length: 20 }, (_, i) => newJob(`job ${i}`)))
    const claims = await Promise.all(['t1', 't2', 't3', 't4', 't5'].map((token) => take(store, { token, max: 5 })))
    const ids = claims.flatMap(idsOf)
    assert.equal(new Set(ids).size, 20)
    assert.equal(ids.length, 20)
  },
  'a released job gets its old place back, a retried one goes to the end': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'), newJob('c'), newJob('d'))
    const [a, b, c] = await take(store, { max: 3 })
    assert.ok(a && b && c)
    await store.settle([{ ...lease(c), event: 'RELEASE', to: 'queued' }])
    await store.settle([{ ...lease(a), event: 'FAIL', to: 'dead', fatal: true }])
    await store.settle([{ ...lease(b), event: 'RELEASE', to: 'queued' }])
    await store.retry(['a'])
    assert.deepEqual(idsOf(await take(store)), ['b', 'c', 'd', 'a'])
  },
  'a claim of a paused queue returns no jobs, with the reason paused': async ({ store }) => {
    await put(store, newJob('a'))
    assert.equal((await store.queue('mail', { paused: true })).paused, true)
    const { jobs, shortfalls } = await ask(store)
    assert.deepEqual([idsOf(jobs), shortfalls], [[], [{ type: 'mail', reason: 'paused' }]])
    assert.equal((await store.queue('mail')).paused, true)
    await store.queue('mail', { paused: false })
    assert.deepEqual(idsOf(await take(store)), ['a'])
  },
  'no more of a type run at once than its concurrency': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'), newJob('c'))
    const limits = { concurrency: 2 }
    const first = await ask(store, { limits })
    assert.deepEqual([idsOf(first.jobs), first.shortfalls], [['a', 'b'], [{ type: 'mail', reason: 'capped' }]])
    assert.deepEqual((await ask(store, { limits, worker: 'w2' })).shortfalls, [{ type: 'mail', reason: 'capped' }])
    const [a] = first.jobs
    assert.ok(a)
    await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(idsOf(await take(store, { limits })), ['c'])
  },
  'a job that is being cancelled still counts towards the concurrency limits': async ({ store }) => {
    await put(store, newJob('a', { concurrencyKey: 'x' }), newJob('b', { concurrencyKey: 'x' }))
    await take(store, { max: 1 })
    await cancel(store, ['a'])
    assert.deepEqual(await take(store, { limits: { concurrency: 1 } }), [])
    assert.deepEqual(await take(store, { limits: { perKey: 1 } }), [])
  },
  'one key cannot take every slot, and jobs without a key are not limited': async ({ store }) => {
    const keys = ['x', 'x', 'x', 'y', null, null]
    await put(store, ...keys.map((concurrencyKey, i) => newJob(`${concurrencyKey}.${i}`, { concurrencyKey })))
    const limits = { perKey: 1 }
    const { jobs, shortfalls } = await ask(store, { limits })
    assert.deepEqual(
      [idsOf(jobs), shortfalls],
      [['x.0', 'y.3', 'null.4', 'null.5'], [{ type: 'mail', reason: 'capped' }]],
    )
    const [x] = jobs
    assert.ok(x)
    await store.settle([{ ...lease(x), event: 'FAIL', to: 'retrying', delayMs: 60_000 }])
    assert.deepEqual(idsOf(await take(store, { limits })), ['x.1'])
    assert.deepEqual(idsOf(await take(store, { limits: { perKey: 2 } })), ['x.2'])
  },
  'no more claims than the rate allows, in any window': async ({ store, advance }) => {
    await put(store, ...Array.from({ length: 6 }, (_, i) => newJob(`job ${i}`)))
    const limits = { rate: { limit: 2, perMs: 60_000 } }
    assert.equal((await take(store, { limits, max: 1 })).length, 1)
    await advance(30_000)
    const second = await ask(store, { limits })
    const [shortfall] = second.shortfalls
    assert.deepEqual([second.jobs.length, shortfall?.reason], [1, 'limited'])
    const left = (shortfall?.until ?? 0) - store.now()
    assert.ok(left > 0 && left <= 30_000, `free in ${left} ms`)
    await advance(30_000)
    assert.equal((await take(store, { limits })).length, 1)
  },
  'no more claims of a key than its rate allows, while other keys are claimed': async ({ store, advance }) => {
    const keys = ['x', 'x', 'x', 'x', 'y', null, null, null]
    await put(store, ...keys.map((concurrencyKey, i) => newJob(`${concurrencyKey}.${i}`, { concurrencyKey })))
    const limits = { keyRate: { limit: 2, perMs: 60_000 } }
    assert.deepEqual(idsOf(await take(store, { limits, max: 1 })), ['x.0'])
    await advance(30_000)
    const { jobs, shortfalls } = await ask(store, { limits })
    assert.deepEqual(idsOf(jobs), ['x.1', 'y.4', 'null.5', 'null.6', 'null.7'])
    assert.equal(shortfalls[0]?.reason, 'limited')
    const left = (shortfalls[0]?.until ?? 0) - store.now()
    assert.ok(left > 0 && left <= 30_000, `free in ${left} ms`)
    await advance(30_000)
    assert.deepEqual(idsOf(await take(store, { limits })), ['x.2'])
    await advance(30_000)
    assert.deepEqual(idsOf(await take(store, { limits })), ['x.3'])
  },
  'the rate of a key also counts while the key has no job, and does not limit a claim without it': async ({
    store,
  }) => {
    const limits = { keyRate: { limit: 1, perMs: 60_000 } }
    const job = (id: string) => newJob(id, { concurrencyKey: 'x' })
    await put(store, job('a'))
    const a = await takeOne(store, { limits })
    await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done' }])
    await put(store, job('b'))
    assert.deepEqual((await ask(store, { limits })).shortfalls[0]?.reason, 'limited')
    assert.deepEqual(idsOf(await take(store, { limits: { keyRate: { limit: 2, perMs: 60_000 } } })), ['b'])
    await put(store, job('c'))
    assert.deepEqual((await ask(store, { limits })).shortfalls[0]?.reason, 'limited')
    assert.deepEqual(idsOf(await take(store)), ['c'])
  },
  'if keys are at their concurrency and others at their rate, the reason is the rate, and the end of a run sends a hint':
    async ({ store }) => {
      const keys = ['x', 'x', 'y', 'y']
      await put(store, ...keys.map((concurrencyKey, i) => newJob(`${concurrencyKey}.${i}`, { concurrencyKey })))
      const y = { perKey: 1, keyRate: { limit: 1, perMs: 60_000 } }
      const first = await ask(store, { limits: { ...y, keyRate: { limit: 5, perMs: 60_000 } } })
      assert.deepEqual([idsOf(first.jobs), first.shortfalls[0]?.reason], [['x.0', 'y.2'], 'capped'])
      const [x] = first.jobs
      assert.ok(x)
      await store.settle([{ ...lease(x), event: 'COMPLETE', to: 'done' }])
      assert.equal((await ask(store, { limits: y })).shortfalls[0]?.reason, 'limited')
      const [, other] = first.jobs
      assert.ok(other)
      await hinted(store, 'ready', '"mail"', () => store.settle([{ ...lease(other), event: 'COMPLETE', to: 'done' }]))
    },
  'an unknown type is empty': async ({ store }) => {
    assert.deepEqual((await ask(store, { type: 'never seen' })).shortfalls, [{ type: 'never seen', reason: 'empty' }])
  },
}
