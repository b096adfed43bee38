/** Plain jobs are written by ways of their own, and are what the core would have made of them. */
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { idsOf, lease, newJob, noLimits, put, take } from '../../../src/store-testing/conformance/acts.ts'
import type { ClaimedJob, Hint, SettleAnswer, Store } from '../../../src/store.ts'
import { postgresPort } from '../../../src/stores/postgres/port.ts'
import type { Link, Target } from '../../../src/stores/postgres/connection.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import { remoteStore } from '../../../src/stores/remote/store.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { movingClock } from '../moving-clock.ts'

const server = postgresOfFile()

type Clock = ReturnType<typeof movingClock>

/** Its connections, and the names of the statements that were asked, in their order. */
interface Seen {
  readonly links: Link[]
  readonly names: string[]
  /** The connection of each. */
  readonly askedOn: Link[]
}

const nothingSeen = (): Seen => ({ links: [], names: [], askedOn: [] })

function seenBy(target: Target, { links, names, askedOn }: Seen): Target {
  return {
    ...target,
    async connect() {
      const link = await target.connect()
      const query = link.query.bind(link)
      link.query = (text, values, name) => {
        if (name !== undefined) {
          names.push(name)
          askedOn.push(link)
        }
        return query(text, values, name)
      }
      links.push(link)
      return link
    },
  }
}

async function opened(schema: string, isPlain: boolean, clock: Clock, asked = nothingSeen()): Promise<Store> {
  const target = seenBy(targetOf({ url: server().url }), asked)
  const { plain, ...port } = postgresPort({ ...target, schema, transitionsMax: 10_000, clock })
  const store = remoteStore({ ...port, ...(isPlain && plain !== undefined && { plain }) })
  await store.open({ clock })
  onTestFinished(() => store.close())
  return store
}

const jobs = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, i) =>
  newJob(id, {
    type: i === 5 ? 'news' : 'mail',
    input: i === 1 ? undefined : { id, text: 'line\nfeed "\\" \u0000' },
    ...(i === 2 && { tags: ['red', 'a "b"'], meta: { tenant: 7 } }),
    ...(i === 3 && { pins: { maxAttempts: 9 }, maxAttempts: 9 }),
  }),
)

const complete = async (store: Store, claimed: readonly ClaimedJob[], output?: string): Promise<SettleAnswer[]> =>
  store.settle(
    claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done', ...(output !== undefined && { output }) })),
  )

/** The jobs that have ended, in pages that begin between those that have ended together. */
async function endsInPages(store: Store, order: 'oldest' | 'newest'): Promise<readonly string[]> {
  const ids: string[] = []
  let after: string | undefined
  do {
    const page = await store.list({ orderBy: 'finished', order, limit: 1, ...(after !== undefined && { after }) })
    ids.push(...page.map(({ id }) => id))
    after = page.next
  } while (after !== undefined)
  return ids
}

/** What can be seen of a store. */
async function seen(store: Store): Promise<unknown> {
  const pages = await Promise.all([
    store.list({}),
    store.list({ order: 'newest', type: 'mail' }),
    store.list({ state: 'queued' }),
    store.list({ state: 'running' }),
    store.list({ state: ['done', 'dead'], orderBy: 'finished' }),
    store.list({ tag: 'red' }),
    store.list({ meta: { tenant: 7 } }),
    store.list({ finishedAfter: 0 }),
    store.list({ limit: 2 }).then((page) => store.list({ limit: 2, after: page.next as string })),
    endsInPages(store, 'oldest'),
    endsInPages(store, 'newest'),
  ])
  return {
    pages: pages.map((page) => [...page]),
    records: await store.get(jobs.map(({ id }) => id)),
    counts: await store.counts(),
    queues: await store.queues(),
    since: await store.queuedSince(['mail', 'news']),
    activity: await store.activity({ period: 'minute', from: 0, queues: 'each' }),
    transitions: await store.transitions(null, 100),
    some: await store.transitions((await store.transitions(null, 2)).next, 2),
  }
}

const forever = { ageMs: 1e12, count: 1e9 }
const keepOneDone = { done: { ...forever, count: 1 }, dead: forever, cancelled: forever }

type Act = (store: Store, claimed: readonly ClaimedJob[]) => Promise<unknown>

