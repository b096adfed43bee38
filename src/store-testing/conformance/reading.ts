/** Reading, page by page. */
import assert from 'node:assert/strict'
import { JobchartError } from '../../core/errors.ts'
import type { ListQuery, NewJob, TermKind, TermQuery } from '../../store.ts'
import {
  boom,
  idsOf,
  lease,
  newJob,
  put,
  putAndEnd,
  putAndTake,
  recordOf,
  plainCheckpoint,
  take,
  takeOne,
  write,
} from './acts.ts'
import { everyPage } from './side-by-side.ts'
import type { Cases } from './subject.ts'

const isInvalidOption = (error: unknown): boolean => error instanceof JobchartError && error.code === 'INVALID_OPTION'
const line = { at: 1, attempt: 1, message: 'a line' }

export const readingCases: Cases = {
  'get answers in the order of the ids, null for none': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'))
    const records = await store.get(['b', 'nobody', 'a'])
    assert.deepEqual(
      records.map((record) => record?.id),
      ['b', undefined, 'a'],
    )
  },
  'a record that is handed out is a copy': async ({ store }) => {
    await put(store, newJob('a', { input: { list: [1] }, tags: ['red'] }))
    const record = await recordOf(store, 'a')
    ;(record.input as { list: number[] }).list.push(2)
    ;(record.tags as string[]).push('blue')
    const again = await recordOf(store, 'a')
    assert.deepEqual([again.input, again.tags], [{ list: [1] }, ['red']])
  },
  'payloads come back as they went in, a member named __proto__ included': async ({ store }) => {
    const text =
      '{"__proto__":{"polluted":true},"text":"\\u0000\\u2028😀\\"","deep":[[{"n":-1.5e-7}]],"null":null,"empty":{}}'
    await put(store, newJob('a', { input: JSON.parse(text) }), newJob('b', { input: undefined }))
    assert.equal(JSON.stringify((await recordOf(store, 'a')).input), JSON.stringify(JSON.parse(text)))
    assert.equal((await recordOf(store, 'b')).input, undefined)
    assert.equal('polluted' in {}, false)
  },
  'a list is oldest first, in pages that lead on to each other': async ({ store }) => {
    const ids = Array.from({ length: 7 }, (_, i) => `job ${i}`)
    await put(store, ...ids.map((id, i) => newJob(id, { priority: i })))
    const first = await store.list({ limit: 3 })
    assert.deepEqual([idsOf(first), typeof first.next], [ids.slice(0, 3), 'string'])
    assert.deepEqual(idsOf(await everyPage(store, {}, 3)), ids)
    assert.deepEqual(idsOf(await everyPage(store, {}, 7)), ids)
    assert.equal((await store.list({ limit: 7 })).next, undefined)
    assert.deepEqual(idsOf(await store.list({ after: 'job 4' })), ['job 5', 'job 6'])
  },
  'a page leads on when the job it ended with is gone': async ({ store }) => {
    for (const id of ['a', 'b', 'c', 'd']) await putAndEnd(store, id, 'done')
    const { next } = await store.list({ limit: 2 })
    await store.discard(['b', 'c'])
    assert.ok(next !== undefined)
    assert.deepEqual(idsOf(await store.list({ after: next })), ['d'])
  },
  'a cursor from nowhere is refused': async ({ store }) => {
    await assert.rejects(store.list({ after: 'no such job' }), isInvalidOption)
  },
  'filters are all of the given fields, and any of a list': async ({ store }) => {
    await put(
      store,
      newJob('a', { tags: ['red', 'blue'], concurrencyKey: 'x', key: 'k' }),
      newJob('b', { tags: ['red'], type: 'sms' }),
      newJob('c', { delayMs: 1_000, tags: ['blue'] }),
    )
    await putAndTake(store, 'd', { type: 'fax', concurrencyKey: 'x' })
    const found = async (filter: Parameters<typeof store.list>[0]) => idsOf(await store.list(filter)).join('')
    assert.equal(await found({}), 'abcd')
    assert.equal(await found({ type: 'mail' }), 'ac')
    assert.equal(await found({ type: ['sms', 'fax', 'none'] }), 'bd')
    assert.equal(await found({ state: 'running' }), 'd')
    assert.equal(await found({ state: ['scheduled', 'running'], type: ['mail', 'fax'] }), 'cd')
    assert.equal(await found({ tag: 'blue' }), 'ac')
    assert.equal(await found({ tag: 'red', type: 'sms' }), 'b')
    assert.equal(await found({ concurrencyKey: 'x' }), 'ad')
    assert.equal(await found({ key: 'k', concurrencyKey: 'x' }), 'a')
    assert.equal(await found({ state: [] }), '')
    assert.equal(await found({ tag: 'none' }), '')
  },
  'a list is newest first on request, in pages that lead on to each other': async ({ store }) => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    await put(store, ...ids.map((id) => newJob(id)))
    const first = await store.list({ limit: 2, order: 'newest' })
    assert.deepEqual(idsOf(first), ['e', 'd'])
    assert.deepEqual(idsOf(await everyPage(store, { order: 'newest' }, 2)), ids.toReversed())
    assert.deepEqual(idsOf(await store.list({ order: 'newest', after: 'c' })), ['b', 'a'])
    await put(store, newJob('later'))
    assert.deepEqual(idsOf(await store.list({ order: 'newest', after: first.next ?? '' })), ['c', 'b', 'a'])
  },
  'by their end, jobs that have ended are listed, whatever their state': async ({ store }) => {
    await put(store, newJob('waiting', { type: 'sms' }))
    for (const [id, end] of [
      ['a', 'dead'],
      ['b', 'done'],
      ['c', 'cancelled'],
      ['d', 'dead'],
    ] as const) {
      await putAndEnd(store, id, end)
    }
    await store.retry(['a'])
    const job = await takeOne(store)
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(idsOf(await everyPage(store, { orderBy: 'finished' }, 1)), ['b', 'c', 'd', 'a'])
    assert.deepEqual(idsOf(await everyPage(store, { orderBy: 'finished', order: 'newest' }, 2)), ['a', 'd', 'c', 'b'])
    assert.deepEqual(idsOf(await store.list({ orderBy: 'finished', order: 'newest', state: 'dead' })), ['d'])
    assert.deepEqual(idsOf(await store.list({ orderBy: 'finished', after: 'c' })), ['d', 'a'])
    await assert.rejects(store.list({ orderBy: 'finished', after: 'waiting' }), isInvalidOption)
  },
  'by due time, jobs that wait for a time are listed, whatever their state': async ({ store }) => {
    const at = store.now() + 3_600_000
    await put(store, newJob('queued'), newJob('parked'), newJob('timed'), newJob('failed'))
    const [queued, parked, timed, failed] = await take(store, { max: 4 })
    assert.ok(queued !== undefined && parked !== undefined && timed !== undefined && failed !== undefined)
    await store.settle([
      { ...lease(parked), event: 'PARK', to: 'waiting' },
      { ...lease(timed), event: 'PARK', to: 'waiting', delayMs: 1_200_000 },
      { ...lease(failed), event: 'FAIL', to: 'retrying', delayMs: 2_400_000, error: boom },
    ])
    const tags = ['red']
    await put(store, newJob('last', { runAt: at + 7, type: 'sms' }), newJob('first', { delayMs: 600_000, tags }))
    await put(
      store,
      ...['a', 'b', 'c', 'd', 'e'].map((id) => newJob(id, { runAt: at, tags, type: id < 'c' ? 'sms' : 'fax' })),
    )
    const soonest = ['first', 'timed', 'failed', 'a', 'b', 'c', 'd', 'e', 'last']
    const found = async (query: ListQuery, limit: number) =>
      idsOf(await everyPage(store, { orderBy: 'due', ...query }, limit))
    for (const limit of [1, 2, 4, 9, 100]) {
      assert.deepEqual(await found({}, limit), soonest)
      assert.deepEqual(await found({ order: 'newest' }, limit), soonest.toReversed())
    }
    assert.deepEqual(await found({ tag: 'red' }, 2), ['first', 'a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(await found({ type: 'sms', order: 'newest' }, 1), ['last', 'b', 'a'])
    assert.deepEqual(await found({ state: ['retrying', 'waiting', 'running'] }, 1), ['timed', 'failed'])
    assert.deepEqual(await found({ state: ['queued', 'running', 'done'] }, 1), [])
    assert.deepEqual(await found({ after: 'c' }, 100), ['d', 'e', 'last'])
    assert.deepEqual(await found({ after: 'c', order: 'newest' }, 100), ['b', 'a', 'failed', 'timed', 'first'])
    // The page leads on when the job it ended with waits no more, also among jobs that are due at the same time.
    const forth = await store.list({ orderBy: 'due', limit: 5 })
    const back = await store.list({ orderBy: 'due', limit: 4, order: 'newest' })
    await store.cancel([{ ids: ['b', 'c'], reason: null, graceMs: 0 }])
    assert.ok(forth.next !== undefined && back.next !== undefined)
    assert.deepEqual(await found({ after: forth.next }, 1), ['d', 'e', 'last'])
    assert.deepEqual(await found({ after: back.next, order: 'newest' }, 1), ['a', 'failed', 'timed', 'first'])
    await assert.rejects(store.list({ orderBy: 'due', after: 'parked' }), isInvalidOption)
    await assert.rejects(store.list({ orderBy: 'due', after: 'queued' }), isInvalidOption)
    await assert.rejects(store.list({ after: forth.next }), isInvalidOption)
  },
  'a list gives the fields that are asked for, each as the record has it': async ({ store }) => {
    await put(store, newJob('a', { tags: ['red'], parent: { id: 'p', checkins: true } }))
    const job = await takeOne(store)
    await write(store, job, { ...plainCheckpoint(1), states: ['paid'], tags: ['open'] })
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom, logs: [line] }])
    const record = await recordOf(store, 'a')
    for (const field of Object.keys(record) as (keyof typeof record)[]) {
      assert.deepEqual([...(await store.list({ fields: [field] }))], [{ [field]: record[field] }], field)
    }
    const [shown] = await store.list({ fields: ['id', 'errors', 'machineStates'] })
    assert.deepEqual(shown, { id: 'a', errors: record.errors, machineStates: ['paid'] })
  },
  'jobs are found by their parent': async ({ store }) => {
    await put(store, newJob('p'), newJob('q'))
    await put(store, newJob('a', { parent: { id: 'p', checkins: false } }), newJob('b'))
    await put(store, newJob('c', { parent: { id: 'p', checkins: true } }))
    await put(store, newJob('d', { parent: { id: 'q', checkins: false } }))
    assert.deepEqual(idsOf(await everyPage(store, { parent: 'p' }, 1)), ['a', 'c'])
    assert.deepEqual(idsOf(await store.list({ parent: 'p', order: 'newest' })), ['c', 'a'])
    assert.deepEqual(idsOf(await store.list({ parent: 'nobody' })), [])
  },
  'jobs are found by the states and tags of their last checkpoint, also when they have ended': async ({ store }) => {
    const found = async (query: ListQuery) => idsOf(await everyPage(store, query, 1)).join('')
    for (const id of ['a', 'b', 'c']) await put(store, newJob(id))
    const [a, b] = await take(store, { max: 2 })
    assert.ok(a !== undefined && b !== undefined)
    await write(store, a, { ...plainCheckpoint(1), states: ['paid', 'paid.shipping'], tags: ['open'] })
    await write(store, b, { ...plainCheckpoint(1), states: ['paid', 'paid.waiting'], tags: ['open', 'late'] })
    assert.deepEqual([await found({ machineState: 'paid' }), await found({ machineTag: 'open' })], ['ab', 'ab'])
    assert.equal(await found({ machineState: 'paid.shipping' }), 'a')
    assert.equal(await found({ machineState: 'paid', machineTag: 'late', order: 'newest' }), 'b')
    assert.deepEqual([await found({ machineState: 'shipping' }), await found({ machineState: 'pai' })], ['', ''])
    // The next checkpoint takes the place of the last one; an end keeps it.
    const end = { ...plainCheckpoint(2), states: ['shipped'] }
    await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done', checkpoint: end }])
    await store.settle([{ ...lease(b), event: 'FAIL', fatal: true, error: boom, to: 'dead' }])
    assert.deepEqual([await found({ machineState: 'paid' }), await found({ machineTag: 'open' })], ['b', 'b'])
    assert.equal(await found({ machineState: 'shipped', state: 'done' }), 'a')
    assert.equal(await found({ machineState: 'paid', orderBy: 'finished' }), 'b')
    await store.retry(['b'])
    assert.equal(await found({ machineState: 'paid', state: 'queued' }), 'b')
    await store.cancel([{ ids: ['b'], reason: null, graceMs: 0 }])
    await store.retry(['b'], true)
    assert.deepEqual([await found({ machineState: 'paid' }), (await recordOf(store, 'b')).machineStates], ['', []])
    await store.discard(['a'])
    assert.equal(await found({ machineState: 'shipped' }), '')
  },
  'jobs are found by when they were enqueued and when they ended': async ({ store, advance }) => {
    const found = async (query: ListQuery) => idsOf(await store.list(query)).join('')
    await putAndEnd(store, 'a', 'done')
    await advance(10_000)
    const between = store.now()
    await advance(10_000)
    await put(store, newJob('b', { type: 'sms' }))
    await putAndEnd(store, 'c', 'dead')
    assert.equal(await found({ enqueuedAfter: between }), 'bc')
    assert.equal(await found({ enqueuedBefore: between }), 'a')
    assert.equal(await found({ finishedAfter: between }), 'c')
    assert.equal(await found({ finishedBefore: between }), 'a')
    const { finishedAt, enqueuedAt } = await recordOf(store, 'c')
    assert.equal(await found({ finishedAfter: finishedAt ?? 0, enqueuedAfter: enqueuedAt }), 'c')
    assert.equal(await found({ enqueuedBefore: enqueuedAt, enqueuedAfter: enqueuedAt }), '')
  },
  'jobs are found by members of their meta, each of exactly this type and value': async ({ store }) => {
    const found = async (meta: NonNullable<ListQuery['meta']>) => idsOf(await store.list({ meta })).join('')
    const proto = JSON.parse('{"__proto__":"x"}') as { [name: string]: string }
    await put(
      store,
      newJob('a', { meta: { tenant: 'x', paid: true, n: 1.5 } }),
      newJob('b', { meta: { tenant: 'x', paid: 1, nested: { tenant: 'y' }, list: ['x'], nothing: null } }),
      newJob('c', { meta: { tenant: '1', paid: 'true', 'a.b "c"': -7 } }),
      newJob('d', { meta: proto }),
      newJob('e'),
    )
    assert.deepEqual(
      [await found({ tenant: 'x' }), await found({ tenant: 'y' }), await found({ tenant: 1 })],
      ['ab', '', ''],
    )
    assert.deepEqual(
      [await found({ paid: true }), await found({ paid: 1 }), await found({ paid: 'true' })],
      ['a', 'b', 'c'],
    )
    assert.deepEqual(
      [await found({ paid: false }), await found({ n: 1.5 }), await found({ 'a.b "c"': -7 })],
      ['', 'a', 'c'],
    )
    assert.deepEqual([await found({ tenant: 'x', n: 1.5 }), await found({ tenant: 'x', n: 2 })], ['a', ''])
    assert.deepEqual([await found(proto), await found({ toString: 'x' }), await found({ list: 'x' })], ['d', '', ''])
  },
  'what few jobs match is found among thousands, page by page': async ({ store }) => {
    const jobs = Array.from({ length: 6_000 }, (_, i) => newJob(`job ${i}`, i % 2_999 === 10 ? { tags: ['rare'] } : {}))
    for (let i = 0; i < jobs.length; i += 1_000) await put(store, ...jobs.slice(i, i + 1_000))
    const rare = ['job 10', 'job 3009']
    for (const order of ['oldest', 'newest'] as const) {
      const expected = order === 'oldest' ? rare : rare.toReversed()
      assert.deepEqual(idsOf(await everyPage(store, { tag: 'rare', order }, 100)), expected)
      assert.deepEqual(idsOf(await everyPage(store, { tag: 'rare', order, state: 'queued' }, 1)), expected)
    }
    assert.deepEqual(idsOf(await everyPage(store, { tag: 'none' }, 100)), [])
  },
  'counts are of all jobs and of each type': async ({ store }) => {
    await putAndEnd(store, 'a', 'done')
    await put(store, newJob('b'), newJob('c'), newJob('d', { type: 'sms', delayMs: 1_000 }))
    const { queued, scheduled, done, dead, types } = await store.counts()
    assert.deepEqual([queued, scheduled, done, dead], [2, 1, 1, 0])
    assert.deepEqual([types['mail']?.queued, types['mail']?.done, types['sms']?.scheduled], [2, 1, 1])
    assert.deepEqual((await store.queue('mail')).counts, types['mail'])
  },
  'queues are listed once a job was enqueued or they were paused, also when they are empty': async ({ store }) => {
    assert.deepEqual(await store.queues(), [])
    await putAndEnd(store, 'a', 'done')
    await put(store, newJob('b', { type: 'sms' }))
    await store.queue('fax', { paused: true })
    await store.discard(['a'])
    const queues = await store.queues()
    const figures = queues.map(({ type, paused, counts: { queued, done } }) => [type, paused, queued, done])
    assert.deepEqual(
      figures.toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      [
        ['fax', true, 0, 0],
        ['mail', false, 0, 0],
        ['sms', false, 1, 0],
      ],
    )
    assert.deepEqual(
      queues.find(({ type }) => type === 'sms'),
      await store.queue('sms'),
    )
  },
  'since when the first job is queued: by priority, then by place, whatever its concurrency key': async ({
    store,
    advance,
  }) => {
    const since = async (): Promise<number | null | undefined> => (await store.queuedSince(['mail']))[0]
    const next = async (job: NewJob): Promise<number | undefined> => {
      await advance(1_000)
      return (await put(store, job))[0]?.at
    }
    assert.deepEqual(await store.queuedSince([]), [])
    assert.deepEqual(await store.queuedSince(['mail', 'never seen']), [null, null])
    const low = await next(newJob('low'))
    assert.equal(await since(), low)
    const keyed = await next(newJob('keyed', { priority: 5, concurrencyKey: 'acme' }))
    await next(newJob('later', { priority: 5, concurrencyKey: 'zoo' }))
    await next(newJob('scheduled', { priority: 9, delayMs: 60_000 }))
    assert.equal(await since(), keyed)
    const [first] = await take(store, { max: 1 })
    assert.equal(first?.id, 'keyed')
    const [second] = await take(store, { max: 1 })
    assert.equal(second?.id, 'later')
    assert.equal(await since(), low)
    const [third] = await take(store, { max: 1 })
    assert.equal(await since(), null)
    // What came back has been queued since then, at the place that it had before.
    await advance(1_000)
    assert.ok(third !== undefined)
    await store.settle([{ ...lease(third), event: 'RELEASE', to: 'queued' }])
    const released = (await recordOf(store, 'low')).history.at(-1)?.at
    assert.equal(await since(), released)
    assert.notEqual(released, low)
  },
  'a queue nobody knows is empty and not paused': async ({ store }) => {
    const { type, paused, counts } = await store.queue('never seen')
    assert.deepEqual([type, paused, counts.queued], ['never seen', false, 0])
  },
  'queues are listed by name as soon as they had a job or a pause, also when they are empty': async ({ store }) => {
    assert.deepEqual(await store.queues(), [])
    await put(store, newJob('b', { type: 'sms' }), newJob('a'))
    await store.queue('fax', { paused: true })
    await store.cancel([{ ids: ['a'], reason: null, graceMs: 0 }])
    await store.discard(['a'])
    const queues = await store.queues()
    assert.deepEqual(
      queues.map(({ type, paused, counts }) => [type, paused, counts.queued]),
      [
        ['fax', true, 0],
        ['mail', false, 0],
        ['sms', false, 1],
      ],
    )
    assert.deepEqual(queues[2], await store.queue('sms'))
  },
  'terms begin with a text, of the kinds that are indexed, each with the number of its jobs': async ({ store }) => {
    if (store.terms === undefined) return
    const terms = async (query: TermQuery) => (await store.terms?.(query)) ?? { kinds: [], terms: [] }
    await put(
      store,
      newJob('a-1', { key: 'a-key', tags: ['a-tag', 'b'], meta: { to: 'a-team', n: 17 } }),
      newJob('a-2', { concurrencyKey: 'a-group', tags: ['a-tag'], meta: { to: 'a-team', from: 'a-team' } }),
      newJob('b', { tags: ['a-tag'], meta: { n: '17' } }),
    )
    const found = async (text: string, limit = 10, countMax = 2) => {
      const answer = await terms({ text, limit, countMax })
      return answer.terms.map(({ kind, name = '', value, jobs, more }) => [kind, name, value, jobs, more])
    }
    const { kinds } = await terms({ text: 'a', limit: 1, countMax: 1 })
    const ofKinds = (...all: (readonly [kind: TermKind, ...unknown[]])[]) =>
      all.filter(([kind]) => kinds.includes(kind))
    assert.deepEqual(
      await found('a-'),
      ofKinds(
        ['id', '', 'a-1', 1, false],
        ['id', '', 'a-2', 1, false],
        ['key', '', 'a-key', 1, false],
        ['concurrencyKey', '', 'a-group', 1, false],
        ['tag', '', 'a-tag', 2, true],
        ['meta', 'from', 'a-team', 1, false],
        ['meta', 'to', 'a-team', 2, false],
      ),
    )
    assert.deepEqual(await found('a-', 1, 9), [
      ...ofKinds(['id', '', 'a-1', 1, false], ['key', '', 'a-key', 1, false]),
      ...ofKinds(['concurrencyKey', '', 'a-group', 1, false], ['tag', '', 'a-tag', 3, false]),
      ...ofKinds(['meta', 'from', 'a-team', 1, false]),
    ])
    // A number and a text are two terms.
    assert.deepEqual(await found('17'), ofKinds(['meta', 'n', '17', 1, false], ['meta', 'n', '17', 1, false]))
    assert.deepEqual(await found('A-'), [])
    await store.cancel([{ ids: ['a-1'], reason: null, graceMs: 0 }])
    await store.discard(['a-1'])
    assert.deepEqual(await found('a-k'), [])
    assert.deepEqual(
      await found('a-team'),
      ofKinds(['meta', 'from', 'a-team', 1, false], ['meta', 'to', 'a-team', 1, false]),
    )
  },
}
