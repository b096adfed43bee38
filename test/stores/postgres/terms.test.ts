/** The index of terms agrees with the jobs, whatever happens to them; searches look at a bounded number of jobs. */
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import {
  idsOf,
  lease,
  newJob,
  park,
  plainCheckpoint,
  prune,
  put,
  putAndEnd,
  putAndTake,
  take,
} from '../../../src/store-testing/conformance/acts.ts'
import { termKinds } from '../../../src/core/terms.ts'
import type { JobFilter, JobPage, JobRecord, ListQuery, Store } from '../../../src/store.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { postgresSubject } from '../../support/postgres-subject.ts'
import { movingClock } from '../moving-clock.ts'

const server = postgresOfFile()
let schemas = 0

async function opened() {
  const schema = `terms_${++schemas}`
  const clock = movingClock()
  const { store, ...subject } = await postgresSubject(targetOf({ url: server().url }), schema, clock)
  onTestFinished(() => subject.close())
  const query = (text: string) => server().query(text.replaceAll('@', `${schema}.`))
  /** The rows of the index, and those that the rows of jobs ask for. */
  const indexed = async () => {
    const rows = async (text: string) =>
      (await query(text)).map(({ term, id }) => `${String(id)} ${String(term)}`).toSorted()
    return {
      has: await rows(
        'SELECT t.term, coalesce(j.id, t.job::text) AS id FROM @terms t LEFT JOIN @jobs j ON j.seq = t.job',
      ),
      wants: await rows('SELECT unnest(terms) AS term, id FROM @jobs'),
    }
  }
  return { store, clock, schema, query, indexed }
}

const found = async (store: Store, text: string) => {
  const answer = await store.terms?.({ text, limit: 10, countMax: 10 })
  return answer?.terms.map(({ kind, name = '', value, isNumber = false, jobs }) => [kind, name, value, isNumber, jobs])
}

/** All pages of a list, and how many there were. */
async function allOf(store: Store, query: ListQuery): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = []
  for (let pages = 1, after: string | undefined; ; pages++) {
    const page: JobPage<Pick<JobRecord, 'id'>> = await store.list({ ...query, ...(after !== undefined && { after }) })
    ids.push(...idsOf(page))
    if (page.next === undefined) return { ids, pages }
    after = page.next
  }
}

const odd = ['a\\b', 'a"b"', 'a\u0001b', 'a\u0000b', 'a\nb', 'a😀', 'a\ud800b', '{a,b}', '']

test('terms of all kinds are looked for among all jobs, also texts that columns have with escapes', async () => {
  const { store } = await opened()
  const meta = Object.fromEntries(
    [...odd.entries()].flatMap(([i, text]) => [
      [`n${i}`, text],
      [text, `of ${i}`],
    ]),
  )
  await put(
    store,
    newJob('job', { tags: odd, meta: { ...meta, n: 17, half: 0.5, yes: true, none: null, list: ['a'] } }),
  )
  expect((await store.terms?.({ text: 'x', limit: 1, countMax: 1 }))?.kinds).toEqual(termKinds)
  for (const [i, text] of odd.entries()) {
    expect(idsOf(await store.list({ tag: text }))).toEqual(['job'])
    expect(idsOf(await store.list({ meta: { [`n${i}`]: text } }))).toEqual(['job'])
    expect(idsOf(await store.list({ meta: { [text]: `of ${i}` } }))).toEqual(['job'])
    if (text === '') continue
    expect(await found(store, text)).toContainEqual(['tag', '', text, false, 1])
    expect(await found(store, text)).toContainEqual(['meta', `n${i}`, text, false, 1])
  }
  expect(await found(store, 'of 2')).toEqual([['meta', odd[2], 'of 2', false, 1]])
  expect(await found(store, '17')).toEqual([['meta', 'n', '17', true, 1]])
})

test('a member of meta that is no term is found by its document', async () => {
  const { store } = await opened()
  const long = 'x'.repeat(201)
  await put(
    store,
    newJob('a', { meta: { long, n: 0.5, yes: true, [long]: 1, to: 'acme' } }),
    newJob('b', { meta: { to: 'acme' } }),
  )
  expect(await found(store, 'x')).toEqual([])
  const filters: JobFilter['meta'][] = [{ long }, { n: 0.5 }, { yes: true }, { [long]: 1 }, { to: 'acme', n: 0.5 }]
  for (const meta of filters) {
    expect(idsOf(await store.list({ ...(meta && { meta }) }))).toEqual(['a'])
    expect(await store.list({ ...(meta && { meta }), fields: ['id'] })).toEqual([{ id: 'a' }])
  }
  expect(idsOf(await store.list({ meta: { n: '0.5' } }))).toEqual([])
})

