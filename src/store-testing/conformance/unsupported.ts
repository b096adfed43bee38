/**
 * Versions of machines: a job keeps the version of its enqueue; a job that no worker can run is postponed with growing
 * delays.
 */
import assert from 'node:assert/strict'
import type { JobRecord } from '../../core/record.ts'
import type { Settlement } from '../../core/settlement.ts'
import type { ClaimedJob, SettleAnswer, Store } from '../../store.ts'
import {
  take,
  takeOne,
  park,
  boom,
  cancel,
  changeMatching,
  idsOf,
  lease,
  message,
  newJob,
  recordOf,
  plainCheckpoint,
  put,
  putAndTake,
  write,
} from './acts.ts'
import type { Cases, Subject } from './subject.ts'

const tooNew = { event: 'SNOOZE', to: 'scheduled', unsupported: '2', reason: 'this process knows 1' } as const

async function end(store: Store, job: ClaimedJob, ending: Omit<Settlement, 'id' | 'attempt' | 'token'>) {
  const [answer] = await store.settle([{ ...lease(job), ...ending }])
  return answer as SettleAnswer
}

/** Claims the job as soon as it is due, and postpones it. @returns the delay before, ms */
async function again({ store, advance }: Pick<Subject, 'store' | 'advance'>, id: string): Promise<number> {
  const waitMs = ((await recordOf(store, id)).dueAt ?? 0) - store.now()
  // A real clock may be slightly later.
  await advance(Math.max(0, waitMs) + 1)
  await store.promote(100)
  await end(store, await takeOne(store, { token: `again at ${store.now()}` }), tooNew)
  return waitMs
}

const eventsOf = ({ history }: JobRecord): string[] => history.map(({ event }) => event)

