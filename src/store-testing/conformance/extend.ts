/** Heartbeats, and the list of workers. */
import assert from 'node:assert/strict'
import type { Json } from '../../core/payload.ts'
import type { ClaimedJob } from '../../store.ts'
import { cancel, idsOf, lease, newJob, put, putAndTake, recordOf, take, takeOne, workerInfo } from './acts.ts'
import type { Cases } from './subject.ts'

export const extendCases: Cases = {
  'a heartbeat extends the lease': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await advance(20_000)
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [lease(job)] })
    assert.deepEqual(heartbeat, { outcome: 'extended' })
    await advance(28_000)
    assert.deepEqual((await store.rescue(10)).transitions, [])
    await advance(2_000)
    assert.deepEqual(idsOf((await store.rescue(10)).transitions), ['a'])
  },
  'a heartbeat extends the leases of the jobs that it names alone, of those that were claimed together': async ({
    store,
    advance,
  }) => {
    await put(store, ...['a', 'b', 'c', 'd'].map((id) => newJob(id)))
    const [a, b, c] = await take(store, { max: 4 })
    assert.ok(a !== undefined && b !== undefined && c !== undefined)
    await advance(20_000)
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [lease(a), lease(c)] })
    await store.extend({ worker: 'w1', leaseMs: 60_000, heartbeats: [lease(c)] })
    await advance(10_000)
    assert.deepEqual(idsOf((await store.rescue(10)).transitions), ['b', 'd'])
    const [settled] = await store.settle([{ ...lease(a), event: 'RELEASE', to: 'queued' }])
    assert.equal(settled?.outcome, 'settled')
    assert.deepEqual(idsOf(await take(store, { max: 1, token: 't2' })), ['a'])
    await advance(49_999)
    assert.deepEqual(idsOf((await store.rescue(10)).transitions), ['a'])
    await advance(1)
    assert.deepEqual(idsOf((await store.rescue(10)).transitions), ['c'])
  },
  'a heartbeat with a stale token is lost and writes nothing': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const before = await recordOf(store, 'a')
    const payload = { checkin: { at: 1, value: 1 }, logs: [{ at: 1, attempt: 1, message: 'x' }], steps: { s: 1 } }
    const heartbeats = [
      { ...lease(job), ...payload, token: 'stolen' },
      { ...lease(job), ...payload, attempt: 9 },
    ]
    const answers = await store.extend({
      worker: 'w1',
      leaseMs: 1_000,
      heartbeats: [...heartbeats, { ...lease(job), id: 'nobody' }],
    })
    assert.deepEqual(answers, [{ outcome: 'lost' }, { outcome: 'lost' }, { outcome: 'lost' }])
    assert.deepEqual(await recordOf(store, 'a'), before)
  },
  'the answer to a heartbeat reports a cancel, with its reason and grace, and the lease is extended': async ({
    store,
    advance,
  }) => {
    const job = await putAndTake(store, 'a')
    await cancel(store, ['a'], 'enough')
    await advance(20_000)
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [lease(job)] })
    assert.deepEqual(heartbeat, { outcome: 'cancelling', reason: 'enough', graceMs: 5_000 })
    await advance(20_000)
    assert.deepEqual((await store.rescue(10)).transitions, [])
  },
  'a cancel without a grace leaves it to the runtime of the run': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.cancel([{ ids: ['a'], reason: null, graceMs: null }])
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [lease(job)] })
    assert.deepEqual(heartbeat, { outcome: 'cancelling' })
  },
  'check-ins and logs of a heartbeat are kept': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const line = { at: 1, attempt: 1, message: 'half way', fields: { n: 1 } }
    const heartbeat = { ...lease(job), checkin: { at: 2, value: { half: true } }, logs: [line] }
    await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [heartbeat, { ...lease(job), logs: [line] }] })
    const { checkin, logs } = await recordOf(store, 'a')
    assert.deepEqual([checkin, logs], [{ at: 2, value: { half: true } }, [line, line]])
  },
  'the next attempt gets the results of completed steps': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const steps = [{ charge: { id: 7 }, mail: 1 }, JSON.parse('{ "__proto__": { "polluted": true }, "charge": 8 }')]
    await store.extend({
      worker: 'w1',
      leaseMs: 1_000,
      heartbeats: steps.map((each) => Object.assign(lease(job), { steps: each })),
    })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual(
      Object.entries(again.steps ?? {}).toSorted(([a], [b]) => a.localeCompare(b)),
      [
        ['__proto__', { polluted: true }],
        ['charge', 8],
        ['mail', 1],
      ],
    )
  },
  'step results belong to a job and a name: a later result replaces an earlier one, and a new job with the id of a removed one has none':
    async ({ store }) => {
      const [a, b] = [await putAndTake(store, 'a'), await putAndTake(store, 'b')]
      const save = (job: ClaimedJob, steps: Record<string, Json>) =>
        store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [{ ...lease(job), steps }] })
      for (let n = 0; n < 20; n++) await save(a, { [`step ${n}`]: n, last: n })
      await save(b, { last: 'of b' })
      await store.settle([a, b].map((job) => ({ ...lease(job), event: 'RELEASE', to: 'queued' })))
      const again = await take(store, { token: 't2' })
      const expected = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`step ${n}`, n]))
      assert.deepEqual(
        again.map(({ steps }) => steps),
        [{ ...expected, last: 19 }, { last: 'of b' }],
      )
      await store.settle(again.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
      await store.discard(['a', 'b'])
      assert.equal((await putAndTake(store, 'a')).steps, null)
    },
  'the list of workers shows the jobs that they run, by their leases': async ({ store, advance }) => {
    await store.worker('w1', workerInfo('w1'))
    const [before] = await store.workers()
    const job = await putAndTake(store, 'a')
    await advance(1_000)
    const checkin = { at: 1, value: 'busy' }
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [{ ...lease(job), checkin }] })
    const [record] = await store.workers()
    assert.ok(before && record)
    const { seenAt, running, lost, ...rest } = record
    assert.deepEqual([rest, lost], [workerInfo('w1'), false])
    assert.ok(seenAt >= before.seenAt + 1_000)
    assert.deepEqual(running, [{ id: 'a', type: 'mail', attempt: 1, since: job.startedAt, checkin }])
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual((await store.workers())[0]?.running, [])
    await store.worker('w1', null)
    assert.deepEqual(await store.workers(), [])
  },
  'a worker without a heartbeat for its lease is lost, and is removed from the list ten minutes later': async ({
    store,
    advance,
  }) => {
    await store.worker('w1', workerInfo('w1', { leaseMs: 60_000 }))
    await store.worker('w2', workerInfo('w2'))
    const listed = async () => (await store.workers()).map(({ id, lost }) => [id, lost])
    await advance(30_000)
    assert.deepEqual(await listed(), [
      ['w1', false],
      ['w2', true],
    ])
    await store.extend({ worker: 'w2', leaseMs: 30_000, heartbeats: [] })
    await advance(30_000)
    assert.deepEqual(await listed(), [
      ['w1', true],
      ['w2', true],
    ])
    await store.extend({ worker: 'w2', leaseMs: 30_000, heartbeats: [] })
    await advance(600_000)
    assert.deepEqual(await listed(), [['w2', true]])
    await store.worker('w3', workerInfo('w3', { slots: 2 }))
    await store.worker('w3', workerInfo('w3', { slots: 5 }))
    assert.deepEqual((await store.workers()).map(({ id, slots }) => [id, slots]).at(-1), ['w3', 5])
  },
  'a heartbeat without runs keeps its worker from being lost': async ({ store, advance }) => {
    await store.worker('w1', workerInfo('w1'))
    await put(store, newJob('a'))
    const [before] = await store.workers()
    await advance(5_000)
    assert.deepEqual(await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [] }), [])
    assert.ok(((await store.workers())[0]?.seenAt ?? 0) >= (before?.seenAt ?? 0) + 5_000)
  },
}
