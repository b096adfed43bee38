/** The PostgreSQL store while others work on the same server: several stores, strangers, and a server that ends. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Client, Pool } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { createRuntime, defineJob, JobchartError } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { checkHistory, finalState, recordingStore, type HistoryLine } from 'jobchart/store-testing'
import { systemClock } from '../../src/core/clock.ts'
import { cancel, lease, newJob, noLimits, put, take, takeOne } from '../../src/store-testing/conformance/acts.ts'
import type { Hint, Store } from '../../src/store.ts'
import { postgresServer } from '../support/postgres-process.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'

const server = postgresOfFile()
const newSchema = (): string => `s_${randomUUID().slice(0, 8)}`

async function opened(schema: string, url = server().url): Promise<Store> {
  const store = postgresStore({ url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** A connection of somebody else. */
async function stranger(): Promise<Client> {
  const client = new Client({ connectionString: server().url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('stores that are opened at once make their schema once', async () => {
  const schema = newSchema()
  const stores = await Promise.all([1, 2, 3, 4].map(() => opened(schema)))
  await put(stores[0] as Store, newJob('a'))
  expect((await stores[3]?.counts())?.queued).toBe(1)
})

test('four stores that want the same jobs keep every promise', async () => {
  const lines: HistoryLine[] = []
  const schema = newSchema()
  const stores = await Promise.all(
    [1, 2, 3, 4].map(async () => recordingStore(await opened(schema), (line) => lines.push(line))),
  )
  const limits = { concurrency: 6, perKey: 2, rate: null }
  const [first] = stores as [Store]
  let left = 300
  const produce = async (store: Store, number: number): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      const jobs = [0, 1, 2].map((j) => {
        const key = (i + j) % 5 === 0 ? { key: `k${i % 3}`, onConflict: 'follow' as const } : {}
        return newJob(`${number}-${i}-${j}`, { ...key, concurrencyKey: `c${(i + j) % 4}`, priority: j })
      })
      const [answers = []] = await store.insert([{ jobs, capacity: null }])
      left -= answers.filter(({ outcome }) => outcome !== 'inserted').length
    }
  }
  const work = async (store: Store, number: number): Promise<void> => {
    for (let turn = 0; left > 0; turn++) {
      const token = `${number}/${turn}`
      const demand = [{ type: 'mail', max: 3, limits }]
      const { jobs } = await store.claim({ worker: `w${number}`, leaseMs: 30_000, token, demand })
      const answers = await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' as const })))
      left -= answers.filter(({ outcome }) => outcome === 'settled').length
      await store.promote(10)
    }
  }
  await Promise.all(stores.flatMap((store, i) => [produce(store, i), work(store, i)]))
  const { violations, figures } = checkHistory(lines, { final: await finalState(first), limits: { mail: limits } })
  expect(violations).toEqual([])
  expect(figures.attempts).toBeGreaterThan(150)
  const { transitions } = await first.transitions(null, 10_000)
  expect(transitions.map(({ seq }) => seq)).toEqual(transitions.map((_, i) => i + 1))
})

test('cancels, retries and claims of four stores of the same jobs end in one state each', async () => {
  const schema = newSchema()
  const stores = await Promise.all([1, 2, 3, 4].map(() => opened(schema)))
  const [first] = stores as [Store]
  const ids = Array.from({ length: 20 }, (_, i) => `job ${i}`)
  await put(first, ...ids.map((id) => newJob(id, { key: id })))
  await Promise.all(
    stores.map(async (store, n) => {
      for (let i = 0; i < 8; i++) {
        if ((n + i) % 3 === 0) await store.cancel([{ ids, reason: null, graceMs: 0 }])
        else if ((n + i) % 3 === 1) await store.retry(ids)
        else {
          const jobs = await take(store, { token: `${n}/${i}`, max: 5 })
          await store.settle(jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true }) as const))
        }
      }
    }),
  )
  const { types, ...counts } = await first.counts()
  const states = (await first.list({})).map(({ state }) => state)
  for (const [state, count] of Object.entries(counts))
    expect(states.filter((each) => each === state).length).toBe(count)
  expect(types['mail']).toEqual(counts)
})

test('counts and their cursor are of one instant while others write, also where they are written down', async () => {
  const schema = newSchema()
  const [reader, ...writers] = (await Promise.all([1, 2, 3].map(() => opened(schema)))) as [Store, ...Store[]]
  const writing = writers.map(async (store, n) => {
    for (let i = 0; i < 300; i++) await put(store, newJob(`${n}/${i}`))
  })
  const seen: { readonly queued: number; readonly cursor: string }[] = []
  for (let i = 0; i < 60; i++) seen.push(await reader.counts())
  await Promise.all(writing)
  expect(seen.map(({ queued }) => String(queued))).toEqual(seen.map(({ cursor }) => cursor))
  expect((await (await opened(schema)).counts()).queued).toBe(600)
  const [kept] = await server().query(`SELECT count(*)::int AS n FROM ${schema}.moves`)
  expect(kept?.['n']).toBeLessThan(550)
})

