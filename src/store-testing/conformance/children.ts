/** Child jobs: the messages that their parents get. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { Gather, InboxMessage } from '../../core/machine-record.ts'
import type { SettleAnswer, Store } from '../../store.ts'
import {
  boom,
  cancel,
  idsOf,
  lease,
  message,
  newJob,
  park,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  stateOf,
  take,
  takeOne,
} from './acts.ts'
import { child, family, lettersTo, takeChild } from './family.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

/** Parks `p` so that it gathers. */
async function gathering(store: Store, gather: Gather, delayMs?: number): Promise<void> {
  const job = await putAndTake(store, 'p')
  const parking = { ...lease(job), event: 'PARK', to: 'waiting', checkpoint: plainCheckpoint(1), gather } as const
  await store.settle([delayMs === undefined ? parking : { ...parking, delayMs }])
}

/** Ends children of `p`, one by one. */
async function childrenEnd(store: Store, ids: readonly string[]): Promise<(SettleAnswer | undefined)[]> {
  const answers: (SettleAnswer | undefined)[] = []
  for (const id of ids) {
    await put(store, child(id))
    const [answer] = await store.settle([{ ...lease(await takeChild(store)), event: 'COMPLETE', to: 'done' }])
    answers.push(answer)
  }
  return answers
}

