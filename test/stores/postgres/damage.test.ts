/**
 * Schemas of which something else has changed what is stored of jobs: these are set aside by themselves, and harm no
 * other job; a repair.
 */
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import {
  ask,
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
import type { ClaimedJob, NewJob, Store } from '../../../src/store.ts'
import type { Ask, Target } from '../../../src/stores/postgres/connection.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { postgresSubject } from '../../support/postgres-subject.ts'
import { freesItsKey, makesRoom } from '../../support/set-aside-cases.ts'
import { movingClock } from '../moving-clock.ts'

const server = postgresOfFile()
let schemas = 0

async function opened(schema = `damage_${++schemas}`, target = targetOf({ url: server().url })) {
  const clock = movingClock()
  const { store, ...subject } = await postgresSubject(target, schema, clock)
  onTestFinished(() => subject.close())
  const harm = (sql: string): Promise<unknown> => server().query(sql.replaceAll('@', `${schema}.`))
  return { store, schema, harm, clock }
}

const breaks = (id: string, doc = '{"n": '): string => `UPDATE @jobs SET doc = '${doc}' WHERE id = '${id}'`
const end = (job: ClaimedJob) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }) as const
const ids = ['a', 'b', 'c', 'd', 'e']

/** Of what a job becomes a document, and is plain otherwise. */
const kinds: Readonly<Record<string, Partial<NewJob>>> = { plain: {}, document: { priority: 1 } }

test.for(Object.keys(kinds).flatMap((kind) => ['{"n": ', 'null', '7', '{}', '{\n'].map((doc) => [kind, doc] as const)))(
  'a job whose row (%s) is %j is set aside by whoever meets it, and the others run',
  async ([kind, doc]) => {
    const { store, harm } = await opened()
    await put(store, ...ids.map((id) => newJob(id, { tags: ['t'], input: { id }, ...kinds[kind] })))
    await harm(breaks('c', doc))
    const answer = await ask(store, { max: 5, token: 't1' })
    expect(answer.jobs.map(({ id, input }) => [id, input])).toEqual(['a', 'b', 'd', 'e'].map((id) => [id, { id }]))
    expect(answer.unreadable).toEqual(['c'])
    expect((await ask(store)).unreadable).toBeUndefined()
    expect(idsOf(await store.list({}))).toEqual(['a', 'b', 'd', 'e'])
    expect(await store.unreadable?.()).toEqual(['c'])
    expect(await store.get(['c'])).toEqual([null])
    const settled = await store.settle(answer.jobs.map(end))
    expect(settled.map(({ outcome }) => outcome)).toEqual(['settled', 'settled', 'settled', 'settled'])
    const { queued, running, done } = await store.counts()
    expect({ queued, running, done }).toEqual({ queued: 0, running: 0, done: 4 })
    const discarded = await store.discard(['c', 'nobody'])
    expect([discarded.discarded, discarded.notFound]).toEqual([['c'], ['nobody']])
    expect(await store.unreadable?.()).toEqual([])
    await put(store, newJob('c'))
    expect(idsOf(await take(store, { token: 't2' }))).toEqual(['c'])
  },
)

test('one unreadable input ends no other job: nine run, once each', async () => {
  const { store, schema, harm } = await opened()
  const all = Array.from({ length: 10 }, (_, n) => `job ${n}`)
  await put(store, ...all.map((id) => newJob(id)))
  await harm(breaks('job 4'))
  const [ran, errors]: [string[], unknown[]] = [[], []]
  const mail = defineJob<unknown, void>({ type: 'mail', run: async (_, { id }) => void ran.push(id) })
  const logger = { error: (_: string, fields?: Record<string, unknown>) => void errors.push(fields?.['error']) }
  const own = postgresStore({ url: server().url, schema })
  await using runtime = createRuntime({ jobs: [mail], store: own, logger, lease: '1s' })
  await runtime.start()
  await expect.poll(async () => (await store.counts()).done).toBe(9)
  expect(ran.toSorted()).toEqual(all.filter((id) => id !== 'job 4'))
  expect(errors.map((error) => (error as JobchartError).code)).toEqual(['STORE_CORRUPT'])
})

test('damaged jobs hold up no list, promote, rescue, cancel, prune and list by filter, and many no more than one', async () => {
  const { store, harm, clock } = await opened()
  const many = Array.from({ length: 30 }, (_, n) => `bad ${n}`)
  await put(store, ...many.map((id) => newJob(id, { priority: 1, tags: ['t'] })), newJob('good', { tags: ['t'] }))
  await put(store, newJob('due', { delayMs: 1 }), newJob('never', { delayMs: 2 }))
  for (const id of ['ended', 'ended too']) await putAndEnd(store, id, 'dead', { type: 'sms' })
  await harm(breaks('never'))
  await harm(breaks('ended'))
  for (const [n, id] of many.entries()) await harm(breaks(id, `{${n}`))
  expect(idsOf(await store.list({ tag: 't' }))).toEqual(['good'])
  expect(idsOf(await store.list({ state: 'dead' }))).toEqual(['ended too'])
  expect((await store.failures({ type: 'sms' }))[0]).toMatchObject({ count: 2, dead: 1 })
  expect((await store.cancel([{ ids: [...many, 'good'], reason: null, graceMs: 0 }]))[0]).toMatchObject({
    cancelled: ['good'],
  })
  await clock.advance(2)
  await store.promote(10)
  await store.rescue(10)
  const none = { ageMs: 0, count: 0 }
  await prune(store, { done: none, dead: none, cancelled: none }, 10)
  expect(await store.unreadable?.()).toEqual([...many, 'ended', 'never'].toSorted())
})