test('of inserts of several stores exactly as many succeed as there is room for', async () => {
  const schema = newSchema()
  const stores = await Promise.all([1, 2, 3].map(() => opened(schema)))
  const answers = await Promise.all(
    stores.flatMap((store, n) =>
      Array.from({ length: 10 }, (_, i) => store.insert([{ jobs: [newJob(`${n}/${i}`)], capacity: 12 }])),
    ),
  )
  expect(answers.flat(2).filter(({ outcome }) => outcome === 'inserted').length).toBe(12)
  expect((await stores[0]?.counts())?.queued).toBe(12)
})

test('one store hears of what another one does, also after its connection was ended', async () => {
  const schema = newSchema()
  const [store, other] = [await opened(schema), await opened(schema)]
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  const heard = async (kind: Hint['kind']): Promise<Hint[]> => {
    await expect.poll(() => hints.some((hint) => hint.kind === kind)).toBe(true)
    return hints.splice(0)
  }
  // It may not listen yet.
  for (let i = 0; !hints.some(({ kind }) => kind === 'ready'); i++) await put(other, newJob(`job ${i}`))
  expect(await heard('ready')).toContainEqual({ kind: 'ready', type: 'mail' })
  await server().query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  )
  await heard('missed')
  await takeOne(other, { max: 1 })
  await cancel(other, ['job 0'])
  await heard('cancelled')
})

test('names with every odd character are told from each other, and come back as they were', async () => {
  const store = await opened(`odd "schema"; -- ${randomUUID().slice(0, 8)}`)
  const odd = ['a\0b', 'a\\u0000b', 'a\\b', '\ud800', '\udc00', 'é', "'", '"', '{,}', '$1', 'NULL', '']
  const type = `t${odd.join('')}`
  const tags = odd.filter((each) => each !== '')
  const jobs = odd.map((each, i) => newJob(`${i}${each}`, { type, concurrencyKey: each, key: each, tags, input: each }))
  await put(store, ...jobs)
  const claimed = await take(store, { type, max: 20 })
  expect(new Set(claimed.map(({ id, input }) => `${id}=${input as string}`))).toEqual(
    new Set(odd.map((each, i) => `${i}${each}=${each}`)),
  )
  for (const [i, each] of odd.entries()) {
    expect((await store.list({ key: each })).map(({ id }) => id)).toEqual([`${i}${each}`])
    expect((await store.list({ concurrencyKey: each })).map(({ id }) => id)).toEqual([`${i}${each}`])
    if (each !== '') expect((await store.list({ tag: each })).length).toBe(odd.length)
  }
  expect((await store.get([jobs[0]?.id ?? '']))[0]).toMatchObject({ type, tags, key: odd[0] })
})

test('a row that a stranger holds fails the call that needs it, and no other call waits for it', async () => {
  const schema = newSchema()
  const store = await opened(schema)
  // A job with a key is a document: the end of a plain job needs no row of `jobs`.
  await put(store, newJob('held', { key: 'k' }), newJob('free'))
  const [held, free] = await take(store, { max: 2 })
  const other = await stranger()
  await other.query('BEGIN')
  await other.query(`SELECT FROM ${schema}.jobs WHERE id = 'held' FOR UPDATE`)
  const settled = store.settle(held === undefined ? [] : [{ ...lease(held), event: 'COMPLETE', to: 'done' }])
  const refused = expect(settled).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const second = await opened(schema)
  await put(second, newJob('another'))
  const [answer] = await second.settle(free === undefined ? [] : [{ ...lease(free), event: 'COMPLETE', to: 'done' }])
  expect(answer?.outcome).toBe('settled')
  await refused
  await other.query('ROLLBACK')
  const [again] = await store.settle(held === undefined ? [] : [{ ...lease(held), event: 'COMPLETE', to: 'done' }])
  expect(again?.outcome).toBe('settled')
})

