/** Cancels of parents and their child jobs. */
import assert from 'node:assert/strict'
import {
  cancel,
  idsOf,
  lease,
  newJob,
  park,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  stateOf,
  write,
} from './acts.ts'
import { child, family, lettersTo, takeChild } from './family.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

export const familyCancelCases: Cases = {
  'a cancel also cancels the children and their descendants: reported as transitions, not by ids': async ({
    store,
  }) => {
    await park(store, await putAndTake(store, 'p'))
    await put(store, child('running'))
    await takeChild(store)
    await put(
      store,
      child('queued'),
      child('urgent', { priority: 5 }),
      child('scheduled', { delayMs: 60_000 }),
      child('of queued', { parent: { id: 'queued', checkins: false } }),
      child('of another', { parent: { id: 'another', checkins: false } }),
    )
    const answer = await cancel(store, ['p'], 'enough')
    assert.deepEqual([answer?.cancelled, answer?.cancelling, answer?.finished], [['p'], [], []])
    assert.deepEqual(
      answer?.transitions.map(({ id, event, to, reason }) => [id, event, to, reason]),
      [
        ['p', 'CANCEL', 'cancelled', 'enough'],
        ['urgent', 'CANCEL', 'cancelled', 'its parent was cancelled'],
        ['running', 'CANCEL', 'cancelling', 'its parent was cancelled'],
        ['queued', 'CANCEL', 'cancelled', 'its parent was cancelled'],
        ['scheduled', 'CANCEL', 'cancelled', 'its parent was cancelled'],
        ['of queued', 'CANCEL', 'cancelled', 'its parent was cancelled'],
      ],
    )
    assert.equal((await recordOf(store, 'queued')).cancelReason, 'its parent was cancelled')
    assert.equal(await stateOf(store, 'of another'), 'queued')
    assert.equal((await recordOf(store, 'p')).lastMessageNumber, 0)
  },
  'the cancel of a running parent cancels its children, and the parent gets their ends': async ({ store }) => {
    const job = await putAndTake(store, 'p')
    await put(store, child('c'))
    const answer = await cancel(store, ['p'], 'enough')
    assert.deepEqual([answer?.cancelling, idsOf(answer?.transitions ?? [])], [['p'], ['p', 'c']])
    assert.deepEqual(await lettersTo(store, 'p'), [
      { kind: 'ended', child: 'c', state: 'cancelled', reason: 'its parent was cancelled' },
    ])
    await put(store, child('d'))
    assert.deepEqual((await cancel(store, ['p']))?.transitions, [], 'a second cancel does nothing')
    assert.equal(await stateOf(store, 'd'), 'queued')
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [lease(job)] })
    assert.equal(heartbeat?.outcome, 'cancelling')
  },
  'running children are marked as cancelled like any job': async ({ store }) => {
    const job = await family(store)
    await hinted(store, 'cancelled', '"c"', () => cancel(store, ['p']))
    const [heartbeat] = await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [lease(job)] })
    assert.deepEqual(heartbeat, { outcome: 'cancelling', reason: 'its parent was cancelled', graceMs: 5_000 })
  },
  'a child that handles a cancel gets a message, and its own children are not cancelled': async ({ store }) => {
    const job = await family(store)
    await park(store, job, { ...plainCheckpoint(1), takesCancel: true })
    await put(store, child('grandchild', { parent: { id: 'c', checkins: false } }))
    const answer = await cancel(store, ['p'])
    assert.deepEqual(
      answer?.transitions.map(({ id, event }) => [id, event]),
      [
        ['p', 'CANCEL'],
        ['c', 'WAKE'],
      ],
    )
    assert.deepEqual([answer.cancelled, answer.cancelling], [['p'], []])
    assert.deepEqual(await lettersTo(store, 'c'), [
      { kind: 'cancel', reason: 'its parent was cancelled', generation: 1 },
    ])
    assert.equal(await stateOf(store, 'grandchild'), 'queued')
  },
  'the children of a machine that handles its cancel are not cancelled until a forced cancel': async ({ store }) => {
    const job = await putAndTake(store, 'p')
    await write(store, job, { ...plainCheckpoint(1), takesCancel: true })
    await put(store, child('c'))
    assert.deepEqual((await cancel(store, ['p']))?.transitions, [])
    assert.equal(await stateOf(store, 'c'), 'queued')
    assert.deepEqual(idsOf((await cancel(store, ['p']))?.transitions ?? []), ['p', 'c'])
  },
  'selected jobs are cancelled with the given reason, also if they are children of each other': async ({ store }) => {
    await park(store, await putAndTake(store, 'p'))
    await put(store, child('c', { priority: 1 }), child('d'), child('e', { parent: { id: 'd', checkins: false } }))
    const answer = await cancel(store, ['p', 'c', 'd'], 'enough')
    assert.deepEqual([answer?.cancelled, answer?.finished], [['c', 'p', 'd'], []])
    assert.deepEqual(
      answer?.transitions.map(({ id, event, reason }) => [id, event, reason]),
      [
        ['c', 'CANCEL', 'enough'],
        ['p', 'WAKE', undefined],
        ['p', 'CANCEL', 'enough'],
        ['d', 'CANCEL', 'enough'],
        ['e', 'CANCEL', 'its parent was cancelled'],
      ],
    )
  },
  'a job that is superseded cancels its children, and its parent gets its end': async ({ store }) => {
    await park(store, await putAndTake(store, 'p'))
    await put(store, child('c', { key: 'k' }), child('grandchild', { parent: { id: 'c', checkins: false } }))
    const [answer] = await put(store, newJob('d', { type: 'child', key: 'k', onConflict: 'supersede' }))
    assert.deepEqual([answer?.outcome, answer?.superseded?.id, answer?.superseded?.to], ['inserted', 'c', 'cancelled'])
    assert.deepEqual(await lettersTo(store, 'p'), [
      { kind: 'ended', child: 'c', state: 'cancelled', reason: 'superseded' },
    ])
    assert.deepEqual([await stateOf(store, 'p'), await stateOf(store, 'grandchild')], ['queued', 'cancelled'])
    assert.equal((await recordOf(store, 'grandchild')).cancelReason, 'its parent was cancelled')
  },
  'a request that is refused has cancelled no job of any type': async ({ store }) => {
    await put(store, newJob('p', { key: 'k' }), child('c'), newJob('taken', { type: 'sms' }))
    const answers = await put(store, newJob('heir', { key: 'k', onConflict: 'supersede' }), newJob('taken'))
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ['id-taken', 'id-taken'],
    )
    const { types, queued, cancelled } = await store.counts()
    assert.deepEqual([queued, cancelled, types['child']?.queued, types['child']?.cancelled], [3, 0, 1, 0])
    assert.equal((await takeChild(store)).id, 'c')
  },
  'a job that ends without a cancel does not cancel its children': async ({ store }) => {
    const job = await putAndTake(store, 'p')
    await put(store, child('c'))
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(await stateOf(store, 'c'), 'queued')
  },
  'jobs that are parents of each other in a circle are cancelled, each once': async ({ store }) => {
    const of = (id: string) => ({ parent: { id, checkins: true } })
    await put(store, child('a', of('b')), child('b', of('a')), child('self', of('self')))
    const answer = await cancel(store, ['a', 'self'])
    assert.deepEqual(
      answer?.transitions.map(({ id, event }) => `${id} ${event}`),
      ['a CANCEL', 'self CANCEL', 'b CANCEL'],
    )
  },
}