export const unsupportedCases: Cases = {
  'a job keeps the version of its enqueue, and its claim has it': async ({ store }) => {
    await put(store, newJob('a', { version: '2' }), newJob('b'))
    const told = (await take(store)).map(({ version, checkpoint, inbox }) => [version, checkpoint, inbox])
    assert.deepEqual(told, [
      ['2', null, []],
      [null, null, []],
    ])
    const records = [await recordOf(store, 'a'), await recordOf(store, 'b')]
    assert.deepEqual(
      records.map(({ version, unsupported }) => [version, unsupported]),
      [
        ['2', null],
        [null, null],
      ],
    )
  },
  'the version stays after a checkpoint, a failure and a retry from the start': async ({ store }) => {
    const job = await putAndTake(store, 'a', { version: '2' })
    await write(store, job, plainCheckpoint(1))
    await end(store, job, { event: 'FAIL', to: 'dead', fatal: true, error: boom })
    await store.retry(['a'], true)
    const { version, checkpoint } = await takeOne(store, { token: 't2' })
    assert.deepEqual([version, checkpoint], ['2', null])
  },
  'replacing the input also replaces the version': async ({ store }) => {
    const unique = { key: 'k', onConflict: 'replace' } as const
    await put(store, newJob('a', unique))
    await put(store, newJob('b', { ...unique, version: '2' }))
    assert.equal((await recordOf(store, 'a')).version, '2')
    await put(store, newJob('c', unique))
    assert.equal((await recordOf(store, 'a')).version, null)
  },
  'an unsupported job is postponed for 250 ms, then half as long again each time, up to ten minutes': async (
    subject,
  ) => {
    const { store } = subject
    const job = await putAndTake(store, 'a', { version: '2' })
    const answer = await end(store, job, tooNew)
    assert.deepEqual([answer.to, answer.attempt], ['scheduled', 0])
    const waits: number[] = []
    for (let i = 0; i < 22; i++) waits.push(await again(subject, 'a'))
    // A real clock may be slightly later.
    const isNear = (waitMs: number, expected: number): boolean => waitMs <= expected && waitMs > expected - 200
    const expected = [250, 375, 563, 844, 1_266, 1_898, 2_848]
    assert.ok(
      expected.every((each, i) => isNear(waits[i] as number, each)),
      waits.join(),
    )
    assert.ok(
      waits.slice(-2).every((each) => isNear(each, 600_000)),
      waits.join(),
    )
    const record = await recordOf(store, 'a')
    assert.deepEqual([record.attempt, record.state, record.unsupported?.tries], [0, 'scheduled', 23])
    const { version, reason, since, seq } = record.unsupported ?? {}
    assert.deepEqual(
      { version, reason, since, seq },
      { version: '2', reason: tooNew.reason, since: answer.at, seq: answer.seq },
    )
    assert.deepEqual(eventsOf(record), ['ENQUEUE', 'CLAIM', 'SNOOZE'])
    assert.equal(record.history.at(-1)?.reason, tooNew.reason)
  },
  'the log has every postponement, and a repeated settlement gets the same answer': async (subject) => {
    const { store } = subject
    await end(store, await putAndTake(store, 'a'), tooNew)
    await again(subject, 'a')
    await subject.advance(60_001)
    await store.promote(100)
    const job = await takeOne(store, { token: 'third' })
    const answer = await end(store, job, tooNew)
    assert.deepEqual(await end(store, job, tooNew), answer)
    const { transitions } = await store.transitions(null, 1_000)
    assert.deepEqual(
      transitions.map(({ event }) => event),
      ['ENQUEUE', 'CLAIM', 'SNOOZE', 'DUE', 'CLAIM', 'SNOOZE', 'DUE', 'CLAIM', 'SNOOZE'],
    )
    assert.deepEqual([transitions.at(-1)?.seq, (await recordOf(store, 'a')).unsupported?.tries], [answer.seq, 3])
  },
  'a release leaves a job unsupported; a checkpoint and every other end of an attempt clear it': async (subject) => {
    const { store, advance } = subject
    const ends = {
      RELEASE: { event: 'RELEASE', to: 'queued' },
      FAIL: { event: 'FAIL', to: 'retrying', error: boom },
      PARK: { event: 'PARK', to: 'waiting' },
      SNOOZE: { event: 'SNOOZE', to: 'scheduled' },
      COMPLETE: { event: 'COMPLETE', to: 'done' },
      CHECKPOINT: null,
    } as const
    for (const [id, ending] of Object.entries(ends)) {
      await end(store, await putAndTake(store, id, { type: id }), tooNew)
      await advance(30_001)
      await store.promote(100)
      const job = await takeOne(store, { type: id, token: `second of ${id}` })
      if (ending === null) await write(store, job, plainCheckpoint(1))
      else await end(store, job, ending)
      assert.equal((await recordOf(store, id)).unsupported?.tries, id === 'RELEASE' ? 1 : undefined, id)
      // What follows is told again.
      const more = id === 'RELEASE' || id === 'CHECKPOINT' ? [] : [id]
      assert.deepEqual(
        eventsOf(await recordOf(store, id))
          .slice(3)
          .filter((event) => event !== 'RELEASE'),
        ['DUE', 'CLAIM', ...more],
      )
    }
  },
  'a postponed job is queued at once when it is resumed, whatever its inbox holds': async ({ store }) => {
    await end(store, await putAndTake(store, 'a', { version: '2' }), tooNew)
    const [sent] = await store.send([message('a', 'one')])
    assert.deepEqual([sent?.outcome, sent?.state], ['kept', 'scheduled'])
    const resume = { id: 'a', key: 'r', message: { kind: 'resume' }, expect: null } as const
    const [answer] = await store.send([resume])
    assert.deepEqual([answer?.outcome, answer?.state, answer?.transition?.event], ['resumed', 'queued', 'DUE'])
    const { inbox } = await takeOne(store, { token: 't2' })
    assert.deepEqual(
      inbox.map(({ message: { kind } }) => kind),
      ['event'],
    )
  },
  'a parked job is recorded as unsupported without being claimed, until it is taken back': async ({ store }) => {
    const job = await putAndTake(store, 'a', { version: '1' })
    await write(store, job, plainCheckpoint(1))
    await park(store, job)
    const before = await recordOf(store, 'a')
    const mark = { id: 'a', checkpoint: 1, standing: null, unsupported: { version: '1', reason: 'who knows' } }
    const [answer] = await store.reindex([mark])
    assert.equal(answer?.outcome, 'kept')
    const { unsupported, ...rest1 } = await recordOf(store, 'a')
    const { seq, at } = (await store.checkpoints('a')).at(-1) ?? {}
    assert.deepEqual(
      { ...unsupported, since: (unsupported?.since ?? 0) >= (at ?? 0) },
      { ...mark.unsupported, tries: 0, seq, since: true },
    )
    assert.deepEqual({ ...rest1, unsupported: null }, before)
    assert.deepEqual(idsOf(await store.list({ unsupported: true })), ['a'])
    await store.reindex([{ ...mark, unsupported: { version: '1', reason: 'nobody' } }])
    const again = (await recordOf(store, 'a')).unsupported
    assert.deepEqual([again?.reason, again?.since, again?.tries], ['nobody', unsupported?.since, 0])
    await store.reindex([{ ...mark, unsupported: null }])
    assert.deepEqual(await recordOf(store, 'a'), before)
    assert.deepEqual(idsOf(await store.list({ unsupported: true })), [])
  },
  'a job that was recorded while it was parked is postponed as any other, and its history keeps all up to that':
    async ({ store }) => {
      const job = await putAndTake(store, 'a', { version: '1' })
      await write(store, job, plainCheckpoint(1))
      await park(store, job)
      await store.reindex([
        { id: 'a', checkpoint: 1, standing: null, unsupported: { version: '1', reason: 'who knows' } },
      ])
      const since = (await recordOf(store, 'a')).unsupported?.since
      await store.send([message('a', 'one')])
      const answer = await end(store, await takeOne(store, { token: 't2' }), tooNew)
      const record = await recordOf(store, 'a')
      assert.deepEqual(eventsOf(record).slice(-4), ['PARK', 'WAKE', 'CLAIM', 'SNOOZE'])
      assert.deepEqual(
        [record.unsupported?.tries, record.unsupported?.since, record.unsupported?.seq],
        [1, since, answer.seq],
      )
    },
  'list finds postponed jobs, also by type and state, in pages, and none that has ended': async ({ store }) => {
    await put(store, newJob('plain'))
    await take(store)
    await put(store, ...['a', 'b', 'c'].map((id) => newJob(id, { version: '2' })))
    for (const job of await take(store, { token: 't2' })) await end(store, job, tooNew)
    const find = async (filter: object): Promise<string[]> => idsOf(await store.list({ unsupported: true, ...filter }))
    assert.deepEqual(await find({}), ['a', 'b', 'c'])
    assert.deepEqual(await find({ type: 'mail', state: 'scheduled' }), ['a', 'b', 'c'])
    assert.deepEqual([await find({ type: 'sms' }), await find({ state: 'queued' })], [[], []])
    const page = await store.list({ unsupported: true, limit: 2 })
    assert.deepEqual([idsOf(page), await find({ after: page.next })], [['a', 'b'], ['c']])
    await cancel(store, ['b'])
    assert.deepEqual(await find({}), ['a', 'c'])
    await changeMatching(store, 'cancel', { unsupported: true })
    assert.deepEqual([await find({}), (await recordOf(store, 'plain')).state], [[], 'running'])
  },
  'a job that was cancelled meanwhile ends as cancelled, and is not postponed': async ({ store }) => {
    const job = await putAndTake(store, 'a', { version: '2' })
    await cancel(store, ['a'])
    assert.equal((await end(store, job, tooNew)).to, 'cancelled')
    const { unsupported, dueAt } = await recordOf(store, 'a')
    assert.deepEqual([unsupported, dueAt], [null, null])
  },
}