test('the index has the terms of the jobs after inserts, writes, ends, removals, damage and a repair', async () => {
  const { store, query, indexed } = await opened()
  const agrees = async (ids: readonly string[]) => {
    const { has, wants } = await indexed()
    expect(has).toEqual(wants)
    expect([...new Set(has.map((row) => row.split(' ')[0]))]).toEqual(ids)
  }
  const fields = { tags: ['red', 'red', 'blue'], meta: { to: 'acme', n: 1 } }
  await put(store, newJob('plain', fields), newJob('bare'), newJob('end', fields))
  await put(store, newJob('urgent', { ...fields, priority: 1, key: 'k' }))
  await agrees(['end', 'plain', 'urgent'])
  // Its terms are others.
  await put(store, newJob('other', { key: 'k', onConflict: 'replace', tags: ['green', 'red'], meta: { to: 'zoo' } }))
  await agrees(['end', 'plain', 'urgent'])
  expect(idsOf(await store.list({ tag: 'blue' }))).toEqual(['plain', 'end'])
  expect(idsOf(await store.list({ tag: 'green', meta: { to: 'zoo' } }))).toEqual(['urgent'])
  // Plain jobs complete and are removed; one becomes a document before.
  await store.cancel([{ ids: ['plain'], reason: null, graceMs: 0 }])
  for (const max of [1, 9]) {
    const claimed = await take(store, { max, token: `t${max}` })
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  }
  await agrees(['end', 'plain', 'urgent'])
  await store.discard(['plain'])
  await agrees(['end', 'urgent'])
  const none = { ageMs: 0, count: 0 }
  await prune(store, { done: none, dead: none, cancelled: none }, 10)
  await agrees([])
  // One that cannot be read has none, and has them again when it can be read.
  await put(store, newJob('damaged', fields), newJob('sound', fields))
  await query(`UPDATE @jobs SET doc = doc || '.' WHERE id = 'damaged'`)
  expect(idsOf(await store.list({ tag: 'red' }))).toEqual(['sound'])
  await agrees(['sound'])
  await query('UPDATE @aside SET doc = left(doc, -1)')
  await query(`DELETE FROM @terms WHERE term LIKE '%blue%'; INSERT INTO @terms VALUES ('tred', 99)`)
  expect(await store.repair?.()).toMatchObject({ restored: ['damaged'] })
  await agrees(['damaged', 'sound'])
})

test('states and tags of machines are those of the last checkpoint', async () => {
  const { store, indexed } = await opened()
  await put(store, newJob('order', { type: 'order', tags: ['t'] }))
  const at = async (state: string) => {
    const [job] = await take(store, { type: 'order' })
    if (job === undefined) throw new Error('nothing to claim')
    await park(store, job, { ...plainCheckpoint(1), states: [state, 'shared'], tags: [`in ${state}`] })
  }
  await at('open')
  expect((await indexed()).has).toEqual(['order gin open', 'order sopen', 'order sshared', 'order tt'])
  expect(idsOf(await store.list({ machineState: 'shared', machineTag: 'in open' }))).toEqual(['order'])
})

