/** Checkpoints: where a machine stands, and what an attempt costs that came to one. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
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
  saveSteps,
  take,
  takeOne,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'

export const machineCases: Cases = {
  'a plain job stands nowhere': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    assert.deepEqual([job.checkpoint, job.inbox], [null, []])
    const { checkpoint, inbox, lastMessageNumber: messages, parent } = await recordOf(store, 'a')
    assert.deepEqual([checkpoint, inbox, messages, parent], [null, [], 0, null])
    assert.deepEqual(await store.checkpoints('a'), [])
    assert.deepEqual(await store.checkpoints('nobody'), [])
  },
  'a checkpoint is kept, and the next attempt goes on from it': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const state = JSON.parse('{ "at": ["paid", { "__proto__": { "polluted": 1 } }], "n": null }')
    const answer = await write(store, job, { ...plainCheckpoint(1), state, note: 'PAY → paid' })
    assert.deepEqual([answer.outcome, answer.maxAttempts, answer.inbox], ['kept', 3, []])
    assert.ok(answer.seq > job.seq)
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const again = await takeOne(store, { token: 't2' })
    assert.equal(JSON.stringify(again.checkpoint), JSON.stringify({ number: 1, state }))
    assert.deepEqual((await recordOf(store, 'a')).checkpoint, again.checkpoint)
    const { seq, at } = answer
    assert.deepEqual(await store.checkpoints('a'), [{ number: 1, state, seq, at, note: 'PAY → paid' }])
  },
  'a state of nothing is a state, too': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await write(store, job, { ...plainCheckpoint(1), state: null })
    assert.deepEqual((await recordOf(store, 'a')).checkpoint, { number: 1, state: null })
  },
  'the states that are handed out are copies': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await write(store, job, { ...plainCheckpoint(1), state: { list: [1] } })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const spoil = (state: unknown): void => void (state as { list: number[] }).list.push(2)
    spoil((await takeOne(store, { token: 't2' })).checkpoint?.state)
    spoil((await recordOf(store, 'a')).checkpoint?.state)
    spoil((await store.checkpoints('a'))[0]?.state)
    assert.deepEqual((await recordOf(store, 'a')).checkpoint?.state, { list: [1] })
  },
  'a checkpoint forgets the steps that it names, and no others': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await saveSteps(store, job, { charge: 1, mail: 2, 'kid/1/charge': 3 })
    await write(store, job, { ...plainCheckpoint(1), forgetSteps: ['charge', 'mail', 'unknown'] })
    await saveSteps(store, job, { mail: 5 })
    // The same checkpoint again is no other.
    await write(store, job, { ...plainCheckpoint(1), forgetSteps: ['charge', 'mail', 'unknown'] })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
    const again = await takeOne(store, { token: 't2' })
    assert.deepEqual(again.steps, { mail: 5, 'kid/1/charge': 3 })
    const all = Object.keys(again.steps ?? {})
    await store.settle([
      { ...lease(again), event: 'RELEASE', to: 'queued', checkpoint: { ...plainCheckpoint(2), forgetSteps: all } },
    ])
    assert.equal((await takeOne(store, { token: 't3' })).steps, null)
  },
  'the last checkpoints are kept, oldest first': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const last = caps.checkpoints + 5
    for (let number = 1; number <= last; number++) await write(store, job, plainCheckpoint(number))
    const kept = await store.checkpoints('a')
    assert.deepEqual([kept.length, kept[0]?.number, kept.at(-1)?.number], [caps.checkpoints, 6, last])
    assert.deepEqual((await recordOf(store, 'a')).checkpoint, { number: last, state: plainCheckpoint(last).state })
  },
  'a checkpoint written twice is one, whatever it says the second time': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.send([message('a', 'l1'), message('a', 'l2')])
    const first = await write(store, job, { ...plainCheckpoint(1), read: 1 })
    const second = await write(store, job, {
      ...plainCheckpoint(1),
      state: 'other',
      read: 2,
      note: 'other',
      takesCancel: true,
    })
    assert.deepEqual(second, first)
    const { checkpoint, inbox } = await recordOf(store, 'a')
    assert.deepEqual(
      [checkpoint, inbox.map(({ number }) => number)],
      [{ number: 1, state: plainCheckpoint(1).state }, [2]],
    )
    assert.equal((await store.checkpoints('a')).length, 1)
    assert.deepEqual((await cancel(store, ['a']))?.transitions.length, 1)
  },
  'a checkpoint that is neither the next one nor the current one is refused': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const refused = async (number: number): Promise<void> => {
      const [answer] = await store.checkpoint([{ ...lease(job), checkpoint: plainCheckpoint(number) }])
      assert.deepEqual([answer?.outcome, answer?.error?.name], ['failed', 'TypeError'])
      const traces = { checkin: { at: 1, value: 'lost' } }
      const ended = {
        ...lease(job),
        event: 'PARK',
        to: 'waiting',
        checkpoint: plainCheckpoint(number),
        ...traces,
      } as const
      assert.equal((await store.settle([ended]))[0]?.outcome, 'failed')
    }
    for (const number of [2, 0]) await refused(number)
    await write(store, job, plainCheckpoint(1))
    await write(store, job, plainCheckpoint(2))
    for (const number of [1, 4]) await refused(number)
    const { state, checkpoint, checkin } = await recordOf(store, 'a')
    assert.deepEqual([state, checkpoint?.number, checkin], ['running', 2, null])
  },
  'a checkpoint in the name of an attempt that is over is lost and writes nothing': async ({ store, advance }) => {
    const zombie = await putAndTake(store, 'a')
    await advance(30_000)
    await store.rescue(10)
    const heir = await takeOne(store, { token: 'heir' })
    await write(store, heir, plainCheckpoint(1))
    const before = await recordOf(store, 'a')
    const { next } = await store.transitions(null, 100)
    const checkpoint = { ...plainCheckpoint(2), read: 9 }
    const answers = await store.checkpoint([
      { ...lease(zombie), checkpoint },
      { ...lease(heir), token: 'stolen', checkpoint },
      { ...lease(heir), attempt: 9, checkpoint },
      { ...lease(heir), id: 'nobody', checkpoint },
    ])
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ['lost', 'lost', 'lost', 'lost'],
    )
    await store.settle([{ ...lease(heir), event: 'PARK', to: 'waiting' }])
    assert.equal((await store.checkpoint([{ ...lease(heir), checkpoint }]))[0]?.outcome, 'lost')
    assert.deepEqual((await recordOf(store, 'a')).checkpoint, before.checkpoint)
    assert.equal((await store.transitions(next, 100)).transitions.length, 1)
  },
  'a checkpoint is told by the log, and not by the history of the job': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const { seq, at } = await write(store, job, { ...plainCheckpoint(1), note: 'PAY → paid' })
    await cancel(store, ['a'])
    await write(store, job, plainCheckpoint(2))
    const told = { id: 'a', type: 'mail', event: 'CHECKPOINT', attempt: 1, worker: 'w1' }
    const { transitions } = await store.transitions(null, 100)
    assert.deepEqual(transitions[2], {
      ...told,
      cursor: transitions[2]?.cursor,
      seq,
      at,
      from: 'running',
      to: 'running',
      reason: 'PAY → paid',
    })
    assert.deepEqual([transitions[4]?.from, transitions[4]?.to], ['cancelling', 'cancelling'])
    const events = (await recordOf(store, 'a')).history.map(({ event }) => event)
    assert.deepEqual(events, ['ENQUEUE', 'CLAIM', 'CANCEL'])
  },
  'a checkpoint of a job that is being cancelled is kept, and says so': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await cancel(store, ['a'], 'enough')
    const answer = await write(store, job, plainCheckpoint(1))
    assert.deepEqual([answer.outcome, answer.reason, answer.graceMs], ['cancelling', 'enough', 5_000])
    assert.equal((await recordOf(store, 'a')).checkpoint?.number, 1)
  },
  'attempts that came to a checkpoint do not count': async ({ store, advance }) => {
    await put(store, newJob('a', { maxAttempts: 2 }))
    const crash = async (): Promise<string | undefined> => {
      await advance(30_000)
      return (await store.rescue(10)).transitions[0]?.to
    }
    const spent = async (): Promise<[number, number]> => {
      const { attempt, maxAttempts } = await recordOf(store, 'a')
      return [attempt, maxAttempts]
    }
    await takeOne(store, { token: 't1' })
    assert.equal(await crash(), 'queued')
    const second = await takeOne(store, { token: 't2' })
    const answer = await write(store, second, plainCheckpoint(1))
    assert.deepEqual([second.maxAttempts, answer.maxAttempts, await spent()], [2, 3, [2, 3]])
    assert.equal(await crash(), 'queued')
    const third = await takeOne(store, { token: 't3' })
    assert.deepEqual([third.attempt, third.maxAttempts, third.record().maxAttempts], [3, 3, 3])
    const checkpoint = plainCheckpoint(2)
    const failure = { event: 'FAIL', to: 'retrying', delayMs: 0, error: boom } as const
    const [failed] = await store.settle([{ ...lease(third), ...failure, checkpoint }])
    assert.deepEqual([failed?.to, await spent()], ['retrying', [3, 4]])
    await store.promote(10)
    const fourth = await takeOne(store, { token: 't4' })
    await store.settle([{ ...lease(fourth), event: 'RELEASE', to: 'queued' }])
    assert.deepEqual(await spent(), [3, 4])
    await takeOne(store, { token: 't5' })
    assert.equal(await crash(), 'dead')
    await store.retry(['a'])
    assert.deepEqual(await spent(), [0, 2])
  },
  'a machine that parks has all its attempts again': async ({ store }) => {
    await put(store, newJob('a', { maxAttempts: 2 }))
    await store.settle([{ ...lease(await takeOne(store)), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom }])
    await store.promote(10)
    const job = await takeOne(store, { token: 't2' })
    await park(store, job, plainCheckpoint(1))
    const { attempt, maxAttempts } = await recordOf(store, 'a')
    assert.deepEqual([attempt, maxAttempts], [0, 2])
    await store.send([message('a', 'l1')])
    assert.deepEqual([(await takeOne(store, { token: 't3' })).attempt], [1])
  },
  'a settlement may bring a checkpoint, which is written just before its transition': async ({ store }) => {
    const events = ['COMPLETE', 'FAIL', 'SNOOZE', 'RELEASE', 'PARK'] as const
    for (const event of events) {
      const job = await putAndTake(store, event)
      await store.send([message(event, 'l1'), message(event, 'l2')])
      const settlement = {
        ...lease(job),
        event,
        to: 'done',
        delayMs: 60_000,
        checkpoint: { ...plainCheckpoint(1), read: 2 },
      } as const
      const [answer] = await store.settle([settlement])
      assert.deepEqual([answer?.outcome, answer?.woken], ['settled', undefined], event)
      const { checkpoint, inbox, lastMessageNumber: messages } = await recordOf(store, event)
      assert.deepEqual([checkpoint, inbox, messages], [restAt(1), [], 2], event)
      const [entry] = await store.checkpoints(event)
      const { transitions } = await store.transitions(null, 1_000)
      assert.deepEqual(
        transitions.slice(-2).map((transition) => [transition.event, transition.seq]),
        [
          ['CHECKPOINT', entry?.seq],
          [event, answer?.seq],
        ],
      )
      await store.settle([{ ...settlement, checkpoint: plainCheckpoint(2) }])
      assert.equal((await store.checkpoints(event)).length, 1, 'the same settlement again writes nothing')
      await take(store, { token: 'none is left over' })
    }
  },
  'a settlement may bring the checkpoint that is there already': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await write(store, job, plainCheckpoint(1))
    await store.settle([
      { ...lease(job), event: 'COMPLETE', to: 'done', checkpoint: { ...plainCheckpoint(1), state: 'other' } },
    ])
    assert.deepEqual([(await recordOf(store, 'a')).checkpoint, (await store.checkpoints('a')).length], [restAt(1), 1])
  },
  'a checkpoint of a lost settlement is lost with it': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await store.settle([
      { ...lease(job), token: 'stolen', event: 'PARK', to: 'waiting', checkpoint: plainCheckpoint(1) },
    ])
    assert.deepEqual([(await recordOf(store, 'a')).checkpoint, await store.checkpoints('a')], [null, []])
  },
}
