/** The hook of a job that dies: the write that makes it dead inserts the job that runs the hook. */
import assert from 'node:assert/strict'
import { leaseExpired } from '../../core/failure.ts'
import type { ClaimedJob, NewJob, SettleAnswer, Store } from '../../store.ts'
import { boom, idsOf, lease, newJob, put, recordOf, stateOf, take, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'

const hook = { onDead: 'mail:dead' } as const

async function takeWithHook(store: Store, id: string, fields: Partial<NewJob> = {}): Promise<ClaimedJob> {
  await put(store, newJob(id, { maxAttempts: 1, ...fields }))
  return takeOne(store, hook)
}

const fail = async (store: Store, job: ClaimedJob, fatal = false): Promise<SettleAnswer | undefined> =>
  (await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal, error: boom, delayMs: 0 }]))[0]

const hooksIn = async (store: Store): Promise<string[]> => idsOf(await store.list({ type: 'mail:dead' }))

export const deathCases: Cases = {
  'the failure that makes a job dead inserts its hook, ready to be claimed': async ({ store }) => {
    const fields = { input: { to: 'ada' }, tags: ['red'], meta: { tenant: 'a' }, priority: 5, key: 'k' }
    const job = await takeWithHook(store, 'a', fields)
    const answer = await fail(store, job)
    const { seq, at } = answer?.hook ?? { seq: 0, at: 0 }
    const enqueue = { event: 'ENQUEUE', from: null, to: 'queued', attempt: 0 } as const
    assert.deepEqual({ ...answer?.hook }, { id: 'a/dead/1', type: 'mail:dead', seq, at, ...enqueue })
    const dead = await recordOf(store, 'a')
    const claimed = await takeOne(store, { type: 'mail:dead' })
    assert.deepEqual([claimed.id, claimed.priority, claimed.meta], ['a/dead/1', 5, { tenant: 'a' }])
    const { enqueuedAt, finishedAt: diedAt } = dead
    const known = { id: 'a', type: 'mail', generation: 1, attempt: 1, maxAttempts: 1, key: 'k', enqueuedAt, diedAt }
    assert.deepEqual(claimed.input, { ...known, input: { to: 'ada' }, error: boom })
    const { tags, history } = await recordOf(store, 'a/dead/1')
    assert.deepEqual([tags, history[0]?.event, history[0]?.seq], [['red'], 'ENQUEUE', seq])
  },
  'the lease that runs out on the last attempt inserts the hook, whoever takes it back': async ({ store, advance }) => {
    await takeWithHook(store, 'a', { input: undefined })
    await advance(60_000)
    const { transitions, more } = await store.rescue(10)
    const told = transitions.map(({ id, event, to }) => [id, event, to])
    assert.deepEqual(told, [
      ['a', 'EXPIRE', 'dead'],
      ['a/dead/1', 'ENQUEUE', 'queued'],
    ])
    assert.equal(more, false)
    const { input } = await takeOne(store, { type: 'mail:dead' })
    const { error, ...death } = input as { readonly error: unknown }
    assert.deepEqual([error, 'input' in death], [leaseExpired, false])
    assert.deepEqual((await store.rescue(10)).transitions, [])
  },
  'an attempt that is not the last, and any other end, inserts none': async ({ store, advance }) => {
    const retried = await takeWithHook(store, 'retried', { maxAttempts: 2 })
    assert.equal((await fail(store, retried))?.hook, undefined)
    const done = await takeWithHook(store, 'done')
    await store.settle([{ ...lease(done), event: 'COMPLETE', to: 'done' }])
    const cancelled = await takeWithHook(store, 'cancelled')
    await store.cancel([{ ids: ['cancelled'], reason: null, graceMs: 0 }])
    await fail(store, cancelled, true)
    await takeWithHook(store, 'expired', { maxAttempts: 2 })
    await advance(60_000)
    await store.rescue(10)
    assert.equal(await stateOf(store, 'expired'), 'queued')
    assert.deepEqual(await hooksIn(store), [])
  },
  'a fatal failure inserts the hook, and the same settlement again inserts no other': async ({ store }) => {
    const job = await takeWithHook(store, 'a', { maxAttempts: 3 })
    const first = await fail(store, job, true)
    assert.equal(first?.hook?.id, 'a/dead/1')
    assert.deepEqual(await fail(store, job, true), first)
    assert.deepEqual(await hooksIn(store), ['a/dead/1'])
  },
  'a retry that dies again inserts another hook, with its generation': async ({ store }) => {
    await fail(store, await takeWithHook(store, 'a'))
    await store.retry(['a'])
    await fail(store, await takeOne(store, hook))
    assert.deepEqual(await hooksIn(store), ['a/dead/1', 'a/dead/2'])
  },
  'the last claim says which hook a job has, if any': async ({ store }) => {
    const job = await takeWithHook(store, 'a', { maxAttempts: 3, pins: { maxAttempts: 3 } })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const other = await takeOne(store, { token: 't2', onDead: 'other' })
    assert.deepEqual(other.pins, { maxAttempts: 3 })
    await store.settle([{ ...lease(other), event: 'RELEASE', to: 'queued' }])
    const without = await takeOne(store, { token: 't3' })
    assert.deepEqual(without.pins, { maxAttempts: 3 })
    assert.equal((await fail(store, without, true))?.hook, undefined)
    await store.retry(['a'])
    const last = await takeOne(store, { token: 't4', onDead: 'other' })
    assert.equal((await fail(store, last, true))?.hook?.type, 'other')
  },
  'the hook has an id of its own also where a removed job of the same id has left one': async ({ store }) => {
    for (const n of [1, 2, 3]) {
      await fail(store, await takeWithHook(store, 'a', { input: n }))
      await store.discard(['a'])
    }
    assert.deepEqual(await hooksIn(store), ['a/dead/1', 'a/dead/1.2', 'a/dead/1.3'])
  },
  'a hook is inserted whatever the capacity, and may have one itself': async ({ store }) => {
    const job = await takeWithHook(store, 'a')
    const [full] = await store.insert([{ jobs: [newJob('b')], capacity: 0 }])
    assert.equal(full?.[0]?.outcome, 'full')
    await fail(store, job)
    const own = await takeOne(store, { type: 'mail:dead', onDead: 'last' })
    assert.equal((await fail(store, own, true))?.hook?.id, 'a/dead/1/dead/1')
    assert.deepEqual(await take(store, { type: 'last', max: 1 }).then(idsOf), ['a/dead/1/dead/1'])
  },
}