test('a job that is set aside frees its unique key, and whoever waits for its end goes on', async () => {
  const { store, harm } = await opened()
  await freesItsKey(store, (id) => harm(breaks(id)))
})

test('a job that is set aside at the head of a concurrency key, or while it runs, makes room for the next one', async () => {
  const { store, harm } = await opened()
  await makesRoom(store, { queued: (id) => harm(breaks(id)), running: (id) => harm(breaks(id)) })
})

test('a row that somebody else holds fails the call that needs it, and is set aside later', async () => {
  const { store, harm, schema } = await opened()
  await put(store, ...ids.map((id) => newJob(id, { priority: 1 })))
  await harm(breaks('c'))
  const { Client } = await import('pg')
  const stranger = new Client({ connectionString: server().url })
  await stranger.connect()
  await stranger.query(`BEGIN; SELECT FROM ${schema}.jobs WHERE id = 'c' FOR UPDATE`)
  await expect(store.list({})).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await store.counts()).queued).toBe(5)
  await stranger.end()
  await expect.poll(async () => idsOf(await store.list({})).length).toBe(4)
})

const sane = async (store: Store): Promise<unknown> => ({
  counts: await store.counts(),
  machines: await store.machineCounts('order'),
  failures: await store.failures({}),
  listed: (await store.list({ limit: 100 })).map(({ id, state }) => [id, state]),
})

/** Jobs in many states. */
async function full() {
  const world = await opened()
  const { store } = world
  await put(store, ...ids.map((id) => newJob(id, { key: id })), newJob('later', { delayMs: 9e6 }))
  const standing = { ...plainCheckpoint(1), states: ['open'], tags: ['t'] }
  await park(store, await putAndTake(store, 'parked', { type: 'order' }), standing)
  for (const id of ['x', 'y']) await putAndEnd(store, id, 'dead', { type: 'sms' })
  await take(store, { max: 1 })
  return world
}

test('a repair of a sound schema changes nothing', async () => {
  const { store } = await full()
  const before = await sane(store)
  expect(await store.repair?.()).toEqual({ jobs: 9, restored: [], unreadable: [], counts: 0 })
  expect(await sane(store)).toEqual(before)
})

test('a repair rebuilds counts, keys and the number of the last transition, for other processes as well', async () => {
  const { store, schema, harm } = await full()
  const other = await opened(schema)
  const before = await sane(other.store)
  await harm(`UPDATE @jobs SET doc = doc || '.' WHERE id = 'b'; DELETE FROM @cells WHERE kind = 'holders'`)
  expect(await store.get(['b'])).toEqual([null])
  // The figures of one moment, and wrong ones.
  await store.repair?.()
  await harm(`UPDATE @figures SET backlog = 99, value = replace(value, '"queued":', '"queued":9'); DELETE FROM @log;
    UPDATE @folds SET upto = upto + 1; UPDATE @aside SET doc = left(doc, -1)`)
  const wrong = expect.toSatisfy((counts: number) => counts > 0) as number
  expect(await store.repair?.()).toEqual({ jobs: 9, unreadable: [], restored: ['b'], counts: wrong })
  expect(await sane(other.store)).toEqual(before)
  expect((await put(store, newJob('again', { key: 'd' })))[0]).toMatchObject({ outcome: 'duplicate', id: 'd' })
  // No number of a transition is given twice.
  await put(store, newJob('new'))
  const records = await store.get([...ids, 'new'])
  const numbers = records.map((each) => each?.history[0]?.seq ?? 0)
  expect(Math.max(...numbers)).toBe(numbers.at(-1))
  expect(new Set(numbers).size).toBe(6)
})

/** Calls `act` before each statement of a transaction that looks at jobs for a repair. */
function interrupted(act: () => Promise<unknown>): Target {
  const target = targetOf({ url: server().url })
  return {
    ...target,
    async connect() {
      const link = await target.connect()
      const transaction = link.transaction.bind(link)
      return Object.assign(link, {
        transaction: <T>(settings: string, work: (ask: Ask) => Promise<T>): Promise<T> =>
          transaction(settings, (ask) =>
            work(async (...statement) => {
              if (statement[0].includes('.standing s')) await act()
              return ask(...statement)
            }),
          ),
      })
    },
  }
}