/** What is written of a plain job in any standing: then it is a document. */
const acts: Readonly<Record<string, Act>> = {
  cancel: async (store) => store.cancel([{ ids: ['a', 'd', 'f'], reason: 'why', graceMs: 5_000 }]),
  discard: async (store) => store.discard(['a', 'c', 'e']),
  retry: async (store) => store.retry(['a', 'c', 'e']),
  fail: async (store, claimed) =>
    store.settle(
      claimed.map((job) => ({
        ...lease(job),
        event: 'FAIL',
        to: 'retrying',
        delayMs: 0,
        error: { name: 'E', message: 'e' },
      })),
    ),
  release: async (store, claimed) =>
    store.settle(claimed.map((job) => ({ ...lease(job), event: 'RELEASE', to: 'queued', reason: 'stop' }))),
  'check in': async (store, claimed) =>
    store.extend({
      worker: 'w',
      leaseMs: 90_000,
      heartbeats: claimed.map((job) => ({ ...lease(job), checkin: { at: 1, value: job.id } })),
    }),
  'extend some': async (store, claimed) =>
    store.extend({ worker: 'w', leaseMs: 90_000, heartbeats: claimed.slice(1).map(lease) }),
  'complete twice': async (store, claimed) => [
    await complete(store, claimed, 'x'),
    await complete(store, claimed, 'x'),
  ],
  'claim with a limit': async (store) =>
    (await take(store, { max: 2, limits: { concurrency: 3 }, token: 'limited' })).map((job) => job.record()),
  nothing: async () => null,
}

for (const [name, act] of Object.entries(acts)) {
  test(`a plain job is what the core makes of it: ${name}`, async () => {
    const one = movingClock()
    const other = movingClock(one.now())
    const stores = [
      [one, await opened(`plain_${name.replaceAll(' ', '_')}`, true, one)],
      [other, await opened(`core_${name.replaceAll(' ', '_')}`, false, other)],
    ] as const
    const lives = await Promise.all(
      stores.map(async ([clock, store]) => {
        const life: unknown[] = [await put(store, ...jobs), await seen(store)]
        await clock.advance(1_000)
        const first = await take(store, { max: 2, maxAttempts: 5, token: 't1' })
        life.push(
          first.map((job) => ({ ...job, record: job.record() })),
          await seen(store),
        )
        await clock.advance(2_000)
        life.push(await complete(store, first, 'out'), await seen(store))
        const second = await take(store, { max: 2, token: 't2' })
        await clock.advance(500)
        life.push(await act(store, second), await seen(store))
        // Leases run out, and what has become of all goes on.
        await clock.advance(60_000)
        life.push(await store.rescue(10), await store.promote(10), await seen(store))
        const rest = await take(store, { max: 10, token: 't3' })
        life.push(
          rest.map(({ id, attempt, maxAttempts }) => [id, attempt, maxAttempts]),
          await complete(store, rest),
        )
        await clock.advance(1)
        await store.retain({ types: new Map(), others: keepOneDone })
        life.push(await store.prune(10), await seen(store))
        return life
      }),
    )
    expect(lives[0]).toEqual(lives[1])
  })
}

test('no row of a plain job is updated, and jobs of a call share what is written of it', async () => {
  const clock = movingClock()
  const store = await opened('written', true, clock)
  await put(store, ...jobs)
  await complete(store, await take(store, { max: 10 }))
  const [row] = await server().query(
    `SELECT (SELECT count(*) FROM written.jobs WHERE plain)::int AS plain,
      (SELECT count(*) FROM written.jobs WHERE xmax <> 0)::int AS changed,
      (SELECT count(*) FROM written.log)::int AS log, (SELECT count(*) FROM written.claims)::int AS open,
      (SELECT count(*) FROM written.completions)::int AS ends,
      (SELECT count(*) FROM written.jobs WHERE plain AND seq > written.front(type))::int AS waiting`,
  )
  expect(row).toEqual({ plain: 6, changed: 0, log: 3, open: 0, ends: 1, waiting: 1 })
})

test('large outputs are in rows of their own, so that who reads one does not read the others', async () => {
  const store = await opened('outputs', true, movingClock())
  await put(store, ...jobs)
  const rows = async (): Promise<unknown> =>
    (await server().query('SELECT jobs FROM outputs.completions ORDER BY ended')).map(
      (row) => (row['jobs'] as unknown[]).length,
    )
  await complete(store, await take(store, { max: 2 }), 'small')
  expect(await rows()).toEqual([2])
  await complete(store, await take(store, { max: 3 }), 'x'.repeat(1_200))
  expect(await rows()).toEqual([2, 1, 1, 1])
  const records = await store.get(['a', 'b', 'c', 'e'])
  const outputs = records.map((record) => record?.output)
  expect(outputs).toEqual(['small', 'small', 'x'.repeat(1_200), 'x'.repeat(1_200)])
})

