/** The cancel of a job whose machine handles it as an event: the first is a message, the second is forced. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { ClaimedJob, Store } from '../../store.ts'
import {
  boom,
  cancel,
  lease,
  message,
  newJob,
  park,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  restAt,
  stateOf,
  takeOne,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

/** A checkpoint at which the machine handles a cancel. */
const ready = (number: number) => ({ ...plainCheckpoint(number), takesCancel: true })

/** A running job whose machine handles a cancel at its last checkpoint. */
async function cancellable(store: Store, id: string): Promise<ClaimedJob> {
  const job = await putAndTake(store, id)
  await write(store, job, ready(1))
  return job
}

const eventsOf = async (store: Store, id: string) =>
  (await recordOf(store, id)).history.map(({ event, from, to }) => `${event}: ${from} → ${to}`)

export const gentleCancelCases: Cases = {
  'a machine that handles a cancel gets a message first, and continues to run': async ({ store }) => {
    const job = await cancellable(store, 'a')
    const answer = await cancel(store, ['a'], 'enough')
    assert.deepEqual(answer, { cancelled: [], cancelling: ['a'], notFound: [], finished: [], transitions: [] })
    const { state, cancelReason, inbox } = await recordOf(store, 'a')
    assert.deepEqual([state, cancelReason], ['running', 'enough'])
    assert.deepEqual(
      inbox.map((mail) => mail.message),
      [{ kind: 'cancel', reason: 'enough', generation: 1 }],
    )
    const [heartbeat] = await store.extend({
      worker: 'w1',
      leaseMs: 30_000,
      heartbeats: [{ ...lease(job), lastMessageNumber: 0 }],
    })
    assert.deepEqual(heartbeat, { outcome: 'extended', inbox })
    const kept = await write(store, job, { ...ready(2), read: 1 })
    assert.deepEqual([kept.outcome, kept.reason, kept.graceMs, kept.inbox], ['kept', undefined, undefined, []])
  },
  'a cancel without a reason is a message without one': async ({ store }) => {
    await cancellable(store, 'a')
    await cancel(store, ['a'])
    assert.deepEqual((await recordOf(store, 'a')).inbox[0]?.message, { kind: 'cancel', reason: null, generation: 1 })
    assert.equal((await cancel(store, ['a']))?.transitions[0]?.event, 'CANCEL', 'and marks the job all the same')
  },
  'a machine that waits is woken by its cancel if a deployment lets it handle one, and only then': async ({
    store,
  }) => {
    await park(store, await putAndTake(store, 'a'), plainCheckpoint(1))
    await park(store, await putAndTake(store, 'b'), ready(1))
    for (const [id, takesCancel] of [['a', true] as const, ['b', false] as const]) {
      const standing = { states: [], tags: [], takesCancel }
      await store.reindex([{ id, checkpoint: 1, standing, unsupported: null }])
      assert.equal((await recordOf(store, id)).takesCancel, takesCancel)
    }
    await cancel(store, ['a', 'b'])
    assert.deepEqual([await stateOf(store, 'a'), await stateOf(store, 'b')], ['queued', 'cancelled'])
  },
  'a machine that waits is woken by its cancel': async ({ store }) => {
    await park(store, await putAndTake(store, 'a'), ready(1))
    const answer = await cancel(store, ['a'], 'enough')
    assert.deepEqual([answer?.cancelled, answer?.cancelling, answer?.finished], [[], ['a'], []])
    assert.deepEqual(
      answer?.transitions.map(({ event, from, to }) => [event, from, to]),
      [['WAKE', 'waiting', 'queued']],
    )
    const job = await takeOne(store, { token: 't2' })
    assert.deepEqual(job.inbox[0]?.message, { kind: 'cancel', reason: 'enough', generation: 1 })
  },
  'a machine that is retrying, scheduled or queued reads the message when it runs': async ({ store }) => {
    const ends = { retrying: 'FAIL', scheduled: 'SNOOZE', queued: 'RELEASE' } as const
    for (const [state, event] of Object.entries(ends)) {
      const job = await cancellable(store, state)
      await store.settle([{ ...lease(job), event, to: 'done', delayMs: 60_000 }])
      const answer = await cancel(store, [state], 'enough')
      assert.deepEqual([answer?.cancelling, answer?.transitions], [[state], []])
      assert.deepEqual([await stateOf(store, state), (await recordOf(store, state)).lastMessageNumber], [state, 1])
    }
  },
  'a second cancel is forced': async ({ store }) => {
    const job = await cancellable(store, 'a')
    await cancel(store, ['a'], 'first')
    const [second] = await store.cancel([{ ids: ['a'], reason: 'second', graceMs: 1 }])
    assert.deepEqual(
      [second?.cancelling, second?.transitions[0]?.to, second?.transitions[0]?.reason],
      [['a'], 'cancelling', 'second'],
    )
    const { cancelReason, lastMessageNumber: messages } = await recordOf(store, 'a')
    assert.deepEqual([cancelReason, messages], ['second', 1])
    const kept = await write(store, job, ready(2))
    assert.deepEqual([kept.outcome, kept.reason, kept.graceMs], ['cancelling', 'second', 1])
    await park(store, await cancellable(store, 'b'), ready(2))
    await cancel(store, ['b'])
    const again = await cancel(store, ['b'])
    assert.deepEqual(
      [again?.cancelled, again?.transitions[0]?.from, again?.transitions[0]?.to],
      [['b'], 'queued', 'cancelled'],
    )
  },
  'the last checkpoint decides whether a cancel is a message': async ({ store }) => {
    const job = await cancellable(store, 'a')
    await write(store, job, plainCheckpoint(2))
    assert.equal((await cancel(store, ['a']))?.transitions[0]?.to, 'cancelling')
    const other = await putAndTake(store, 'b')
    await write(store, other, plainCheckpoint(1))
    await store.settle([{ ...lease(other), event: 'RELEASE', to: 'queued', checkpoint: ready(2) }])
    assert.deepEqual((await cancel(store, ['b']))?.transitions, [])
  },
  'a machine that completes by handling its cancel is cancelled: CANCEL, then COMPLETE': async ({ store }) => {
    const job = await cancellable(store, 'a')
    await cancel(store, ['a'], 'enough')
    const settlement = {
      ...lease(job),
      event: 'COMPLETE',
      to: 'done',
      output: 1,
      cancelTaken: true,
      checkpoint: { ...plainCheckpoint(2), read: 1 },
    } as const
    const [answer] = await store.settle([settlement])
    assert.deepEqual([answer?.from, answer?.to, answer?.attempt], ['cancelling', 'cancelled', 1])
    const { state, output, cancelReason, history, finishedAt } = await recordOf(store, 'a')
    assert.deepEqual([state, output, cancelReason, finishedAt], ['cancelled', undefined, 'enough', answer?.at])
    assert.deepEqual((await eventsOf(store, 'a')).slice(2), [
      'CANCEL: running → cancelling',
      'COMPLETE: cancelling → cancelled',
    ])
    assert.deepEqual([history[2]?.reason, history.at(-1)?.seq], ['enough', answer?.seq])
    const { transitions } = await store.transitions(null, 100)
    assert.deepEqual(
      transitions.slice(-3).map(({ event }) => event),
      ['CHECKPOINT', 'CANCEL', 'COMPLETE'],
    )
    assert.deepEqual((await store.settle([settlement]))[0], answer)
    assert.equal((await store.counts()).cancelled, 1)
  },
  'one that completes without having taken its cancel is done: the cancel came too late': async ({ store }) => {
    const unread = await cancellable(store, 'unread')
    await cancel(store, ['unread'], 'enough')
    const [done] = await store.settle([{ ...lease(unread), event: 'COMPLETE', to: 'done', output: 1 }])
    assert.deepEqual([done?.from, done?.to], ['running', 'done'])
    const { state, output, cancelReason } = await recordOf(store, 'unread')
    assert.deepEqual([state, output, cancelReason], ['done', 1, 'enough'])
    const read = await cancellable(store, 'read')
    await cancel(store, ['read'])
    const checkpoint = { ...plainCheckpoint(2), read: 1 }
    const [answer] = await store.settle([{ ...lease(read), event: 'COMPLETE', to: 'done', checkpoint }])
    assert.equal(answer?.to, 'done')
  },
  'it completes after its cancel in a later attempt, too': async ({ store }) => {
    await park(store, await cancellable(store, 'a'), ready(2))
    await cancel(store, ['a'], 'enough')
    await park(store, await takeOne(store, { token: 't2' }), { ...ready(3), read: 1 })
    await store.send([message('a', 'l1')])
    const job = await takeOne(store, { token: 't3' })
    const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', cancelTaken: true }])
    assert.equal(answer?.to, 'cancelled')
  },
  'every other end of it is as without a cancel': async ({ store, advance }) => {
    const ends = { FAIL: 'retrying', SNOOZE: 'scheduled', RELEASE: 'queued', PARK: 'queued' } as const
    for (const [event, to] of Object.entries(ends) as [keyof typeof ends, (typeof ends)[keyof typeof ends]][]) {
      const job = await cancellable(store, event)
      await cancel(store, [event])
      const [answer] = await store.settle([{ ...lease(job), event, to: 'done', delayMs: 60_000 }])
      assert.deepEqual([answer?.from, answer?.to], ['running', event === 'PARK' ? 'waiting' : to])
      assert.equal(await stateOf(store, event), to)
      await cancel(store, [event])
    }
    const dying = await cancellable(store, 'dying')
    await cancel(store, ['dying'])
    const [dead] = await store.settle([{ ...lease(dying), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
    assert.equal(dead?.to, 'dead')
    await cancellable(store, 'expiring')
    await cancel(store, ['expiring'])
    await advance(30_000)
    assert.equal((await store.rescue(10)).transitions[0]?.to, 'queued')
  },
  'a retry forgets the cancel, and the machine takes the next one again': async ({ store }) => {
    const job = await cancellable(store, 'a')
    await cancel(store, ['a'], 'first')
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', cancelTaken: true }])
    await store.retry(['a'])
    assert.equal((await recordOf(store, 'a')).cancelReason, null)
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual((await cancel(store, ['a'], 'second'))?.transitions, [])
    assert.deepEqual([again.checkpoint, (await recordOf(store, 'a')).lastMessageNumber], [restAt(1), 2])
    const other = await cancellable(store, 'b')
    await cancel(store, ['b'])
    await store.settle([{ ...lease(other), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
    await store.retry(['b'])
    const last = await takeOne(store, { token: 't3' })
    const [answer] = await store.settle([{ ...lease(last), event: 'COMPLETE', to: 'done', cancelTaken: true }])
    assert.equal(answer?.to, 'done', 'nobody has cancelled this life of it')
  },
  'a full inbox has room for it': async ({ store }) => {
    await cancellable(store, 'a')
    await store.send(Array.from({ length: caps.inbox }, (_, i) => message('a', `l${i}`)))
    await cancel(store, ['a'])
    assert.equal((await recordOf(store, 'a')).inbox.at(-1)?.message.kind, 'cancel')
  },
  'supersede is by force at once': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await write(store, job, ready(1))
    const [answer] = await put(store, newJob('b', { key: 'k', onConflict: 'supersede' }))
    assert.deepEqual([answer?.superseded?.to, (await recordOf(store, 'a')).lastMessageNumber], ['cancelling', 0])
  },
  'the message to a running machine is told of': async ({ store }) => {
    await cancellable(store, 'a')
    await hinted(store, 'messages', '"a"', () => cancel(store, ['a']))
    await hinted(store, 'cancelled', '"a"', () => cancel(store, ['a']))
  },
}
