/** Schedules: declared, paused, removed; fired once, whoever asks; overlaps decided by the write that fires. */
import assert from 'node:assert/strict'
import type {
  DueSchedulesRequest,
  FireSchedule,
  FireScheduleAnswer,
  NewJob,
  PutScheduleAnswer,
  ScheduleTerms,
  Store,
  StoredSchedule,
} from '../../store.ts'
import { idsOf, lease, newJob, recordOf, stateOf, takeOne } from './acts.ts'
import type { Cases } from './subject.ts'
import { hinted } from './watching.ts'

const none: DueSchedulesRequest = { computed: [], limit: 100 }

function terms(name: string, fields: Partial<ScheduleTerms> = {}): ScheduleTerms {
  const { type, input, priority, maxAttempts, tags, concurrencyKey, onConflict } = newJob('template')
  const key = (fields.overlap ?? 'allow') === 'allow' ? null : `schedule:${name}`
  const job = { type, input, priority, maxAttempts, tags, concurrencyKey, key, onConflict }
  const plain = { name, spec: '* * * * *', timezone: 'UTC', catchUp: 'last', overlap: 'allow', jitterMs: 0 } as const
  return { ...plain, job, computed: false, owner: null, ...fields }
}

async function declare(
  store: Store,
  given: ScheduleTerms,
  nextAt: number | null,
  paused = false,
): Promise<PutScheduleAnswer> {
  const [answer] = await store.schedules.put([{ terms: given, paused, nextAt }])
  assert.ok(answer !== undefined)
  return answer
}

async function scheduleOf(store: Store, name: string): Promise<StoredSchedule> {
  const [schedule] = await store.schedules.list([name])
  assert.ok(schedule !== undefined, `schedule ${name} is there`)
  return schedule
}

/** Fires one tick, with the revision that the schedule has now, or another one. */
async function fire(
  store: Store,
  name: string,
  id: string,
  { revision, job, nextAt = 9e12 }: { revision?: number; job?: Partial<NewJob>; nextAt?: number | null } = {},
): Promise<FireScheduleAnswer> {
  const seen = await scheduleOf(store, name)
  const made = { ...seen.job, id, runAt: null, delayMs: 0, ...job }
  const advance = { revision: revision ?? seen.revision, nextAt, missed: 0 }
  return ask(store, { name, ticks: [{ at: seen.nextAt ?? 0, job: made }], advance })
}

async function ask(store: Store, request: FireSchedule): Promise<FireScheduleAnswer> {
  const [answer] = await store.schedules.fire([request])
  assert.ok(answer !== undefined)
  return answer
}