export const childrenCases: Cases = {
  'a job keeps its parent': async ({ store }) => {
    await put(store, child('c', { parent: { id: 'p', checkins: true } }))
    const job = await takeChild(store)
    assert.deepEqual((await recordOf(store, 'c')).parent, { id: 'p', checkins: true })
    assert.deepEqual(job.record().parent, { id: 'p', checkins: true })
  },
  'the end of a child is a message to its parent, in the same write': async ({ store }) => {
    const output = JSON.parse('{ "list": [1], "__proto__": { "polluted": 1 } }')
    const ends = {
      done: [{ event: 'COMPLETE', output }, { output }],
      silent: [{ event: 'COMPLETE' }, {}],
      dead: [{ event: 'FAIL', fatal: true, error: boom }, { error: boom }],
    } as const
    await putAndTake(store, 'p')
    const told: InboxMessage[] = []
    for (const [id, [end, says]] of Object.entries(ends)) {
      await put(store, child(id))
      const [answer] = await store.settle([{ ...lease(await takeChild(store)), to: 'done', ...end }])
      told.push({ kind: 'ended', child: id, state: id === 'dead' ? 'dead' : 'done', ...says })
      assert.deepEqual([answer?.outcome, answer?.woken], ['settled', undefined])
    }
    await put(store, child('cancelled'), child('without reason'))
    await cancel(store, ['cancelled'], 'enough')
    await cancel(store, ['without reason'])
    told.push({ kind: 'ended', child: 'cancelled', state: 'cancelled', reason: 'enough' })
    told.push({ kind: 'ended', child: 'without reason', state: 'cancelled' })
    const messages = await lettersTo(store, 'p')
    assert.deepEqual(messages, told)
    assert.equal(JSON.stringify(messages[0]), JSON.stringify(told[0]))
    assert.equal((await recordOf(store, 'p')).lastMessageNumber, 5)
  },
  'a parent that gathers is woken when enough children have ended': async ({ store }) => {
    await gathering(store, { messages: 2, ms: 10_000 })
    const ends = await childrenEnd(store, ['c1', 'c2', 'c3'])
    assert.deepEqual(
      ends.map((answer) => answer?.woken?.event),
      [undefined, 'WAKE', undefined],
    )
    assert.deepEqual([await stateOf(store, 'p'), (await recordOf(store, 'p')).dueAt], ['queued', null])
  },
  'a parent that gathers is due a fixed time after the first end, and later ends do not postpone it': async ({
    store,
    advance,
  }) => {
    await gathering(store, { messages: 9, ms: 10_000 })
    await childrenEnd(store, ['c1'])
    const { state, dueAt } = await recordOf(store, 'p')
    assert.equal(state, 'waiting')
    await advance(4_000)
    await childrenEnd(store, ['c2'])
    assert.equal((await recordOf(store, 'p')).dueAt, dueAt)
    await advance(6_000)
    assert.deepEqual(
      (await store.promote(10)).transitions.map(({ id, event }) => [id, event]),
      [['p', 'WAKE']],
    )
  },
  'a parent that gathers keeps its own due time if that is earlier, and any other message wakes it at once': async ({
    store,
  }) => {
    await gathering(store, { messages: 9, ms: 10_000 }, 1_000)
    const { dueAt } = await recordOf(store, 'p')
    await childrenEnd(store, ['c1'])
    assert.equal((await recordOf(store, 'p')).dueAt, dueAt)
    assert.equal((await store.send([message('p', 'l1')]))[0]?.transition?.event, 'WAKE')
  },
  'messages that arrived while a parent ran are gathered, unless they are too many or of another kind': async ({
    store,
  }) => {
    const gather = { messages: 2, ms: 10_000 }
    const run = await putAndTake(store, 'p')
    await childrenEnd(store, ['c1'])
    const parking = { event: 'PARK', to: 'waiting', gather } as const
    const [alone] = await store.settle([{ ...lease(run), ...parking }])
    assert.equal(alone?.woken, undefined)
    await store.send([message('p', 'l1')])
    const next = await takeOne(store, { token: 't2' })
    const [other] = await store.settle([{ ...lease(next), ...parking, gather: { ...gather, messages: 9 } }])
    assert.equal(other?.woken?.event, 'WAKE')
  },
  'a child that is retried, parked or released sends no message: only its end does': async ({ store }) => {
    await putAndTake(store, 'p')
    await put(store, child('c', { maxAttempts: 2 }))
    const run = async (token: string) => lease(await takeChild(store, token))
    await store.settle([{ ...(await run('t1')), event: 'RELEASE', to: 'queued' }])
    await store.settle([{ ...(await run('t2')), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }])
    await store.promote(10)
    await store.settle([{ ...(await run('t3')), event: 'PARK', to: 'waiting' }])
    await store.send([message('c', 'l1')])
    assert.deepEqual(await lettersTo(store, 'p'), [])
    const error = { name: 'Error', message: 'the last straw' }
    await store.settle([{ ...(await run('t4')), event: 'FAIL', fatal: true, to: 'dead', error }])
    assert.deepEqual(await lettersTo(store, 'p'), [{ kind: 'ended', child: 'c', state: 'dead', error }])
  },
  'the end of a child wakes a waiting parent, and the answer to the settlement has the WAKE': async ({ store }) => {
    const job = await family(store)
    const settlement = { ...lease(job), event: 'COMPLETE', to: 'done', output: 1 } as const
    const [answer] = await store.settle([settlement])
    assert.deepEqual([answer?.from, answer?.to], ['running', 'done'])
    const { id, type, event, from, to, seq = 0 } = answer?.woken ?? {}
    assert.deepEqual([id, type, event, from, to], ['p', 'mail', 'WAKE', 'waiting', 'queued'])
    assert.ok(seq > (answer?.seq ?? Infinity))
    assert.deepEqual((await store.settle([settlement]))[0], answer)
    const [mail] = (await takeOne(store, { token: 't2' })).inbox
    assert.deepEqual(mail?.message, { kind: 'ended', child: 'c', state: 'done', output: 1 })
  },
  'a rescue and a cancel that end a child wake its parent, and their answers have the WAKE': async ({
    store,
    advance,
  }) => {
    await family(store, { maxAttempts: 1 })
    await advance(30_000)
    const { transitions, more } = await store.rescue(1)
    assert.deepEqual(
      transitions.map(({ id, event, to }) => [id, event, to]),
      [
        ['c', 'EXPIRE', 'dead'],
        ['p', 'WAKE', 'queued'],
      ],
    )
    assert.equal(more, true, 'one job was taken back, as many as were asked for')
    const [ended] = await lettersTo(store, 'p')
    assert.equal(ended?.kind === 'ended' && ended.error?.code, 'LEASE_LOST')
    await park(store, await takeOne(store, { token: 't2' }), { ...plainCheckpoint(1), read: 1 })
    await put(store, child('d'))
    const answer = await cancel(store, ['d'])
    assert.deepEqual(
      [answer?.cancelled, answer?.transitions.map(({ id, event }) => `${id} ${event}`)],
      [['d'], ['d CANCEL', 'p WAKE']],
    )
  },
  'a rescue that queues a child again sends no message': async ({ store, advance }) => {
    await family(store)
    await advance(30_000)
    assert.deepEqual(idsOf((await store.rescue(10)).transitions), ['c'])
    assert.deepEqual([await lettersTo(store, 'p'), await stateOf(store, 'p')], [[], 'waiting'])
  },
  'a child ends like any job if its parent was removed, has ended, or never existed': async ({ store }) => {
    await put(store, newJob('p'), child('c'), child('orphan', { parent: { id: 'nobody', checkins: true } }))
    await cancel(store, ['p'])
    const complete = { event: 'COMPLETE', to: 'done' } as const
    const [first, second] = await take(store, { type: 'child' })
    // The first was cancelled with its parent. Left are the orphan, and a child that is inserted after its parent has
    // ended.
    assert.deepEqual([first?.id, second], ['orphan', undefined])
    await put(store, child('late'))
    await store.discard(['c'])
    const late = await takeChild(store, 'late')
    for (const job of [first, late]) {
      assert.ok(job)
      const [answer] = await store.settle([{ ...lease(job), ...complete, checkin: { at: 1, value: 1 } }])
      assert.deepEqual([answer?.outcome, answer?.woken], ['settled', undefined])
    }
    assert.deepEqual([await stateOf(store, 'p'), (await recordOf(store, 'p')).lastMessageNumber], ['cancelled', 0])
  },
  'a parent that is inserted after its child gets the message of its end': async ({ store }) => {
    await put(store, child('c'))
    const job = await takeChild(store)
    await putAndTake(store, 'p')
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal((await lettersTo(store, 'p')).length, 1)
  },
  'a child that is retried after its end sends a message for each end': async ({ store }) => {
    await putAndTake(store, 'p')
    await put(store, child('c'))
    await cancel(store, ['c'])
    await store.retry(['c'])
    await store.settle([{ ...lease(await takeChild(store)), event: 'COMPLETE', to: 'done' }])
    const states = (await lettersTo(store, 'p')).map((each) => each.kind === 'ended' && each.state)
    assert.deepEqual(states, ['cancelled', 'done'])
  },
  'a full inbox takes the end of a child, but not its check-ins': async ({ store }) => {
    await putAndTake(store, 'p')
    await put(store, child('c', { parent: { id: 'p', checkins: true } }))
    const job = await takeChild(store)
    await store.send(Array.from({ length: caps.inbox }, (_, i) => message('p', `l${i}`)))
    const checkin = { at: 1, value: 1 }
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [{ ...lease(job), checkin }] })
    assert.equal((await recordOf(store, 'p')).lastMessageNumber, caps.inbox)
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', checkin }])
    const { inbox, lastMessageNumber: messages } = await recordOf(store, 'p')
    assert.deepEqual([inbox.length, messages, inbox.at(-1)?.message.kind], [caps.inbox + 1, caps.inbox + 1, 'ended'])
    assert.deepEqual((await recordOf(store, 'c')).checkin, checkin)
  },
  'check-ins of a child are messages to a parent that has asked for them': async ({ store }) => {
    const job = await family(store, { parent: { id: 'p', checkins: true } })
    const heartbeat = { ...lease(job), checkin: { at: 1, value: { half: true } } }
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [heartbeat] })
    assert.equal(await stateOf(store, 'p'), 'queued')
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [{ ...heartbeat, token: 'stolen' }, lease(job)] })
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', checkin: { at: 2, value: 'all' } }])
    assert.deepEqual(await lettersTo(store, 'p'), [
      { kind: 'checkin', child: 'c', value: { half: true } },
      { kind: 'checkin', child: 'c', value: 'all' },
      { kind: 'ended', child: 'c', state: 'done' },
    ])
  },
  'a check-in that comes with a settlement wakes the parent, too': async ({ store }) => {
    const job = await family(store, { parent: { id: 'p', checkins: true } })
    const failure = { event: 'FAIL', to: 'retrying', delayMs: 60_000, error: boom } as const
    const [answer] = await store.settle([{ ...lease(job), ...failure, checkin: { at: 1, value: 1 } }])
    assert.deepEqual([answer?.to, answer?.woken?.id, answer?.woken?.event], ['retrying', 'p', 'WAKE'])
    assert.deepEqual(await lettersTo(store, 'p'), [{ kind: 'checkin', child: 'c', value: 1 }])
  },
  'check-ins of a child are not sent to a parent that has not asked for them': async ({ store }) => {
    const job = await family(store)
    const checkin = { at: 1, value: 1 }
    await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [{ ...lease(job), checkin }] })
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom, checkin }])
    assert.deepEqual([await lettersTo(store, 'p'), await stateOf(store, 'p')], [[], 'waiting'])
  },
  'messages of children to a running parent are hinted, and those that wake it make its type ready': async ({
    store,
  }) => {
    await putAndTake(store, 'p')
    await put(store, child('c', { parent: { id: 'p', checkins: true } }))
    const job = await takeChild(store)
    const heartbeat = { ...lease(job), checkin: { at: 1, value: 1 } }
    const checkIn = () => store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats: [heartbeat] })
    await hinted(store, 'messages', '"p"', checkIn)
    await hinted(store, 'messages', '"p"', () => store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]))
    await park(store, await putAndTake(store, 'q'))
    await put(
      store,
      child('d', { parent: { id: 'q', checkins: true } }),
      child('e', { parent: { id: 'q', checkins: false } }),
    )
    const [d] = await take(store, { type: 'child', max: 1 })
    assert.ok(d)
    const heartbeats = [{ ...lease(d), checkin: { at: 1, value: 1 } }]
    await hinted(store, 'ready', '"mail"', () => store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats }))
    await park(store, await takeOne(store, { token: 't2' }), { ...plainCheckpoint(1), read: 1 })
    await hinted(store, 'ready', '"mail"', () => cancel(store, ['e']))
  },
}