test('nobody waits for rows of the index that a stranger holds: a removal of their jobs fails, and succeeds later', async () => {
  const { store, schema, indexed } = await opened()
  await put(store, newJob('a', { tags: ['red'] }), newJob('b', { tags: ['red'] }))
  await store.cancel([{ ids: ['a', 'b'], reason: null, graceMs: 0 }])
  const stranger = new Client({ connectionString: server().url })
  await stranger.connect()
  await stranger.query(`BEGIN; SELECT FROM ${schema}.terms FOR UPDATE`)
  const startedAt = performance.now()
  await expect(store.discard(['a'])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await put(store, newJob('c', { tags: ['red'] }))
  // A lock is waited for five seconds at most.
  expect(performance.now() - startedAt).toBeLessThan(4_000)
  await stranger.end()
  await expect.poll(async () => (await store.discard(['a', 'b'])).discarded.length).toBe(2)
  expect((await indexed()).has).toEqual(['c tred'])
})

const many = 6_200
/** More jobs than a call looks up; the first thousand are documents. */
async function crowd() {
  const world = await opened()
  const { store } = world
  const jobs = Array.from({ length: many }, (_, i) =>
    newJob(`job ${i}`, { tags: ['all', ...(i === many / 2 ? ['rare'] : [])], ...(i === 0 && { priority: 1 }) }),
  )
  for (let i = 0; i < many; i += 1_000) await put(store, ...jobs.slice(i, i + 1_000))
  return world
}

test('a call looks at a bounded number of jobs: a page without jobs says where to go on', async () => {
  const { store, clock } = await crowd()
  const filters: readonly JobFilter[] = [
    { finishedBefore: 1 },
    { finishedBefore: 1, tag: 'all' },
    { finishedBefore: 1, type: 'mail' },
    { meta: { yes: true } },
  ]
  for (const filter of filters) {
    for (const order of ['oldest', 'newest'] as const) {
      const page = await store.list({ ...filter, order })
      expect([page.length, typeof page.next]).toEqual([0, 'string'])
      expect(await allOf(store, { ...filter, order })).toEqual({ ids: [], pages: 2 })
      expect(await allOf(store, { ...filter, order, fields: ['id'] })).toEqual({ ids: [], pages: 2 })
    }
  }
  // The source with the fewest jobs has them within one call.
  await clock.advance(1_000)
  const enqueuedAfter = store.now()
  await put(store, newJob('last', { tags: ['all'] }))
  await take(store, { max: 1 })
  const few: readonly (readonly [ListQuery, string])[] = [
    [{ tag: 'rare', type: 'mail' }, `job ${many / 2}`],
    [{ enqueuedAfter }, 'last'],
    [{ enqueuedAfter, tag: 'all', state: 'queued' }, 'last'],
    [{ tag: 'all', state: 'running', order: 'newest' }, 'job 0'],
    [{ enqueuedAfter, finishedBefore: 1 }, ''],
    [{ tag: 'rare', orderBy: 'due' }, ''],
  ]
  for (const [query, id] of few) expect(await allOf(store, query)).toEqual({ ids: id === '' ? [] : [id], pages: 1 })
})

test('a change of all jobs that match goes on behind many that do not', async () => {
  const { store } = await crowd()
  await put(store, newJob('last', { meta: { yes: true } }))
  const own = { id: 'bulk', token: 'bulk', leaseMs: 10_000 }
  const change = { kind: 'cancel', reason: null, graceMs: 0 } as const
  const terms = { change, filter: { meta: { yes: true } }, batchSize: 100, expected: null, keep: 'always' } as const
  const answers = [await store.bulk.start({ ...own, ...terms })]
  while (answers.length < 10 && answers.at(-1)?.operation?.state === 'running')
    answers.push(await store.bulk.advance(own))
  expect(answers.map(({ jobs }) => jobs.cancelled)).toEqual([[], ['last']])
})

test('ids alone are those of the documents, in each order and for each filter', async () => {
  const { store } = await opened()
  const fieldsOf = (i: number) => ({ type: i % 2 === 0 ? 'mail' : 'sms', tags: ['t', `t${i % 3}`], meta: { i: i % 4 } })
  for (const i of [0, 4, 7, 8]) await putAndEnd(store, `job ${i}`, i % 3 === 0 ? 'dead' : 'done', fieldsOf(i))
  for (const i of [1, 2, 3, 5, 6, 9, 10, 11]) {
    await put(
      store,
      newJob(`job ${i}`, { ...fieldsOf(i), ...(i % 5 === 0 && { delayMs: 1_000 * i, concurrencyKey: 'c' }) }),
    )
  }
  await putAndTake(store, 'running', { type: 'run', tags: ['t'] })
  const failure = (await store.failures({}))[0]?.fingerprint ?? ''
  const filters: readonly JobFilter[] = [
    {},
    { tag: 't' },
    { tag: 't1', type: 'mail' },
    { tag: 't', state: ['queued', 'done'] },
    { tag: 't', state: ['queued', 'running', 'done'] },
    { state: 'running', type: 'run' },
    { state: 'done' },
    { type: ['sms', 'mail'], meta: { i: 1 } },
    { failure, state: 'dead' },
    { concurrencyKey: 'c' },
    { meta: { i: 0 }, finishedBefore: store.now() + 1, tag: 't0' },
  ]
  for (const filter of filters) {
    for (const orderBy of ['enqueued', 'finished', 'due'] as const) {
      const query = { ...filter, orderBy, order: 'newest', limit: 2 } as const
      const all = await allOf(store, query)
      expect(all.ids.length).toBe(new Set(all.ids).size)
      expect(await allOf(store, { ...query, fields: ['id'] })).toEqual(all)
      expect((await allOf(store, { ...query, order: 'oldest' })).ids.toReversed()).toEqual(all.ids)
    }
  }
  expect((await allOf(store, { tag: 't' })).ids.length).toBe(13)
})