export const scheduleCases: Cases = {
  'a thousand schedules are declared by one call, and removed by another': async ({ store }) => {
    const names = Array.from({ length: 1_100 }, (_, i) => `schedule ${String(i).padStart(4, '0')}`)
    const nextAt = store.now() + 60_000
    const answers = await store.schedules.put(names.map((name) => ({ terms: terms(name), paused: false, nextAt })))
    assert.deepEqual(
      answers.map(({ outcome, schedule }) => [outcome, schedule?.name]),
      names.map((name) => ['created', name]),
    )
    assert.deepEqual(await store.schedules.remove(['another', ...names.slice(1)]), names.slice(1))
    assert.deepEqual(
      (await store.schedules.list()).map(({ name }) => name),
      names.slice(0, 1),
    )
  },
  'a new schedule is there, with its next tick and no past': async ({ store }) => {
    const at = store.now() + 5_000
    const { outcome, schedule } = await declare(store, terms('a'), at)
    assert.equal(outcome, 'created')
    assert.deepEqual(await store.schedules.list(), [schedule])
    const { paused, revision, nextAt, last, fired, missed, skipped } = await scheduleOf(store, 'a')
    assert.deepEqual(
      { paused, nextAt, last, fired, missed, skipped },
      { paused: false, nextAt: at, last: null, fired: 0, missed: 0, skipped: 0 },
    )
    assert.ok(revision >= 1)
  },
  'the same terms change nothing; another input keeps the next tick, another spec or time zone changes it': async ({
    store,
  }) => {
    const at = store.now() + 5_000
    const first = await declare(store, terms('a'), at)
    const again = await declare(store, terms('a'), at + 1)
    assert.deepEqual([again.outcome, again.schedule], ['unchanged', first.schedule])
    const input = await declare(store, terms('a', { job: { ...terms('a').job, input: { n: 2 } } }), at + 2)
    assert.deepEqual([input.outcome, input.schedule?.nextAt], ['changed', at])
    assert.ok((input.schedule?.revision ?? 0) > (first.schedule?.revision ?? 0))
    assert.equal((await declare(store, terms('a', { spec: '@daily' }), at + 3)).schedule?.nextAt, at + 3)
    assert.equal(
      (await declare(store, terms('a', { spec: '@daily', timezone: 'Asia/Tokyo' }), at + 4)).schedule?.nextAt,
      at + 4,
    )
  },
  'a declaration neither begins nor ends a pause of what is there': async ({ store }) => {
    await declare(store, terms('a'), 1, true)
    assert.equal((await declare(store, terms('a', { owner: 'x' }), 1, false)).schedule?.paused, true)
    await declare(store, terms('b'), 1, false)
    assert.equal((await declare(store, terms('b', { owner: 'x' }), 1, true)).schedule?.paused, false)
  },
  'all are listed by name; by names those that are there, each once': async ({ store }) => {
    for (const name of ['b', 'c', 'a']) await declare(store, terms(name), 1)
    const names = (schedules: readonly StoredSchedule[]) => schedules.map(({ name }) => name)
    assert.deepEqual(names(await store.schedules.list()), ['a', 'b', 'c'])
    assert.deepEqual(names(await store.schedules.list(['c', 'x', 'a', 'c'])), ['c', 'a'])
  },
  'a schedule that is handed out is a copy, and its input comes back as it went in': async ({ store }) => {
    const input = JSON.parse('{"__proto__":{"x":1},"list":[1],"text":"😀\\u0000"}')
    const text = JSON.stringify(input)
    await declare(store, terms('a', { job: { ...terms('a').job, input } }), 1)
    const taken = await scheduleOf(store, 'a')
    ;(taken.job.input as { list: number[] }).list.push(2)
    assert.equal(JSON.stringify((await scheduleOf(store, 'a')).job.input), text)
  },
  'what is removed is gone, and its jobs stay': async ({ store }) => {
    await declare(store, terms('a'), 1)
    await fire(store, 'a', 'job')
    assert.deepEqual(await store.schedules.remove(['a', 'x']), ['a'])
    assert.deepEqual(await store.schedules.remove(['a']), [])
    assert.equal(await stateOf(store, 'job'), 'queued')
    const job = newJob('late')
    assert.equal((await ask(store, { name: 'a', ticks: [{ at: 1, job }], advance: null })).outcome, 'gone')
    assert.deepEqual(await store.get(['late']), [null])
  },
  'due are those whose tick has come, earliest first, and the next tick of all is told': async ({ store, advance }) => {
    const now = store.now()
    await declare(store, terms('later'), now + 10_000)
    await declare(store, terms('second'), now + 2_000)
    await declare(store, terms('first'), now + 1_000)
    await declare(store, terms('never'), null)
    await declare(store, terms('paused'), now, true)
    const before = await store.schedules.due(none)
    assert.deepEqual([before.schedules, before.nextAt, before.more], [[], now + 1_000, false])
    await advance(5_000)
    const due = await store.schedules.due(none)
    assert.deepEqual(
      due.schedules.map(({ name }) => name),
      ['first', 'second'],
    )
    assert.deepEqual([due.nextAt, due.more], [now + 1_000, false])
    const part = await store.schedules.due({ ...none, limit: 1 })
    assert.deepEqual([part.schedules.map(({ name }) => name), part.more], [['first'], true])
    assert.deepEqual(part.schedules, [await scheduleOf(store, 'first')])
  },
  'a schedule with a computed input is due only for calls that name it': async ({ store }) => {
    const now = store.now()
    await declare(store, terms('computed', { computed: true }), now - 1)
    await declare(store, terms('plain'), now + 60_000)
    const others = await store.schedules.due({ ...none, computed: ['plain', 'x'] })
    assert.deepEqual([others.schedules, others.nextAt], [[], now + 60_000])
    const own = await store.schedules.due({ ...none, computed: ['computed'] })
    assert.deepEqual([own.schedules.map(({ name }) => name), own.nextAt], [['computed'], now - 1])
  },
  'a tick creates its job, and the same write sets the next tick': async ({ store }) => {
    const at = store.now() - 1
    await declare(store, terms('a'), at)
    const answer = await fire(store, 'a', 'a@1', { nextAt: at + 60_000 })
    assert.equal(answer.outcome, 'fired')
    const [tick] = answer.ticks
    assert.ok(tick !== undefined && tick.outcome === 'inserted' && tick.seq > 0)
    const { nextAt, last, fired } = await scheduleOf(store, 'a')
    assert.deepEqual({ nextAt, last, fired }, { nextAt: at + 60_000, last: { at, jobId: 'a@1' }, fired: 1 })
    assert.deepEqual((await store.schedules.due(none)).schedules, [])
    const { id, type, input } = await takeOne(store)
    assert.deepEqual({ id, type, input }, { id: 'a@1', type: 'mail', input: { n: 1 } })
  },
  'a firing with an older revision writes nothing': async ({ store }) => {
    await declare(store, terms('a'), 1)
    const { revision } = await scheduleOf(store, 'a')
    assert.equal((await fire(store, 'a', 'first', { revision })).outcome, 'fired')
    const after = await scheduleOf(store, 'a')
    const late = await fire(store, 'a', 'second', { revision })
    assert.deepEqual([late.outcome, late.ticks, late.transitions], ['stale', [], []])
    assert.deepEqual(await store.get(['second']), [null])
    assert.deepEqual(await scheduleOf(store, 'a'), after)
  },
  'a paused schedule fires only by a manual trigger': async ({ store }) => {
    await declare(store, terms('a'), 1, true)
    assert.equal((await fire(store, 'a', 'tick')).outcome, 'stale')
    const ticks = [{ at: 5, job: newJob('by hand') }]
    assert.equal((await ask(store, { name: 'a', ticks, advance: null })).outcome, 'fired')
    const { nextAt, paused, fired, last } = await scheduleOf(store, 'a')
    assert.deepEqual(
      { nextAt, paused, fired, last },
      { nextAt: 1, paused: true, fired: 1, last: { at: 5, jobId: 'by hand' } },
    )
  },
  'a pause is conditional on the revision, and a resume names the next tick': async ({ store }) => {
    await declare(store, terms('a'), 1)
    const { revision } = await scheduleOf(store, 'a')
    assert.equal(await store.schedules.pause({ name: 'a', revision: revision + 1, paused: true, nextAt: null }), null)
    assert.equal(await store.schedules.pause({ name: 'x', revision: 1, paused: true, nextAt: null }), null)
    const paused = await store.schedules.pause({ name: 'a', revision, paused: true, nextAt: null })
    assert.deepEqual([paused?.paused, (await store.schedules.due(none)).nextAt], [true, null])
    const request = { name: 'a', revision: paused?.revision ?? 0, paused: false, nextAt: 77 }
    assert.deepEqual((await store.schedules.pause(request))?.nextAt, 77)
    assert.equal((await store.schedules.due(none)).nextAt, 77)
  },
  'several ticks of one firing create their jobs in order, and missed ticks are counted': async ({ store }) => {
    await declare(store, terms('a'), 1)
    const { revision } = await scheduleOf(store, 'a')
    const ticks = ['t1', 't2', 't3'].map((id, i) => ({ at: i, job: newJob(id) }))
    await ask(store, { name: 'a', ticks, advance: { revision, nextAt: null, missed: 4 } })
    assert.deepEqual(idsOf(await store.list({})), ['t1', 't2', 't3'])
    const { nextAt, missed, fired, last } = await scheduleOf(store, 'a')
    assert.deepEqual(
      { nextAt, missed, fired, last },
      { nextAt: null, missed: 4, fired: 3, last: { at: 2, jobId: 't3' } },
    )
  },
  'a job with a delay is scheduled': async ({ store }) => {
    await declare(store, terms('a'), 1)
    await fire(store, 'a', 'job', { job: { runAt: store.now() + 5_000 } })
    assert.equal(await stateOf(store, 'job'), 'scheduled')
  },
  'a tick whose job exists already, or whose id is taken, sets the next tick': async ({ store }) => {
    await declare(store, terms('a'), 1)
    await store.insert([{ jobs: [newJob('there'), newJob('taken', { type: 'sms' })], capacity: null }])
    const same = await fire(store, 'a', 'there', { nextAt: 2 })
    const taken = await fire(store, 'a', 'taken', { nextAt: 3 })
    assert.deepEqual(
      [...same.ticks, ...taken.ticks].map(({ outcome }) => outcome),
      ['duplicate', 'id-taken'],
    )
    const { nextAt, fired } = await scheduleOf(store, 'a')
    assert.deepEqual({ nextAt, fired }, { nextAt: 3, fired: 0 })
  },
  'overlap skip: no job while one has not ended': async ({ store }) => {
    await declare(store, terms('a', { overlap: 'skip' }), 1)
    await fire(store, 'a', 'one')
    const second = await fire(store, 'a', 'two')
    assert.deepEqual(second.ticks, [{ outcome: 'skipped', id: 'one' }])
    const job = await takeOne(store)
    assert.equal((await fire(store, 'a', 'three')).ticks[0]?.outcome, 'skipped')
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal((await fire(store, 'a', 'four')).ticks[0]?.outcome, 'inserted')
    const { fired, skipped } = await scheduleOf(store, 'a')
    assert.deepEqual({ fired, skipped }, { fired: 2, skipped: 2 })
  },
  'overlap does not compare jobs of different types': async ({ store }) => {
    await declare(store, terms('a', { overlap: 'skip' }), 1)
    await fire(store, 'a', 'mail')
    const job = { ...terms('a', { overlap: 'skip' }).job, type: 'sms' }
    await declare(store, terms('a', { overlap: 'skip', job }), 1)
    assert.equal((await fire(store, 'a', 'sms')).ticks[0]?.outcome, 'inserted')
    assert.equal((await fire(store, 'a', 'sms 2')).ticks[0]?.outcome, 'skipped')
  },
  'overlap supersede: a waiting job is cancelled at once; a running one is marked, and the new one waits for its end':
    async ({ store }) => {
      await declare(store, terms('a', { overlap: 'supersede' }), 1)
      await fire(store, 'a', 'one')
      const second = await fire(store, 'a', 'two')
      assert.deepEqual(
        second.transitions.map(({ id, event, to, reason }) => ({ id, event, to, reason })),
        [{ id: 'one', event: 'CANCEL', to: 'cancelled', reason: 'superseded' }],
      )
      const job = await takeOne(store)
      await fire(store, 'a', 'three')
      assert.deepEqual([await stateOf(store, 'two'), await stateOf(store, 'three')], ['cancelling', 'scheduled'])
      await fire(store, 'a', 'four')
      assert.deepEqual([await stateOf(store, 'three'), await stateOf(store, 'four')], ['cancelled', 'scheduled'])
      await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
      assert.deepEqual([await stateOf(store, 'two'), await stateOf(store, 'four')], ['cancelled', 'queued'])
    },
  'overlap queue-one: one job waits for the end of the one before it, and no further job is created': async ({
    store,
  }) => {
    await declare(store, terms('a', { overlap: 'queue-one' }), 1)
    await fire(store, 'a', 'one')
    const job = await takeOne(store)
    assert.equal((await fire(store, 'a', 'two')).ticks[0]?.outcome, 'inserted')
    assert.deepEqual((await fire(store, 'a', 'three')).ticks, [{ outcome: 'skipped', id: 'one' }])
    const { state, dueAt } = await recordOf(store, 'two')
    assert.deepEqual({ state, dueAt }, { state: 'scheduled', dueAt: null })
    const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.equal(answer?.successor?.id, 'two')
    assert.equal(await stateOf(store, 'two'), 'queued')
    assert.equal((await fire(store, 'a', 'four')).ticks[0]?.outcome, 'inserted')
  },
  'overlap queue-one: the waiting job is queued when the one before it is cancelled, in whatever state': async ({
    store,
  }) => {
    await declare(store, terms('a', { overlap: 'queue-one' }), 1)
    await fire(store, 'a', 'queued')
    await fire(store, 'a', 'next')
    assert.equal(await stateOf(store, 'next'), 'scheduled')
    const cancel = async (id: string) => store.cancel([{ ids: [id], reason: null, graceMs: 0 }])
    const [answer] = await cancel('queued')
    assert.deepEqual(
      answer?.transitions.map(({ id, event }) => [id, event]),
      [
        ['queued', 'CANCEL'],
        ['next', 'DUE'],
      ],
    )
    const job = await takeOne(store)
    await store.settle([
      { ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 60_000, error: { name: 'E', message: 'm' } },
    ])
    await fire(store, 'a', 'after')
    await cancel('after')
    await fire(store, 'a', 'last')
    assert.deepEqual([await stateOf(store, 'next'), await stateOf(store, 'last')], ['retrying', 'scheduled'])
    await cancel('next')
    assert.equal(await stateOf(store, 'last'), 'queued')
  },
  'a retried job counts as the earlier job': async ({ store }) => {
    await declare(store, terms('a', { overlap: 'skip' }), 1)
    await fire(store, 'a', 'one')
    const job = await takeOne(store)
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: { name: 'E', message: 'm' } }])
    await store.retry(['one'])
    assert.deepEqual((await fire(store, 'a', 'two')).ticks, [{ outcome: 'skipped', id: 'one' }])
  },
  'a declaration and a firing send a hint of the next tick': async ({ store }) => {
    const at = store.now() + 60_000
    const hint = await hinted(store, 'schedule', null, () => declare(store, terms('a'), at))
    assert.deepEqual(hint, { kind: 'schedule', at })
    await hinted(store, 'schedule', `${at + 1}`, () => fire(store, 'a', 'one', { nextAt: at + 1 }))
  },
}
