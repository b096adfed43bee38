/** Messages: who gets them, in which order, and whom they wake. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Store } from '../../store.ts'
import {
  boom,
  cancel,
  idsOf,
  lease,
  message,
  newJob,
  park,
  put,
  putAndEnd,
  putAndTake,
  recordOf,
  plainCheckpoint,
  stateOf,
  take,
  takeOne,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

const numbers = (inbox: readonly InboxEntry[] | undefined): number[] | undefined => inbox?.map(({ number }) => number)
const inboxOf = async (store: Store, id: string) => numbers((await recordOf(store, id)).inbox)

export const messageCases: Cases = {
  'messages are numbered in the order in which they come, whatever state their job is in': async ({ store }) => {
    const held = await putAndTake(store, 'a')
    const before = store.now()
    const event = JSON.parse('{ "type": "GO", "__proto__": { "polluted": [1] } }')
    const answers = await store.send([{ ...message('a', 'l1'), message: { kind: 'event', event } }, message('a', 'l2')])
    assert.deepEqual(answers, [
      { outcome: 'kept', state: 'running' },
      { outcome: 'kept', state: 'running' },
    ])
    await store.settle([{ ...lease(held), event: 'FAIL', to: 'retrying', delayMs: 60_000, error: boom }])
    assert.deepEqual(await store.send([message('a', 'l3')]), [{ outcome: 'kept', state: 'retrying' }])
    await put(store, newJob('b', { delayMs: 60_000 }), newJob('c'))
    const [scheduled, queued] = await store.send([message('b', 'l1'), message('c', 'l1')])
    assert.deepEqual([scheduled?.state, queued?.state], ['scheduled', 'queued'])
    const { inbox, lastMessageNumber: messages } = await recordOf(store, 'a')
    assert.deepEqual([numbers(inbox), messages], [[1, 2, 3], 3])
    assert.equal(JSON.stringify(inbox[0]?.message), JSON.stringify({ kind: 'event', event }))
    assert.ok((inbox[0]?.at ?? 0) >= before)
    assert.deepEqual([await inboxOf(store, 'b'), await inboxOf(store, 'c')], [[1], [1]])
  },
  'a claim hands out the messages that are not read, as copies': async ({ store }) => {
    await put(store, newJob('a'))
    await store.send([{ ...message('a', 'l1'), message: { kind: 'event', event: { list: [1] } } }])
    const { inbox } = await takeOne(store)
    const [mail] = inbox
    assert.deepEqual(mail?.message, { kind: 'event', event: { list: [1] } })
    const { event } = mail.message as { event: { list: number[] } }
    event.list.push(2)
    assert.deepEqual((await recordOf(store, 'a')).inbox[0]?.message, { kind: 'event', event: { list: [1] } })
  },
  'a checkpoint takes what it has read out of the inbox, and answers with the rest': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send(['l1', 'l2', 'l3', 'l4'].map((key) => message('a', key)))
    assert.deepEqual(numbers((await write(store, job, { ...plainCheckpoint(1), read: 2 })).inbox), [3, 4])
    assert.deepEqual(await inboxOf(store, 'a'), [3, 4])
    await store.send([message('a', 'l5')])
    assert.deepEqual(numbers((await write(store, job, { ...plainCheckpoint(1), read: 5 })).inbox), [3, 4, 5])
    assert.deepEqual(numbers((await write(store, job, { ...plainCheckpoint(2), read: 5 })).inbox), [])
    const { inbox, lastMessageNumber: messages } = await recordOf(store, 'a')
    assert.deepEqual([inbox, messages], [[], 5])
  },
  'a heartbeat brings the messages after the one it names, and none if it names none': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const heartbeat = async (messages?: number) => {
      const heartbeats = [{ ...lease(job), ...(messages !== undefined && { lastMessageNumber: messages }) }]
      return (await store.extend({ worker: 'w1', leaseMs: 30_000, heartbeats }))[0]
    }
    assert.deepEqual(await heartbeat(0), { outcome: 'extended', inbox: [] })
    await store.send([message('a', 'l1'), message('a', 'l2')])
    assert.deepEqual(await heartbeat(), { outcome: 'extended' })
    assert.deepEqual(numbers((await heartbeat(0))?.inbox), [1, 2])
    assert.deepEqual((await heartbeat(1))?.inbox, [(await recordOf(store, 'a')).inbox[1]])
    assert.deepEqual(numbers((await heartbeat(7))?.inbox), [])
    await cancel(store, ['a'], 'enough')
    const { inbox, ...told } = (await heartbeat(1)) ?? {}
    assert.deepEqual([told, numbers(inbox)], [{ outcome: 'cancelling', reason: 'enough', graceMs: 5_000 }, [2]])
    const [lost] = await store.extend({
      worker: 'w1',
      leaseMs: 1,
      heartbeats: [{ ...lease(job), token: 'stolen', lastMessageNumber: 0 }],
    })
    assert.deepEqual(lost, { outcome: 'lost' })
  },
  'a message wakes a job that waits, which goes to the end of its queue': async ({ store }) => {
    await park(store, await putAndTake(store, 'a'))
    await put(store, newJob('b'))
    const [answer] = await store.send([message('a', 'l1')])
    const { seq, at, ...transition } = answer?.transition ?? {}
    assert.deepEqual(answer?.state, 'queued')
    assert.deepEqual(transition, { id: 'a', type: 'mail', event: 'WAKE', from: 'waiting', to: 'queued', attempt: 0 })
    const { history } = await recordOf(store, 'a')
    assert.deepEqual([history.at(-1)?.event, history.at(-1)?.seq, history.at(-1)?.at], ['WAKE', seq, at])
    assert.equal((await store.send([message('a', 'l2')]))[0]?.transition, undefined)
    assert.deepEqual(idsOf(await take(store)), ['b', 'a'])
  },
  'a message wakes a job that waits for its time, and the time is forgotten': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await store.settle([{ ...lease(job), event: 'PARK', to: 'waiting', delayMs: 10_000 }])
    await store.send([message('a', 'l1')])
    assert.deepEqual([await stateOf(store, 'a'), (await recordOf(store, 'a')).dueAt], ['queued', null])
    await advance(10_000)
    assert.deepEqual((await store.promote(10)).transitions, [])
  },
  'a job that parks with messages in its inbox is woken by the same write': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send([message('a', 'l1'), message('a', 'l2')])
    const settlement = {
      ...lease(job),
      event: 'PARK',
      to: 'waiting',
      checkpoint: { ...plainCheckpoint(1), read: 1 },
    } as const
    const [answer] = await store.settle([settlement])
    assert.deepEqual([answer?.from, answer?.to, answer?.attempt], ['running', 'waiting', 0])
    const { woken } = answer ?? {}
    assert.deepEqual([woken?.id, woken?.event, woken?.from, woken?.to], ['a', 'WAKE', 'waiting', 'queued'])
    const { state, history } = await recordOf(store, 'a')
    assert.deepEqual([state, history.at(-2)?.seq, history.at(-1)?.seq], ['queued', answer?.seq, woken?.seq])
    assert.deepEqual((await store.settle([settlement]))[0], answer, 'the same again gets the same answer')
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual(numbers(again.inbox), [2])
    assert.deepEqual((await store.settle([settlement]))[0], answer, 'also later')
    const silent = await park(store, again, { ...plainCheckpoint(2), read: 2 })
    assert.deepEqual([silent.woken, await stateOf(store, 'a')], [undefined, 'waiting'])
  },
  'a job that parks in the middle of its cancel ends, messages or not': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send([message('a', 'l1')])
    await cancel(store, ['a'])
    const answer = await park(store, job)
    assert.deepEqual([answer.to, answer.woken, await stateOf(store, 'a')], ['cancelled', undefined, 'cancelled'])
  },
  'the same key is the same message, also when it has been read since': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const [first, second] = await store.send([message('a', 'l1'), message('a', 'l1')])
    assert.deepEqual([first?.outcome, second], ['kept', { outcome: 'duplicate', state: 'running' }])
    await park(store, job, { ...plainCheckpoint(1), read: 1 })
    assert.deepEqual(await store.send([message('a', 'l1')]), [{ outcome: 'duplicate', state: 'waiting' }])
    assert.equal((await recordOf(store, 'a')).lastMessageNumber, 1)
    await cancel(store, ['a'])
    assert.deepEqual(await store.send([message('a', 'l1')]), [{ outcome: 'duplicate', state: 'cancelled' }])
    await put(store, newJob('b'))
    assert.equal((await store.send([message('b', 'l1')]))[0]?.outcome, 'kept', 'each job has keys of its own')
  },
  'of each job the last keys are known': async ({ store }) => {
    await put(store, newJob('a'))
    const keys = Array.from({ length: caps.messageKeys + 1 }, (_, i) => `l${i}`)
    await store.send(keys.map((key) => message('a', key)))
    const outcome = async (key: string) => (await store.send([message('a', key)]))[0]?.outcome
    assert.equal(await outcome('l1'), 'duplicate')
    assert.equal(await outcome('l0'), 'kept')
    assert.equal(await outcome('l1'), 'kept')
    assert.equal(await outcome('l3'), 'duplicate')
  },
  'a message to a job that has ended, or is not there, is told so': async ({ store }) => {
    for (const end of ['done', 'dead', 'cancelled'] as const) {
      await putAndEnd(store, end, end)
      assert.deepEqual(await store.send([message(end, 'l1')]), [{ outcome: 'ended', state: end }])
      assert.equal((await recordOf(store, end)).lastMessageNumber, 0)
    }
    assert.deepEqual(await store.send([message('nobody', 'l1')]), [{ outcome: 'notFound', state: null }])
  },
  'a message may be for a job as it was seen alone': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const sent = async (key: string, checkpoint: number, lastMessageNumber: number) =>
      (await store.send([message('a', key, { checkpoint, lastMessageNumber })]))[0]
    assert.deepEqual(await sent('l1', 0, 1), { outcome: 'changed', state: 'running' })
    assert.deepEqual(await sent('l1', 1, 0), { outcome: 'changed', state: 'running' })
    assert.equal((await sent('l1', 0, 0))?.outcome, 'kept')
    assert.equal((await sent('l1', 0, 0))?.outcome, 'duplicate', 'a message that is there comes first')
    await write(store, job, { ...plainCheckpoint(1), read: 1 })
    assert.equal((await sent('l2', 0, 1))?.outcome, 'changed')
    assert.equal((await sent('l2', 1, 1))?.outcome, 'kept')
    assert.equal((await recordOf(store, 'a')).lastMessageNumber, 2)
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal((await sent('l3', 9, 9))?.outcome, 'ended', 'an end comes before what was expected')
  },
  'a message may be for a job alone that has got the one before it in the call': async ({ store }) => {
    await put(store, newJob('a'))
    const sent = async (...requests: readonly [key: string, lastMessageNumber: number, behind?: string][]) => {
      const answers = await store.send(
        requests.map(([key, lastMessageNumber, behind]) =>
          message('a', key, { checkpoint: 0, lastMessageNumber, ...(behind !== undefined && { behind }) }),
        ),
      )
      return answers.map(({ outcome }) => outcome)
    }
    assert.deepEqual(await sent(['l1', 0, 'l0']), ['changed'])
    assert.deepEqual(await sent(['l1', 0], ['l2', 1, 'l1'], ['l3', 2, 'l1']), ['kept', 'kept', 'changed'])
    // The number of the second would be right.
    assert.deepEqual(await sent(['l4', 1], ['l5', 2, 'l4'], ['l6', 3, 'l5']), ['changed', 'changed', 'changed'])
    assert.deepEqual(await sent(['l2', 2], ['l7', 2, 'l2']), ['duplicate', 'kept'])
    assert.deepEqual(await inboxOf(store, 'a'), [1, 2, 3])
  },
  'an inbox takes no more messages than its cap, and one again when one was read': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const answers = await store.send(Array.from({ length: caps.inbox + 1 }, (_, i) => message('a', `l${i}`)))
    assert.deepEqual(
      answers.slice(-2).map(({ outcome }) => outcome),
      ['kept', 'full'],
    )
    assert.deepEqual(
      (await store.send([message('a', 'x', { checkpoint: 1, lastMessageNumber: 1 })]))[0]?.outcome,
      'changed',
    )
    assert.equal((await recordOf(store, 'a')).lastMessageNumber, caps.inbox)
    await write(store, job, { ...plainCheckpoint(1), read: 1 })
    assert.deepEqual((await store.send([message('a', `l${caps.inbox}`)]))[0]?.outcome, 'kept')
    assert.equal((await recordOf(store, 'a')).inbox.at(-1)?.number, caps.inbox + 1)
  },
  'of messages of one moment each is numbered once': async ({ store }) => {
    await put(store, newJob('a'))
    await Promise.all(Array.from({ length: 20 }, async (_, i) => store.send([message('a', `l${i % 10}`)])))
    assert.deepEqual(await inboxOf(store, 'a'), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  },
  'messages to running jobs are told of, and those that wake make their type ready': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await hinted(store, 'messages', '"a"', () => store.send([message('a', 'l1')]))
    await cancel(store, ['a'])
    await hinted(store, 'messages', '"a"', () => store.send([message('a', 'l2')]))
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    const parked = await putAndTake(store, 'b')
    await store.send([message('b', 'l1')])
    await hinted(store, 'ready', '"mail"', () => park(store, parked))
    await park(store, await takeOne(store, { token: 't2' }), { ...plainCheckpoint(1), read: 1 })
    await hinted(store, 'ready', '"mail"', () => store.send([message('b', 'l2')]))
  },
}
