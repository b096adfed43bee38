/**
 * Events that a machine has read and no state has taken yet: they stay in the inbox. And events that are dropped: the
 * log says so.
 */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { NewCheckpoint } from '../../core/machine-record.ts'
import type { SendRequest, Store } from '../../store.ts'
import {
  boom,
  cancel,
  lease,
  newJob,
  park,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  stateOf,
  takeOne,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'

/** An event that names its key, as that of a caller does. */
const keyed = (id: string, key: string): SendRequest => ({
  id,
  key,
  expect: null,
  message: { kind: 'event', event: { type: key.toUpperCase() }, key, keepMs: 60_000 },
})

const send = (store: Store, id: string, ...keys: readonly string[]) => store.send(keys.map((key) => keyed(id, key)))

const outcome = async (store: Store, id: string, key: string) => (await send(store, id, key))[0]?.outcome

/** Numbers of the messages in the inbox, and of the deferred ones. */
async function inboxOf(store: Store, id: string): Promise<[number[], readonly number[]]> {
  const { inbox, deferred } = await recordOf(store, id)
  return [inbox.map(({ number }) => number), deferred]
}

const messagesOf = async (store: Store, id: string): Promise<string[]> =>
  (await recordOf(store, id)).logs.map(({ message }) => message)

const defers = (number: number, read: number, deferred: readonly number[]): NewCheckpoint => ({
  ...plainCheckpoint(number),
  read,
  deferred,
})

/** The events that a line of a log says were dropped. */
const droppedIn = ({ fields }: { readonly fields?: unknown }): readonly { readonly at: number }[] =>
  (fields as { readonly dropped: readonly { readonly at: number }[] }).dropped

const dead = { event: 'FAIL', fatal: true, to: 'dead', error: boom } as const

export const deferredCases: Cases = {
  'a deferred event stays in the inbox in its order, and the unread ones are told apart': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    assert.deepEqual((await recordOf(store, 'a')).deferred, [])
    await send(store, 'a', 'a', 'b', 'c', 'd', 'e')
    const answer = await write(store, job, defers(1, 4, [1, 3]))
    assert.deepEqual(
      answer.inbox.map(({ number }) => number),
      [5],
      'the answer has the unread ones alone',
    )
    assert.deepEqual(await inboxOf(store, 'a'), [
      [1, 3, 5],
      [1, 3],
    ])
    await write(store, job, defers(2, 5, [3, 5]))
    assert.deepEqual(await inboxOf(store, 'a'), [
      [3, 5],
      [3, 5],
    ])
    await send(store, 'a', 'f')
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual(
      again.inbox.map(({ number, message }) => [number, message]),
      [
        [3, keyed('a', 'c').message],
        [5, keyed('a', 'e').message],
        [6, keyed('a', 'f').message],
      ],
    )
    await write(store, again, { ...plainCheckpoint(3), read: 6 })
    assert.deepEqual(await inboxOf(store, 'a'), [[], []])
  },
  'a deferred event wakes nobody; a new message does': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b')
    const { woken } = await park(store, job, defers(1, 2, [1, 2]))
    assert.deepEqual([woken, await stateOf(store, 'a')], [undefined, 'waiting'])
    await advance(3_600_000)
    assert.deepEqual((await store.promote(10)).transitions, [])
    await send(store, 'a', 'c')
    assert.equal(await stateOf(store, 'a'), 'queued')
    assert.equal((await takeOne(store, { token: 't2' })).inbox.length, 3)
  },
  'a deferred event does not count among the messages that are gathered': async ({ store }) => {
    const job = await putAndTake(store, 'p')
    await send(store, 'p', 'a', 'b')
    const gather = { messages: 2, ms: 60_000 }
    await put(store, newJob('k', { type: 'kid', parent: { id: 'p', checkins: false } }))
    await store.settle([{ ...lease(job), event: 'PARK', to: 'waiting', gather, checkpoint: defers(1, 2, [1, 2]) }])
    await cancel(store, ['k'])
    assert.equal(await stateOf(store, 'p'), 'waiting', 'one message of two')
  },
  'deferred events fill the inbox with the unread ones': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const keys = Array.from({ length: caps.inbox }, (_, i) => `k${i}`)
    await send(store, 'a', ...keys)
    await write(store, job, defers(1, caps.inbox, [1, 2, 3]))
    await send(store, 'a', ...keys.slice(3).map((key) => `x${key}`))
    assert.equal(await outcome(store, 'a', 'one-more'), 'full')
  },
  'the key of a deferred event stays taken; that of one that was taken, too': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b')
    await write(store, job, defers(1, 2, [1]))
    assert.deepEqual([await outcome(store, 'a', 'a'), await outcome(store, 'a', 'b')], ['duplicate', 'duplicate'])
  },
  'an event that a checkpoint drops leaves a line in the log, and frees its key': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b', 'c')
    const dropping = { ...defers(1, 3, [2]), dropped: [{ number: 1, why: 'not taken' }] } as const
    await write(store, job, dropping)
    await write(store, job, dropping)
    const [line, ...others] = (await recordOf(store, 'a')).logs
    assert.deepEqual(others, [], 'the same checkpoint again is no other')
    assert.match(line?.message ?? '', /an event was dropped: .* does not take it: A$/)
    assert.equal(line?.attempt, 1)
    const { at, ...fields } = droppedIn(line ?? {})[0] ?? { at: 0 }
    assert.deepEqual([fields, at <= store.now()], [{ number: 1, type: 'A', key: 'a' }, true])
    assert.deepEqual([await outcome(store, 'a', 'c'), await outcome(store, 'a', 'a')], ['duplicate', 'kept'])
    const expired = { ...defers(2, 3, []), dropped: [{ number: 2, why: 'expired' }] } as const
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued', checkpoint: expired }])
    assert.match((await messagesOf(store, 'a')).at(-1) ?? '', /in the time that it was kept: B$/)
    assert.deepEqual([await inboxOf(store, 'a'), await outcome(store, 'a', 'b')], [[[4], []], 'kept'])
  },
  'a machine that ends drops what is left, with a line': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b', 'c')
    await write(store, job, defers(1, 2, [1]))
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(await messagesOf(store, 'a'), ['2 events were dropped: the machine has ended: A, C'])
    assert.deepEqual(await inboxOf(store, 'a'), [[], []])
    assert.equal(await outcome(store, 'a', 'c'), 'ended', 'its key is free')
  },
  'of many events that are dropped together the line names some': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', ...Array.from({ length: 300 }, (_, i) => `k${i}`))
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    const [line] = (await recordOf(store, 'a')).logs
    assert.match(line?.message ?? '', /^300 events were dropped: .*: K0, K1, .* and 280 more$/)
    assert.equal(droppedIn(line ?? {}).length, 20)
  },
  'a job that is dead or cancelled keeps its events, says so, and reads them when it is retried': async ({ store }) => {
    for (const id of ['dead', 'cancelled']) {
      const first = await putAndTake(store, id)
      await send(store, id, 'x', 'y')
      await park(store, first, defers(1, 1, [1]))
      const job = await takeOne(store, { token: `${id}2` })
      if (id === 'dead') await store.settle([{ ...lease(job), ...dead }])
      else {
        await cancel(store, [id])
        await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
      }
      const said = (await messagesOf(store, id)).at(-1) ?? ''
      assert.match(said, /^2 events stay in the inbox of the (dead|cancelled) job, and a retry delivers them: X, Y$/)
      assert.deepEqual(await inboxOf(store, id), [[1, 2], [1]])
      assert.deepEqual((await store.retry([id])).retried, [id])
      assert.equal((await takeOne(store, { token: `${id}3` })).inbox.length, 2)
    }
  },
  'a retry drops unread messages by their count, or messages by their numbers': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b', 'c', 'd', 'e')
    await store.settle([{ ...lease(job), ...dead, checkpoint: defers(1, 2, [1, 2]) }])
    await store.retry(['a'], false, 1)
    assert.deepEqual(await inboxOf(store, 'a'), [
      [1, 2, 4, 5],
      [1, 2],
    ])
    assert.match((await messagesOf(store, 'a')).at(-1) ?? '', /an event was dropped: a retry has dropped it: C/)
    await store.settle([{ ...lease(await takeOne(store, { token: 't2' })), ...dead }])
    await store.retry(['a'], false, [2, 4, 99])
    assert.deepEqual(await inboxOf(store, 'a'), [[1, 5], [1]])
    assert.deepEqual([await outcome(store, 'a', 'b'), await outcome(store, 'a', 'a')], ['kept', 'duplicate'])
    await store.settle([{ ...lease(await takeOne(store, { token: 't3' })), ...dead }])
    await store.retry(['a'], false, [6])
    assert.deepEqual(await inboxOf(store, 'a'), [[1, 5, 6], [1]], 'an unread one before it stays')
  },
  'a start from the beginning drops all, with a line': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b', 'c')
    await store.settle([{ ...lease(job), ...dead, checkpoint: defers(1, 2, [1]) }])
    await store.retry(['a'], true)
    assert.match((await messagesOf(store, 'a')).at(-1) ?? '', /^2 events were dropped: .* from its beginning: A, C$/)
    assert.deepEqual([await inboxOf(store, 'a'), await outcome(store, 'a', 'a')], [[[], []], 'kept'])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual(
      again.inbox.map(({ number }) => number),
      [4],
    )
  },
  'a checkpoint that defers what it has not read is refused': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await send(store, 'a', 'a', 'b')
    for (const refused of [defers(1, 1, [2]), defers(1, 2, [3]), defers(1, 9, [7])]) {
      const [answer] = await store.checkpoint([{ ...lease(job), checkpoint: refused }])
      assert.equal(answer?.outcome, 'failed')
    }
    await write(store, job, defers(1, 2, [1]))
    const [answer] = await store.checkpoint([{ ...lease(job), checkpoint: defers(2, 2, [2]) }])
    assert.deepEqual([answer?.outcome, await inboxOf(store, 'a')], ['failed', [[1], [1]]])
  },
}
