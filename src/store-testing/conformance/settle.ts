/** Settlements: the end of attempts, conditional on the lease. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import { boom, cancel, lease, newJob, put, putAndTake, recordOf, stateOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'

export const settleCases: Cases = {
  'a completed job is done and keeps its output': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', output: { ok: [true] } }])
    assert.deepEqual([answer?.outcome, answer?.from, answer?.to, answer?.attempt], ['settled', 'running', 'done', 1])
    const record = await recordOf(store, 'a')
    assert.deepEqual([record.state, record.output, record.error], ['done', { ok: [true] }, null])
    assert.equal(record.finishedAt, answer?.at)
  },
  'a failed job waits for its next attempt, until none is left': async ({ store, advance }) => {
    await put(store, newJob('a', { maxAttempts: 2 }))
    const first = await takeOne(store, { token: 't1', worker: 'w1' })
    const failure = { event: 'FAIL', error: boom, delayMs: 10_000 } as const
    const [retrying] = await store.settle([{ ...lease(first), ...failure, to: 'retrying' }])
    assert.deepEqual([retrying?.to, retrying?.dueAt], ['retrying', (retrying?.at ?? 0) + 10_000])
    assert.deepEqual((await recordOf(store, 'a')).error, boom)
    await advance(10_000)
    await store.promote(10)
    const second = await takeOne(store, { token: 't2', worker: 'w2' })
    assert.equal(second.attempt, 2)
    const [dead] = await store.settle([{ ...lease(second), ...failure, to: 'retrying' }])
    assert.deepEqual([dead?.to, dead?.dueAt], ['dead', null])
    const { errors, finishedAt } = await recordOf(store, 'a')
    assert.equal(finishedAt, dead?.at)
    assert.deepEqual(
      errors.map(({ attempt, generation, worker, error, startedAt }) => [
        attempt,
        generation,
        worker,
        error,
        startedAt,
      ]),
      [first, second].map((job, i) => [i + 1, 1, `w${i + 1}`, boom, job.startedAt]),
    )
  },
  'a fatal failure spends no further attempt': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const [answer] = await store.settle([{ ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
    assert.equal(answer?.to, 'dead')
  },
  'release and snooze give the attempt back': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    const [released] = await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued', reason: 'shutdown' }])
    assert.deepEqual([released?.to, released?.attempt], ['queued', 0])
    const again = await takeOne(store, { token: 't2' })
    assert.equal(again.attempt, 1)
    const [snoozed] = await store.settle([{ ...lease(again), event: 'SNOOZE', to: 'scheduled', delayMs: 10_000 }])
    assert.deepEqual([snoozed?.to, snoozed?.attempt, snoozed?.dueAt], ['scheduled', 0, (snoozed?.at ?? 0) + 10_000])
    assert.deepEqual(await take(store), [])
    await advance(10_000)
    await store.promote(10)
    assert.equal((await takeOne(store)).attempt, 1)
    assert.equal((await recordOf(store, 'a')).history[2]?.reason, 'shutdown')
  },
  'a claim finds the room that a settlement before it makes, though neither waits': async ({ store }) => {
    await put(store, ...['a', 'b', 'c'].map((id) => newJob(id, { concurrencyKey: 'k' })))
    for (const limits of [{ concurrency: 1 }, { perKey: 1 }]) {
      const running = await takeOne(store, { limits })
      assert.deepEqual(await take(store, { limits, token: 't2' }), [])
      const settled = store.settle([{ ...lease(running), event: 'COMPLETE', to: 'done' }])
      const next = take(store, { limits, token: 't3' })
      assert.equal((await settled)[0]?.outcome, 'settled')
      const [job] = await next
      assert.ok(job !== undefined)
      assert.deepEqual(await take(store, { limits, token: 't4' }), [])
      await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    }
  },
  'a claim finds what a settlement before it puts back into the queue, though neither waits': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const settled = store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const next = takeOne(store, { token: 't2' })
    const [[answer], again] = await Promise.all([settled, next])
    assert.deepEqual([answer?.outcome, answer?.to, answer?.attempt], ['settled', 'queued', 0])
    assert.deepEqual([again.id, again.attempt, again.token], ['a', 1, 't2'])
    assert.ok(again.seq > (answer?.seq ?? Infinity))
    assert.deepEqual(
      (await recordOf(store, 'a')).history.map(({ event }) => event),
      ['ENQUEUE', 'CLAIM', 'RELEASE', 'CLAIM'],
    )
  },
  'a parked job waits for its timer, or only for a message': async ({ store, advance }) => {
    const timed = await putAndTake(store, 'a')
    const [waiting] = await store.settle([{ ...lease(timed), event: 'PARK', to: 'waiting', delayMs: 10_000 }])
    assert.deepEqual([waiting?.to, waiting?.attempt], ['waiting', 0])
    const parked = await putAndTake(store, 'b')
    const [silent] = await store.settle([{ ...lease(parked), event: 'PARK', to: 'waiting' }])
    assert.deepEqual([silent?.to, silent?.dueAt], ['waiting', null])
    await advance(100_000)
    const { transitions } = await store.promote(10)
    assert.deepEqual(
      transitions.map(({ id, event, to }) => [id, event, to]),
      [['a', 'WAKE', 'queued']],
    )
  },
  'the same token settled twice gets the same answer twice': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const settlement = { ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom } as const
    const [first] = await store.settle([settlement])
    const [second] = await store.settle([{ ...settlement, event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(second, first)
    await store.promote(10)
    await takeOne(store, { token: 't2' })
    assert.deepEqual((await store.settle([settlement]))[0], first)
    const { state, errors, history } = await recordOf(store, 'a')
    assert.deepEqual([state, errors.length, history.length], ['running', 1, 5])
  },
  'a stale token, attempt or id is lost and writes nothing': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const before = await recordOf(store, 'a')
    const complete = { ...lease(job), event: 'COMPLETE', to: 'done', output: 1 } as const
    const stale = [
      { ...complete, token: 'stolen' },
      { ...complete, attempt: 2 },
      { ...complete, id: 'nobody' },
    ]
    // In one call, and each in a call of its own: a store may treat a job that is named twice in another way.
    const answers = await store.settle(stale)
    for (const one of stale) answers.push(...(await store.settle([one])))
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      Array(6).fill('lost'),
    )
    assert.deepEqual(await recordOf(store, 'a'), before)
  },
  'a settlement that has ended a job gets the same answer after a retry of the job': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const settlement = { ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom } as const
    const [first] = await store.settle([settlement])
    await store.retry(['a'])
    assert.deepEqual((await store.settle([settlement]))[0], first)
    await takeOne(store, { token: 't2' })
    assert.deepEqual((await store.settle([settlement]))[0], first)
    assert.deepEqual(first?.to, 'dead')
  },
  'a worker that lost its lease cannot settle the attempt of another': async ({ store, advance }) => {
    const zombie = await putAndTake(store, 'a')
    await advance(60_000)
    await store.rescue(10)
    const complete = { event: 'COMPLETE', to: 'done' } as const
    assert.equal((await store.settle([{ ...lease(zombie), ...complete }]))[0]?.outcome, 'lost')
    const heir = await takeOne(store, { token: 'heir' })
    assert.equal((await store.settle([{ ...lease(zombie), ...complete }]))[0]?.outcome, 'lost')
    assert.equal(await stateOf(store, 'a'), 'running')
    assert.equal((await store.settle([{ ...lease(heir), ...complete }]))[0]?.outcome, 'settled')
  },
  'a job that is being cancelled ends as cancelled by every settlement': async ({ store }) => {
    const events = ['COMPLETE', 'FAIL', 'SNOOZE', 'RELEASE', 'PARK'] as const
    for (const event of events) {
      const job = await putAndTake(store, event)
      await cancel(store, [event], 'enough')
      const settlement = { ...lease(job), event, to: 'done', delayMs: 1_000, output: 1 } as const
      const [answer] = await store.settle([{ ...settlement, ...(event === 'FAIL' && { error: boom }) }])
      assert.deepEqual([answer?.from, answer?.to, answer?.dueAt], ['cancelling', 'cancelled', null], event)
      const record = await recordOf(store, event)
      assert.deepEqual([record.output, record.cancelReason, record.finishedAt], [undefined, 'enough', answer?.at])
      assert.equal(record.errors.length, event === 'FAIL' ? 1 : 0)
    }
  },
  'the last check-in, errors and logs are kept, up to their caps': async ({ store }) => {
    await put(store, newJob('a', { maxAttempts: 100 }))
    for (let i = 1; i <= caps.errors + 5; i++) {
      const job = await takeOne(store, { token: `t${i}` })
      const logs = Array.from({ length: 10 }, (_, j) => ({ at: i, attempt: i, message: `${i}.${j}`, fields: { j } }))
      const checkin = { at: i, value: { progress: i } }
      await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom, logs, checkin }])
      await store.promote(10)
    }
    const { errors, logs, checkin, history } = await recordOf(store, 'a')
    const last = caps.errors + 5
    assert.deepEqual([errors.length, errors[0]?.attempt, errors.at(-1)?.attempt], [caps.errors, 6, last])
    assert.deepEqual([logs.length, logs.at(-1)?.message], [caps.logs, `${last}.9`])
    assert.deepEqual(checkin, { at: last, value: { progress: last } })
    assert.equal(history.length, Math.min(caps.history, 1 + 3 * last))
  },
  'errors and a check-in that come without logs are kept likewise': async ({ store }) => {
    await put(store, newJob('a', { maxAttempts: 100 }))
    const last = caps.errors + 5
    for (let i = 1; i <= last; i++) {
      const job = await takeOne(store, { token: `t${i}` })
      const checkin = { at: i, value: i }
      await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom, checkin }])
      await store.promote(10)
    }
    const { errors, error, checkin } = await recordOf(store, 'a')
    assert.deepEqual([errors.length, errors[0]?.attempt, errors.at(-1)?.attempt], [caps.errors, 6, last])
    assert.deepEqual([errors.at(-1)?.error, error, checkin], [boom, boom, { at: last, value: last }])
    await store.settle([{ ...lease(await takeOne(store, { token: 'end' })), event: 'COMPLETE', to: 'done' }])
    const done = await recordOf(store, 'a')
    assert.deepEqual([done.error, done.errors.length, done.checkin], [null, caps.errors, checkin])
  },
  'if logs are too large together, the oldest lines are removed': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const line = (i: number) => ({ at: i, attempt: 1, message: `${i}`, fields: 'ä'.repeat(7_000) })
    for (const i of [1, 2, 3, 4]) {
      await store.extend({ worker: 'w1', leaseMs: 60_000, heartbeats: [{ ...lease(job), logs: [line(i)] }] })
    }
    const messages = async () => (await recordOf(store, 'a')).logs.map(({ message }) => message)
    assert.deepEqual(await messages(), ['1', '2', '3', '4'])
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', logs: [line(5), line(6)] }])
    assert.deepEqual(await messages(), ['3', '4', '5', '6'])
  },
  'the history is capped: the oldest entries are removed': async ({ store }) => {
    await put(store, newJob('a'))
    for (let entries = 3; entries <= 3 * caps.history; entries += 2) {
      await store.settle([{ ...lease(await takeOne(store, { token: `t${entries}` })), event: 'RELEASE', to: 'queued' }])
      const { history } = await recordOf(store, 'a')
      const oldest = entries <= caps.history ? 'ENQUEUE' : 'CLAIM'
      assert.deepEqual([history.length, history[0]?.event], [Math.min(entries, caps.history), oldest])
    }
    const seqs = (await recordOf(store, 'a')).history.map(({ seq }) => seq)
    const ascending = seqs.toSorted((a, b) => a - b)
    assert.deepEqual(seqs, ascending)
  },
}
