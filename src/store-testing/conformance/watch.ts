/** Hints: a store may send more than needed, but no fewer. */
import assert from 'node:assert/strict'
import type { BulkChange } from '../../store.ts'
import { ask, cancel, lease, newJob, put, putAndTake, take } from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

export const watchCases: Cases = {
  'an insert makes its type ready': async ({ store }) => {
    await hinted(store, 'ready', '"mail"', () => put(store, newJob('a'), newJob('b')))
    await hinted(store, 'ready', '"sms"', () => put(store, newJob('c', { type: 'sms' })))
  },
  'pausing and resuming a queue sends a queue hint, and a resume makes its type ready': async ({ store }) => {
    await put(store, newJob('a'))
    const paused = await hinted(store, 'queue', '"paused":true', () => store.queue('mail', { paused: true }))
    assert.equal(paused.kind === 'queue' && paused.type, 'mail')
    const resumed = await hinted(store, 'queue', '"paused":false', () => store.queue('mail', { paused: false }))
    assert.equal(resumed.kind === 'queue' && resumed.type, 'mail')
    await store.queue('mail', { paused: true })
    await hinted(store, 'ready', '"mail"', () => store.queue('mail', { paused: false }))
  },
  'a scheduled job sends a due hint, and makes its type ready when it is due': async ({ store, advance }) => {
    const hint = await hinted(store, 'due', null, () => put(store, newJob('a', { delayMs: 10_000 })))
    assert.equal(hint.kind === 'due' && hint.at, (await store.get(['a']))[0]?.dueAt)
    await advance(10_000)
    await hinted(store, 'ready', '"mail"', () => store.promote(10))
  },
  'a failed job sends a due hint': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const fail = { ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 10_000 } as const
    await hinted(store, 'due', null, () => store.settle([fail]))
  },
  'a released, a rescued and a retried job make their type ready': async ({ store, advance }) => {
    const released = await putAndTake(store, 'a')
    await hinted(store, 'ready', '"mail"', () => store.settle([{ ...lease(released), event: 'RELEASE', to: 'queued' }]))
    await take(store)
    await advance(30_000)
    await hinted(store, 'ready', '"mail"', () => store.rescue(10))
    await cancel(store, ['a'])
    await hinted(store, 'ready', '"mail"', () => store.retry(['a']))
  },
  'a resumed queue is ready': async ({ store }) => {
    await put(store, newJob('a'))
    await store.queue('mail', { paused: true })
    await hinted(store, 'ready', '"mail"', () => store.queue('mail', { paused: false }))
  },
  'the end of a run makes a type at its concurrency limit ready': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'))
    const limits = { concurrency: 1 }
    const { jobs } = await ask(store, { limits })
    const [job] = jobs
    assert.ok(job)
    await hinted(store, 'ready', '"mail"', () => store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]))
  },
  'the end of a run makes a key at its concurrency limit ready': async ({ store, advance }) => {
    await put(store, newJob('a', { concurrencyKey: 'x' }), newJob('b', { concurrencyKey: 'x' }))
    await ask(store, { limits: { perKey: 1 } })
    await advance(30_000)
    await hinted(store, 'ready', '"mail"', () => store.rescue(10))
  },
  'a cancel sends a hint with the running jobs that it has marked': async ({ store }) => {
    await putAndTake(store, 'a')
    await hinted(store, 'cancelled', '"a"', () => cancel(store, ['a']))
    await putAndTake(store, 'b', { key: 'k' })
    const supersede = newJob('c', { key: 'k', onConflict: 'supersede' })
    await hinted(store, 'cancelled', '"b"', () => put(store, supersede))
  },
  'free capacity after a refused insert sends a room hint': async ({ store }) => {
    await put(store, newJob('a'))
    await store.insert([{ jobs: [newJob('b')], capacity: 1 }])
    await hinted(store, 'room', null, () => take(store))
    await put(store, newJob('c'))
    await store.insert([{ jobs: [newJob('d')], capacity: 1 }])
    await hinted(store, 'room', null, () => cancel(store, ['c']))
  },
  'room in a full queue sends a room hint of its type': async ({ store }) => {
    await put(store, newJob('a'), newJob('s', { type: 'sms' }))
    await store.insert([{ jobs: [newJob('b')], capacity: null, queue: { type: 'mail', capacity: 1 } }])
    await hinted(store, 'room', '"mail"', () => take(store))
  },
  'the end of a job sends an ended hint': async ({ store }) => {
    store.watchEnds?.()
    const job = await putAndTake(store, 'a')
    await hinted(store, 'ended', null, () => store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]))
    await put(store, newJob('b'))
    await hinted(store, 'ended', null, () => cancel(store, ['b']))
  },
  'a bulk operation that is started without a lease, and does not end at once, sends a bulk hint': async ({
    store,
  }) => {
    await put(store, newJob('a'), newJob('b'), newJob('c'))
    const change: BulkChange = { kind: 'cancel', reason: null, graceMs: 0 }
    const common = { change, filter: {}, expected: null, batchSize: 1, token: 't' }
    await store.bulk.start({ ...common, id: 'held', leaseMs: 10_000 })
    const hint = await hinted(store, 'bulk', null, () => store.bulk.start({ ...common, id: 'free', leaseMs: 0 }))
    assert.deepEqual(hint, { kind: 'bulk', id: 'free' })
  },
  'no hint arrives after the watch has ended': async ({ store }) => {
    let told = 0
    store.watch(() => told++)()
    await put(store, newJob('a'))
    await store.counts()
    assert.equal(told, 0)
  },
}