test('a claim that somebody else has locked holds up its own jobs and no others', async () => {
  const clock = movingClock()
  const store = await opened('held', true, clock)
  await put(store, ...jobs)
  const first = await take(store, { max: 2, token: 't1' })
  const second = await take(store, { max: 2, token: 't2' })
  const stranger = new Client({ connectionString: server().url })
  await stranger.connect()
  onTestFinished(() => stranger.end())
  await stranger.query("BEGIN; SELECT FROM held.claims WHERE token = 't1' FOR UPDATE")
  await expect(complete(store, first)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await complete(store, second)).map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
  await stranger.query('ROLLBACK')
  expect((await complete(store, first)).map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
})

test('a lease that runs out while it is looked for is not rescued while a transaction of its handler is open', async () => {
  // Time goes on between the look of the server and the decision: here the clock is ahead for as long.
  const clock = movingClock(Date.now() + 800)
  const store = await opened('late', true, clock)
  await put(store, ...jobs)
  await take(store, { max: 1, token: 't1', leaseMs: 100 })
  await take(store, { max: 1, token: 't2', leaseMs: 100 })
  const handler = new Client({ connectionString: server().url })
  await handler.connect()
  onTestFinished(() => handler.end())
  await handler.query("BEGIN; SELECT FROM late.jobs WHERE id = 'a' FOR KEY SHARE")
  await clock.advance(101)
  expect((await store.rescue(10)).transitions.map(({ id }) => id)).toEqual(['b'])
  await handler.query('ROLLBACK')
  expect((await store.rescue(10)).transitions.map(({ id }) => id)).toEqual(['a'])
})

test('the ends of a turn and the claim of the same turn are one call, whatever becomes of the ends', async () => {
  const clock = movingClock()
  const asked = nothingSeen()
  const [store, other] = [await opened('turn', true, clock, asked), await opened('turn', true, clock)]
  await put(store, ...jobs)
  const first = await take(store, { max: 2, token: 't1' })
  asked.names.length = 0
  const [ended, second] = await Promise.all([complete(store, first), take(store, { max: 2, token: 't2' })])
  expect(asked.names.filter((name) => name !== 'jobchart notify')).toEqual(['jobchart exchange'])
  expect(ended.map(({ outcome, seq }) => [outcome, seq])).toEqual([
    ['settled', 9],
    ['settled', 10],
  ])
  expect(second.map(({ id, seq }) => [id, seq])).toEqual([
    ['c', 11],
    ['d', 12],
  ])
  // Their leases run out, and another store takes them back.
  await clock.advance(60_000)
  await other.rescue(10)
  const [lost, third] = await Promise.all([complete(store, second), take(store, { max: 9, token: 't3' })])
  expect(lost.map(({ outcome }) => outcome)).toEqual(['lost', 'lost'])
  expect(third.map(({ id }) => id).toSorted()).toEqual(['c', 'd', 'e'])
  expect((await store.counts()).types['mail']).toMatchObject({ queued: 0, running: 3, done: 2 })
})

test('ends and claims of plain jobs and of others, which are asked for in one turn, are a call each', async () => {
  const clock = movingClock()
  const asked = nothingSeen()
  const store = await opened('both', true, clock, asked)
  const limited = { ...noLimits, rate: { limit: 3, perMs: 60_000 } }
  await put(store, ...jobs)
  await put(store, ...['x', 'y', 'z'].map((id) => newJob(id, { type: 'limited' })))
  const claim = async (token: string, max: number): Promise<readonly ClaimedJob[]> => {
    const demand = [
      { type: 'limited', max, limits: limited },
      { type: 'mail', max, limits: noLimits },
    ]
    return (await store.claim({ worker: 'w1', token, leaseMs: 30_000, demand })).jobs
  }
  const first = await claim('t1', 2)
  expect(idsOf(first)).toEqual(['x', 'y', 'a', 'b'])
  asked.names.length = 0
  const [ended, second] = await Promise.all([complete(store, [first[0], first[2]] as ClaimedJob[]), claim('t2', 1)])
  expect([ended.map(({ outcome }) => outcome), idsOf(second)]).toEqual([
    ['settled', 'settled'],
    ['z', 'c'],
  ])
  const writes = ['jobchart commit', 'jobchart exchange']
  expect(asked.names.filter((name) => writes.includes(name))).toEqual(writes)
})

test('claims of a type whose jobs are no plain ones go to the core, until plain jobs have come', async () => {
  const clock = movingClock()
  const asked = nothingSeen()
  const store = await opened('core types', true, clock, asked)
  await put(store, ...Array.from({ length: 9 }, (_, i) => newJob(`first ${i}`, { priority: 1 })))
  await put(store, ...Array.from({ length: 9 }, (_, i) => newJob(`plain ${i}`)))
  asked.names.length = 0
  const claimed: string[] = []
  for (let i = 0; i < 18; i++) claimed.push(...idsOf(await take(store, { max: 1, token: `t${i}` })))
  expect(claimed).toEqual([
    ...Array.from({ length: 9 }, (_, i) => `first ${i}`),
    ...Array.from({ length: 9 }, (_, i) => `plain ${i}`),
  ])
  const [c, x] = ['jobchart commit', 'jobchart exchange']
  // After those in vain one claim, two and four. The last of four meets plain jobs.
  const first = [x, c, c, x, c, c, c, x, c, c, c, c, c]
  expect(asked.names.filter((name) => name === c || name === x).slice(0, first.length)).toEqual(first)
  expect(asked.names.filter((name) => name === x).length).toBeGreaterThan(5)
})

test('other processes are told of an enqueue behind it, on its connection, and once', async () => {
  const clock = movingClock()
  const asked = nothingSeen()
  const [store, other] = [await opened('told', true, clock, asked), await opened('told', true, clock)]
  const heard: Hint[] = []
  onTestFinished(other.watch((hint) => heard.push(hint)))
  await put(store, newJob('first'))
  const inserted = asked.names.indexOf('jobchart insert_plain')
  expect(asked.names.slice(inserted, inserted + 2)).toEqual(['jobchart insert_plain', 'jobchart notify'])
  expect(asked.askedOn[inserted + 1]).toBe(asked.askedOn[inserted])
  // It may not have listened yet when the first was told.
  for (let i = 0; !heard.some(({ kind }) => kind === 'ready'); i++) await put(store, newJob(`another ${i}`))
  expect(heard).toContainEqual({ kind: 'ready', type: 'mail' })
  const times = (of: string): number => asked.names.filter((name) => name === of).length
  expect(times('jobchart notify')).toBeLessThanOrEqual(times('jobchart insert_plain'))
})

test('statements stay prepared, also when nothing is there to be loaded', async () => {
  const clock = movingClock()
  const asked = nothingSeen()
  const store = await opened('prepared', true, clock, asked)
  expect(await store.get(['nobody'])).toEqual([null])
  expect(await store.queues()).toEqual([])
  await put(store, ...jobs)
  await take(store, { max: 2 })
  const prepared = await Promise.all(asked.links.map((link) => link.query('SELECT name FROM pg_prepared_statements')))
  expect(prepared.flat(2)).toEqual(expect.arrayContaining(['jobchart insert_plain', 'jobchart exchange']))
})

test('fronts of claims that are passed are removed with the moves', async () => {
  const clock = movingClock()
  const store = await opened('fronts', true, clock)
  for (let i = 0; i < 3; i++) {
    await put(store, newJob(`job ${i}`))
    await complete(store, await take(store, { max: 1 }))
  }
  const fronts = (): Promise<unknown> =>
    server().query('SELECT type, count(*)::int AS n, max(upto)::int AS upto FROM fronts.fronts GROUP BY type')
  expect(await fronts()).toEqual([{ type: 'mail', n: 3, upto: 7 }])
  await server().query("SELECT fronts.fold(0, 1, '{mail}', '{0}', '{0}', '{x}')")
  expect(await fronts()).toEqual([{ type: 'mail', n: 1, upto: 7 }])
})

test('a removal, and a discard, wait for nobody who holds the ends of plain jobs', async () => {
  const clock = movingClock()
  const store = await opened('held_ends', true, clock)
  await put(store, ...jobs)
  // What completes by one call is one row.
  for (const job of await take(store)) await complete(store, [job])
  const none = { count: 0, ageMs: 1e12 }
  await store.retain({ types: new Map(), others: { done: none, dead: none, cancelled: none } })
  const client = new Client({ connectionString: server().url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  await client.query(
    "SELECT FROM held_ends.completions d JOIN held_ends.jobs j ON j.seq = ANY(d.jobs) WHERE j.id = 'a' FOR UPDATE OF d",
  )
  const hint: unknown = expect.stringContaining('End that transaction')
  const held = { code: 'STORE_UNAVAILABLE', hint, cause: { message: 'another transaction holds the rows of 1 job' } }
  await expect(store.prune(10)).rejects.toMatchObject(held)
  expect((await store.get(['a', 'b'])).map((record) => record?.state)).toEqual(['done', undefined])
  await expect(store.discard(['a'])).rejects.toMatchObject(held)
  await client.query('ROLLBACK')
  expect(await store.prune(10)).toMatchObject({ pruned: 1 })
  expect(await store.get(['a'])).toEqual([null])
})