test('calls that the server does not answer are refused by a close, which does not wait for them', async () => {
  const schema = newSchema()
  const store = await opened(schema)
  const other = await stranger()
  await other.query(`BEGIN; LOCK TABLE ${schema}.jobs IN ACCESS EXCLUSIVE MODE`)
  const calls = Promise.allSettled([put(store, newJob('a')), store.get(['a']), store.counts()])
  const startedAt = performance.now()
  await store.close()
  const refusal = { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('a stopped runtime') as unknown }
  const refused = { status: 'rejected', reason: refusal }
  expect(await calls).toMatchObject([refused, refused, refused])
  // Without the close they are given up after 15 s each.
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

test('a connection that is being made to a silent server is given up by a close', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const store = postgresStore({ url: `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/app` })
  const closing = new AbortController()
  const opening = Promise.resolve(store.open({ clock: systemClock, signal: closing.signal }))
  const refused = expect(opening).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const [socket] = (await once(silent, 'connection')) as [Socket]
  socket.resume().on('error', () => {})
  const startedAt = performance.now()
  closing.abort()
  await Promise.all([refused, once(socket, 'close')])
  // A connection may take 10 s.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('a connection that holds the turn and stops holds up others for two seconds at most', async () => {
  const schema = newSchema()
  const store = await opened(schema)
  const other = await stranger()
  other.on('error', () => {})
  await other.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s'")
  await other.query(`SELECT ${schema}.take_turn()`)
  await put(store, newJob('a'))
  expect((await store.counts()).queued).toBe(1)
})

test('connections that are ended are made anew', async () => {
  const schema = newSchema()
  const store = await opened(schema)
  const stored: string[] = []
  for (let i = 0; stored.length < 40; i++) {
    if (i % 10 === 5) {
      const own = `pid <> pg_backend_pid() AND query LIKE '%${schema}%'`
      await server().query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${own}`)
    }
    try {
      await put(store, newJob(`job ${i}`))
      stored.push(`job ${i}`)
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', hint: expect.any(String) as string })
    }
  }
  expect((await store.get(stored)).every((each) => each !== null)).toBe(true)
})

test('a server that is killed and started again has every job that was acknowledged', async () => {
  const own = await postgresServer('fsync=on')
  onTestFinished(() => own.remove())
  const store = await opened('jobs', own.url)
  const stored: string[] = []
  const insert = async (id: string): Promise<void> => {
    try {
      await put(store, newJob(id))
      stored.push(id)
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
  }
  for (let i = 0; i < 50; i++) await insert(`before ${i}`)
  const [job] = await take(store, { max: 1 })
  await Promise.all([own.kill(), ...Array.from({ length: 20 }, (_, i) => insert(`during ${i}`))])
  await expect(store.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', hint: expect.any(String) as string })
  await own.start()
  for (let i = 0; !stored.includes(`after ${i - 1}`); i++) await insert(`after ${i}`)
  expect((await store.get(stored)).every((each) => each !== null)).toBe(true)
  const [answer] = await store.settle(job === undefined ? [] : [{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  expect(answer?.outcome).toBe('settled')
})

test('a runtime goes on when its server has been killed and is back', async () => {
  const own = await postgresServer('fsync=on')
  onTestFinished(() => own.remove())
  const runs: number[] = []
  const work = defineJob<number, void>({ type: 'work', run: async (n) => void runs.push(n) })
  const store = postgresStore({ url: own.url })
  const runtime = createRuntime({ jobs: [work], store, concurrency: 4, logger: {} })
  await runtime.start()
  const numbers = Array.from({ length: 50 }, (_, n) => n)
  const before = await runtime.enqueueMany(work, numbers)
  await own.kill()
  await own.start()
  const results = await Promise.allSettled(before.map((job) => job.result({ timeout: '60s' })))
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
  expect(new Set(runs).size).toBe(50)
  await own.kill()
  expect(await runtime.stop({ timeout: '5s' })).toBeDefined()
})

test('without a server a store does not open; of several hosts it takes the one that writes', async () => {
  const nobody = postgresStore({ url: 'postgres://127.0.0.1:1/app' })
  await expect(nobody.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(nobody.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const readOnly = await postgresServer('default_transaction_read_only=on')
  onTestFinished(() => readOnly.remove())
  const port = (url: string): string => new URL(url).port
  const hosts = ['127.0.0.1:1', `127.0.0.1:${port(readOnly.url)}`, `127.0.0.1:${server().port}`].join(',')
  const store = await opened(newSchema(), `postgres://postgres@${hosts}/postgres`)
  await put(store, newJob('a'))
  const only = postgresStore({ url: readOnly.url })
  await expect(only.open({ clock: systemClock })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    hint: expect.stringContaining('default_transaction_read_only') as unknown,
  })
})

test('a pool is taken, and left as it is; other settings of the database do not matter', async () => {
  const own = await postgresServer('default_transaction_isolation=serializable', 'quote_all_identifiers=on')
  onTestFinished(() => own.remove())
  const pool = new Pool({ connectionString: own.url })
  onTestFinished(() => pool.end())
  const store = postgresStore({ pool })
  await store.open({ clock: systemClock })
  await put(store, newJob('a'))
  await takeOne(store, { max: 1, limits: noLimits })
  await store.close()
  expect(pool.totalCount).toBe(0)
})

test('options that make no sense are refused', () => {
  const wrong = [
    {},
    { url: 'http://x' },
    { url: 'postgres://x', pool: {} },
    { pool: {} },
    { url: 'postgres://x', shema: 'a' },
    { url: 'postgres://x', schema: '' },
    { url: 'postgres://x', schema: 'pg_jobs' },
    { url: 'postgres://x', schema: 'é'.repeat(32) },
  ]
  for (const options of wrong) expect(() => postgresStore(options)).toThrow(JobchartError)
})
