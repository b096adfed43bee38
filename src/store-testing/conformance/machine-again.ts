/** Where a machine starts: from the checkpoint of another, from its own in a second life, or anew. */
import assert from 'node:assert/strict'
import {
  takeOne,
  boom,
  cancel,
  changeMatching,
  lease,
  message,
  newJob,
  recordOf,
  plainCheckpoint,
  restAt,
  prune,
  saveSteps,
  put,
  putAndTake,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'

export const machineAgainCases: Cases = {
  'a new job may start from the checkpoint of another': async ({ store }) => {
    const [answer] = await put(store, newJob('a', { checkpoint: { of: 'another' } }))
    const { seq = 0, at = 0 } = answer ?? {}
    assert.deepEqual(await store.checkpoints('a'), [{ number: 1, state: { of: 'another' }, seq, at, note: 'fork' }])
    assert.equal((await store.transitions(null, 100)).transitions.length, 1)
    const job = await takeOne(store)
    assert.deepEqual(job.checkpoint, { number: 1, state: { of: 'another' } })
    assert.equal(
      (await cancel(store, ['a']))?.transitions[0]?.to,
      'cancelling',
      'nobody knows whether it takes a cancel',
    )
    assert.equal((await write(store, job, plainCheckpoint(2))).outcome, 'cancelling')
  },
  'a retry goes on at the checkpoint, with the messages that are left': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send([message('a', 'l1'), message('a', 'l2')])
    await write(store, job, { ...plainCheckpoint(1), read: 1 })
    await store.settle([{ ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
    await store.retry(['a'])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual([again.checkpoint, again.inbox.map(({ number }) => number)], [restAt(1), [2]])
    assert.equal((await store.checkpoints('a')).length, 1)
    await write(store, again, plainCheckpoint(2))
  },
  'a retry at the checkpoint keeps the steps, one from the start forgets them': async ({ store }) => {
    for (const fromStart of [false, true]) {
      const id = `from start: ${fromStart}`
      const job = await putAndTake(store, id)
      await write(store, job, plainCheckpoint(1))
      await saveSteps(store, job, { charge: 1 })
      await store.settle([{ ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
      await store.retry([id], fromStart)
      const again = await takeOne(store, { token: 't2' })
      assert.deepEqual(again.steps, fromStart ? null : { charge: 1 })
      await store.settle([{ ...lease(again), event: 'COMPLETE', to: 'done' }])
    }
  },
  'a retry may drop the oldest unread messages: so many, or all there are, and their numbers do not come again':
    async ({ store }) => {
      const job = await putAndTake(store, 'a')
      await store.send([message('a', 'l1'), message('a', 'l2'), message('a', 'l3'), message('a', 'l4')])
      await write(store, job, { ...plainCheckpoint(1), read: 1 })
      const failing = { event: 'FAIL', fatal: true, to: 'dead', error: boom } as const
      await store.settle([{ ...lease(job), ...failing }])
      await store.retry(['a'], false, 2)
      const again = await takeOne(store, { token: 't2' })
      assert.deepEqual(
        again.inbox.map(({ number }) => number),
        [4],
      )
      await store.settle([{ ...lease(again), ...failing }])
      await store.retry(['a'], false, 9)
      assert.deepEqual((await recordOf(store, 'a')).inbox, [])
      await store.send([message('a', 'l5')])
      assert.deepEqual(
        (await recordOf(store, 'a')).inbox.map(({ number }) => number),
        [5],
      )
    },
  'a retry from the start forgets checkpoints and messages, and numbers messages on': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send([message('a', 'l1'), message('a', 'l2')])
    await write(store, job, { ...plainCheckpoint(1), takesCancel: true })
    await store.settle([{ ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
    assert.deepEqual((await store.retry(['a'], true)).retried, ['a'])
    assert.deepEqual(await store.checkpoints('a'), [])
    await store.send([message('a', 'l1'), message('a', 'l3')])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual([again.checkpoint, again.inbox.map(({ number }) => number)], [null, [3]])
    assert.equal((await cancel(store, ['a']))?.transitions[0]?.to, 'cancelling')
    await write(store, again, plainCheckpoint(1))
    assert.equal((await recordOf(store, 'a')).lastMessageNumber, 3)
  },
  'replace leaves the attempts that led to a checkpoint as they were': async ({ store }) => {
    await put(store, newJob('a', { key: 'k' }))
    const first = await takeOne(store)
    await store.settle([{ ...lease(first), event: 'FAIL', to: 'retrying', error: boom, delayMs: 0 }])
    await store.promote(10)
    const second = await takeOne(store, { token: 't2' })
    assert.equal((await write(store, second, plainCheckpoint(1))).maxAttempts, 4)
    await store.settle([{ ...lease(second), event: 'FAIL', to: 'retrying', error: boom, delayMs: 0 }])
    await put(store, newJob('b', { key: 'k', input: 'new', onConflict: 'replace' }))
    const { attempt, maxAttempts } = await recordOf(store, 'a')
    assert.deepEqual({ attempt, maxAttempts }, { attempt: 2, maxAttempts: 4 })
  },
  'replace makes a machine start anew, and numbers messages on': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await store.send([message('a', 'l1')])
    await write(store, job, plainCheckpoint(1))
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    await put(store, newJob('b', { key: 'k', input: 'new', onConflict: 'replace' }))
    assert.deepEqual(await store.checkpoints('a'), [])
    await store.send([message('a', 'l2')])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual([again.input, again.checkpoint, again.inbox.map(({ number }) => number)], ['new', null, [2]])
    await write(store, again, plainCheckpoint(1))
  },
  'of a job that is discarded or pruned nothing is left': async ({ store }) => {
    const now = { ageMs: 0, count: 0 }
    const removals = [
      async () => store.discard(['a']),
      async () => prune(store, { done: now, dead: now, cancelled: now }, 10),
    ]
    for (const remove of removals) {
      const job = await putAndTake(store, 'a')
      await store.send([message('a', 'l1'), message('a', 'l2')])
      await write(store, job, { ...plainCheckpoint(1), read: 1 })
      await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
      await remove()
      assert.deepEqual([await store.get(['a']), await store.checkpoints('a')], [[null], []])
      await put(store, newJob('a'))
      const { checkpoint, inbox, lastMessageNumber } = await recordOf(store, 'a')
      assert.deepEqual([checkpoint, inbox, lastMessageNumber, await store.checkpoints('a')], [null, [], 0, []])
      assert.equal((await store.send([message('a', 'l1')]))[0]?.outcome, 'kept')
      await cancel(store, ['a'])
      await changeMatching(store, 'discard', {})
    }
  },
}
