/** Failed attempts in groups: counted by the write that ends the attempt, with the jobs that are dead of them now. */
import assert from 'node:assert/strict'
import { failureOf } from '../../core/fingerprint.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import type { Store } from '../../store.ts'
import { take, takeOne, boom, changeMatching, idsOf, lease, newJob, prune, put, putAndTake } from './acts.ts'
import { everyPage } from './side-by-side.ts'
import type { Cases } from './subject.ts'

/** Inserts and claims a job, and lets it die of an error. */
async function die(store: Store, id: string, error: ErrorRecord, type = 'mail'): Promise<void> {
  const job = await putAndTake(store, id, { type })
  await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error }])
}

const figures = async (store: Store, type?: string) =>
  (await store.failures(type === undefined ? {} : { type })).map(({ message, count, dead }) => [message, count, dead])

const keepNone = { ageMs: 0, count: 0 }
const keepAll = { ageMs: Number.MAX_SAFE_INTEGER, count: 1_000 }

export const failureCases: Cases = {
  'failed attempts are grouped by type, name, code and message, the last one first': async ({ store, advance }) => {
    assert.deepEqual(await store.failures({}), [])
    await die(store, 'a', { name: 'Error', message: 'no user 17' })
    await die(store, 'b', { name: 'TypeError', message: 'no user 17' })
    await die(store, 'c', { name: 'Error', message: 'no user 17', code: 'E_USER' })
    await die(store, 'd', { name: 'Error', message: 'no user 17' }, 'sms')
    await advance(1_000)
    await die(store, 'e', { name: 'Error', message: 'no user 4711', stack: 'elsewhere' })
    const groups = await store.failures({})
    assert.deepEqual(
      groups.map(({ type, name, code, message, count, lastId }) => [type, name, code, message, count, lastId]),
      [
        ['mail', 'Error', null, 'no user …', 2, 'e'],
        ['sms', 'Error', null, 'no user …', 1, 'd'],
        ['mail', 'Error', 'E_USER', 'no user …', 1, 'c'],
        ['mail', 'TypeError', null, 'no user …', 1, 'b'],
      ],
    )
    const [latest, , , oldest] = groups
    assert.equal(latest?.fingerprint, failureOf({ name: 'Error', message: 'no user 1' }).fingerprint)
    assert.ok(latest !== undefined && latest.lastAt >= latest.firstAt + 1_000)
    assert.equal(oldest?.firstAt, oldest?.lastAt)
    assert.deepEqual(await store.failures({ type: 'sms' }), [groups[1]])
    assert.deepEqual(await store.failures({ type: 'never seen' }), [])
    assert.deepEqual(await store.failures({ limit: 2 }), groups.slice(0, 2))
    assert.deepEqual(await store.failures({ limit: 1, type: 'mail' }), groups.slice(0, 1))
  },
  'attempts of promises that a checkpoint tells of are counted in their groups and in the activity, once': async ({
    store,
  }) => {
    const job = await putAndTake(store, 'a')
    const failures = [
      { error: { name: 'Error', message: 'no user 17' }, ms: 200 },
      { error: { name: 'Error', message: 'no user 4711' }, ms: 100 },
      { error: { name: 'CardDeclined', message: 'no money' }, ms: 50 },
    ]
    const checkpoint = { number: 1, state: {}, read: 0, note: '', takesCancel: false, failures }
    await store.checkpoint([{ ...lease(job), checkpoint }])
    // The answer was lost: the same checkpoint again.
    await store.checkpoint([{ ...lease(job), checkpoint }])
    // Those of one checkpoint have one number: their order is not defined.
    const byMessage = async () => (await figures(store)).toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
    assert.deepEqual(await byMessage(), [
      ['no money', 1, 0],
      ['no user …', 2, 0],
    ])
    const [latest] = await store.failures({})
    assert.equal(latest?.lastId, 'a')
    await store.settle([
      {
        ...lease(job),
        event: 'COMPLETE',
        to: 'done',
        checkpoint: { ...checkpoint, number: 2, failures: failures.slice(0, 1) },
      },
    ])
    assert.deepEqual(await byMessage(), [
      ['no money', 1, 0],
      ['no user …', 3, 0],
    ])
    const [activity] = await store.activity({ period: 'hour', from: 0, queues: ['mail'] })
    const sums = { failed: 0, dead: 0, done: 0, runMs: 0 }
    for (const bucket of activity?.buckets ?? []) {
      sums.failed += bucket.failed
      sums.dead += bucket.dead
      sums.done += bucket.done
      sums.runMs += bucket.runMs
    }
    assert.deepEqual({ ...sums, runMs: sums.runMs >= 550 }, { failed: 4, dead: 0, done: 1, runMs: true })
  },
  'an attempt after which the job is tried again, and one whose lease ran out, are counted': async ({
    store,
    advance,
  }) => {
    const first = await putAndTake(store, 'a')
    await store.settle([{ ...lease(first), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }])
    await store.promote(10)
    await takeOne(store, { leaseMs: 1_000 })
    await advance(2_000)
    await store.rescue(10)
    const last = await takeOne(store)
    await store.settle([{ ...lease(last), event: 'FAIL', to: 'dead', error: boom }])
    const groups = await store.failures({})
    assert.deepEqual(
      groups.map(({ name, count, dead }) => [name, count, dead]),
      [
        ['Error', 2, 1],
        ['LeaseExpired', 1, 0],
      ],
    )
  },
  'a dead job leaves its group when it is retried, discarded or pruned': async ({ store }) => {
    for (const id of ['a', 'b', 'c', 'd']) await die(store, id, { name: 'Error', message: `of ${id}1` })
    for (const id of ['e', 'f', 'g']) await die(store, id, boom)
    assert.deepEqual((await figures(store))[0], ['boom', 3, 3])
    await store.retry(['e'])
    assert.deepEqual((await figures(store))[0], ['boom', 3, 2])
    await store.discard(['f'])
    assert.deepEqual((await figures(store))[0], ['boom', 3, 1])
    await prune(store, { done: keepAll, dead: keepNone, cancelled: keepAll }, 100)
    assert.deepEqual((await figures(store))[0], ['boom', 3, 0])
    const job = await takeOne(store)
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    assert.deepEqual((await figures(store))[0], ['boom', 4, 1])
  },
  'of each type a hundred groups are kept, those that have occurred last': async ({ store, advance }) => {
    const word = (n: number): string => String(n).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)))
    const of = (n: number): ErrorRecord => ({ name: 'Error', message: `cause ${word(n)}` })
    await die(store, 'other', boom, 'sms')
    await die(store, 'first', of(0))
    await die(store, 'second', of(1))
    await advance(10)
    for (let n = 2; n < 100; n++) await die(store, `job ${n}`, of(n))
    await die(store, 'first again', of(0))
    await die(store, 'one more', of(100))
    const messages = (await figures(store, 'mail')).map(([message]) => message)
    assert.equal(messages.length, 100)
    assert.deepEqual(messages.slice(0, 2), [of(100).message, of(0).message])
    assert.ok(!messages.includes(of(1).message))
    assert.equal((await store.failures({ limit: 1_000 })).length, 101)
    // A group that occurs again begins anew: the job that died of it before is not one of its dead jobs.
    await advance(10)
    await die(store, 'second again', of(1))
    assert.deepEqual((await figures(store, 'mail'))[0], [of(1).message, 1, 1])
    await store.discard(['second'])
    assert.deepEqual((await figures(store, 'mail'))[0], [of(1).message, 1, 1])
  },
  'jobs are found, retried and discarded by the fingerprint of their last error': async ({ store }) => {
    const { fingerprint: failure } = failureOf(boom)
    for (const id of ['a', 'b', 'c']) await die(store, id, boom)
    await die(store, 'd', { name: 'Error', message: 'another' })
    await die(store, 'e', boom, 'sms')
    await put(store, newJob('f'))
    const retrying = await takeOne(store)
    await store.settle([{ ...lease(retrying), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }])
    const found = async (filter: Parameters<Store['list']>[0]) => idsOf(await everyPage(store, filter, 2)).join('')
    assert.equal(await found({ failure }), 'abcef')
    assert.equal(await found({ failure, type: 'mail', state: 'dead' }), 'abc')
    assert.equal(await found({ failure, type: 'mail', state: 'dead', orderBy: 'finished', order: 'newest' }), 'cba')
    assert.equal(await found({ failure: 'unknown' }), '')
    const { fingerprint: other } = failureOf({ name: 'Error', message: 'another' })
    assert.equal(await found({ failure: [failure, other] }), 'abcdef')
    assert.equal(await found({ failure: [other, failure, 'unknown', other], order: 'newest' }), 'fedcba')
    assert.equal(await found({ failure: [other], state: 'dead' }), 'd')
    assert.equal(await found({ failure: [failure, other], state: 'dead', orderBy: 'finished' }), 'abcde')
    assert.equal(await found({ failure: [] }), '')
    const { retried } = await changeMatching(store, 'retry', { failure, type: 'mail', state: 'dead' }, 2)
    assert.deepEqual(retried, ['a', 'b'])
    assert.equal(await found({ failure }), 'cef')
    assert.deepEqual((await changeMatching(store, 'discard', { failure })).discarded, ['c', 'e'])
    await store.promote(10)
    const job = (await take(store, { max: 3 })).find(({ id }) => id === 'f')
    assert.ok(job !== undefined)
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(await found({ failure }), '')
  },
  'groups that are put together are kept as that, for every process, until they are taken apart': async ({ store }) => {
    assert.deepEqual(await store.failureMerges(), [])
    const first = await store.failureMerges({ type: 'mail', together: ['a', 'b'] })
    assert.deepEqual(first, [{ type: 'mail', fingerprints: ['a', 'b'] }])
    await store.failureMerges({ type: 'sms', together: ['b', 'c'] })
    await store.failureMerges({ type: 'mail', together: ['d', 'b'] })
    const merges = [
      { type: 'sms', fingerprints: ['b', 'c'] },
      { type: 'mail', fingerprints: ['d', 'b', 'a'] },
    ]
    assert.deepEqual(await store.failureMerges(), merges)
    const tooMany = Array.from({ length: 101 }, (_, i) => String(i))
    await assert.rejects(async () => store.failureMerges({ type: 'mail', together: tooMany }), {
      code: 'INVALID_INPUT',
    })
    assert.deepEqual(await store.failureMerges(), merges)
    await store.failureMerges({ type: 'mail', apart: ['d', 'nobody'] })
    await store.failureMerges({ type: 'sms', apart: ['c'] })
    assert.deepEqual(await store.failureMerges(), [{ type: 'mail', fingerprints: ['b', 'a'] }])
    await store.failureMerges({ type: 'mail', apart: ['a', 'b'] })
    assert.deepEqual(await store.failureMerges(), [])
  },
}