test('others write while a repair looks at the jobs, and the counts are exact afterwards', async () => {
  const { store, schema, harm } = await opened()
  await put(store, ...Array.from({ length: 600 }, (_, n) => newJob(`plain ${n}`)))
  await put(store, ...Array.from({ length: 600 }, (_, n) => newJob(`keyed ${n}`, { key: `k${n}`, tags: ['t'] })))
  // Figures that are written down, and wrong.
  await store.repair?.()
  await harm(`UPDATE @figures SET value = replace(value, '"queued":', '"queued":9')`)
  let calls = 0
  const act = async (): Promise<void> => {
    calls++
    const [first, ...jobs] = await take(store, { max: 5, token: `t${calls}` })
    await store.settle(jobs.map(end))
    await put(store, newJob(`new ${calls}`, { key: `new ${calls}` }), newJob(`plain new ${calls}`))
    await store.cancel([{ ids: [`keyed ${599 - calls}`, first?.id ?? ''], reason: null, graceMs: 0 }])
  }
  const { store: repairing } = await opened(schema, interrupted(act))
  expect(await repairing.repair?.()).toMatchObject({ unreadable: [], restored: [], counts: 1 })
  expect(calls).toBeGreaterThan(2)
  const done = 4 * calls
  const counts = { queued: 1_200 - 4 * calls, running: 0, cancelling: calls, cancelled: calls, done }
  expect(await (await opened(schema)).store.counts()).toMatchObject(counts)
  expect(await store.counts()).toMatchObject(counts)
  expect(await store.repair?.()).toMatchObject({ jobs: 1_200 + 2 * calls, counts: 0, unreadable: [] })
})

test('a repair writes the columns of a document that follow from it', async () => {
  const { store, harm } = await full()
  await put(store, newJob('tagged', { delayMs: 9e6, tags: ['t'] }))
  const columns = (): Promise<unknown> => harm('SELECT id, to_jsonb(j) AS all FROM @jobs j ORDER BY seq')
  const before = await columns()
  await harm(`UPDATE @jobs SET state = 'done', wake_at = NULL, place = 7, unique_key = NULL, terms = NULL, parent = 'x'
    WHERE NOT plain`)
  expect(await store.repair?.()).toMatchObject({ jobs: 10, unreadable: [] })
  expect(await columns()).toEqual(before)
  expect(idsOf(await store.list({ tag: 't' }))).toEqual(['tagged'])
})

test('plain jobs whose claim or end is gone run again after a repair', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  const jobs = await take(store, { max: 4, token: 't1' })
  await store.settle(jobs.slice(0, 2).map(end))
  await harm('DELETE FROM @completions; DELETE FROM @claims')
  expect(await store.repair?.()).toMatchObject({ jobs: 5, unreadable: [] })
  expect(await store.counts()).toMatchObject({ queued: 1, running: 4, done: 0 })
  await store.rescue(10)
  expect(idsOf(await store.list({ state: 'queued' }))).toEqual(ids)
  expect((await take(store, { max: 5, token: 't2' })).map(({ id, attempt }) => [id, attempt])).toEqual(
    expect.arrayContaining([
      ['a', 2],
      ['e', 1],
    ]),
  )
  expect(await store.repair?.()).toMatchObject({ jobs: 5, counts: 0 })
})

test('what a role limits for its statements is not meant for a repair', async () => {
  const { store, schema, harm } = await full()
  await harm(`CREATE TABLE @probe (told text);
    CREATE FUNCTION @note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO @probe
        SELECT string_agg(current_setting(name), ' ' ORDER BY name DESC) FROM pg_settings
        WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout');
      RETURN NULL; END $$;
    CREATE TRIGGER note AFTER INSERT ON @moves FOR EACH ROW EXECUTE FUNCTION @note()`)
  const limits = encodeURIComponent('-c statement_timeout=30s -c idle_in_transaction_session_timeout=30s')
  const limited = postgresStore({ url: `${server().url}?options=${limits}`, schema })
  await limited.open({ clock: systemClock })
  onTestFinished(() => limited.close())
  await put(limited, newJob('new', { priority: 1 }))
  await limited.repair?.()
  expect(await harm('SELECT array_agg(DISTINCT told ORDER BY told) AS told FROM @probe')).toEqual([
    { told: ['0 0', '30s 30s'] },
  ])
  await store.counts()
})

test('a job that is brought back leaves its key to the one that has taken it', async () => {
  const { store, harm } = await opened()
  await put(store, newJob('a', { key: 'k' }))
  await harm(`UPDATE @jobs SET doc = doc || '.'`)
  expect(await store.get(['a'])).toEqual([null])
  await put(store, newJob('b', { key: 'k' }))
  await harm('UPDATE @aside SET doc = left(doc, -1)')
  expect(await store.repair?.()).toMatchObject({ restored: ['a'], jobs: 2 })
  expect((await store.get(['a', 'b'])).map((each) => each?.key)).toEqual([null, 'k'])
  expect(idsOf(await take(store, { max: 5 }))).toEqual(['a', 'b'])
})
