/** Checkpoints are rows of their own: a document is written with each message that comes. */
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { memoryStore } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { seededRandom } from 'jobchart/testing'
import {
  boom,
  lease,
  message,
  newJob,
  plainCheckpoint,
  put,
  putAndTake,
  take,
  takeOne,
  write,
} from '../../../src/store-testing/conformance/acts.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { ClaimedJob, Store } from '../../../src/store.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

async function opened(store: Store): Promise<Store> {
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

const inSchema = (schema: string): Promise<Store> => opened(postgresStore({ url: server().url, schema }))

const kept = async (schema: string): Promise<unknown> => {
  const rows = await server().query(`SELECT number FROM ${schema}.checkpoints ORDER BY job, number`)
  return rows.map(({ number }) => number)
}

const numbersOf = async (store: Store, id = 'a'): Promise<number[]> =>
  (await store.checkpoints(id)).map(({ number }) => number)

const numbers = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i)

test('a document has no checkpoint, and no more are kept than of other stores', async () => {
  const store = await inSchema('large')
  const job = await putAndTake(store, 'a')
  const state = 'x'.repeat(10_000)
  for (const number of numbers(1, 55)) await write(store, job, { ...plainCheckpoint(number), state })
  await store.send([message('a', 'l1')])
  expect(await kept('large')).toEqual(numbers(6, 55))
  expect(await numbersOf(store)).toEqual(numbers(6, 55))
  const [row] = await server().query("SELECT length(doc) AS chars FROM large.jobs WHERE id = 'a'")
  expect(row?.['chars']).toBeLessThan(5_000)
})

test('they go with their job, and a repair removes those of jobs that are gone', async () => {
  const store = await inSchema('gone')
  for (const id of ['a', 'b']) {
    const job = await putAndTake(store, id)
    for (const number of numbers(1, 3)) await write(store, job, plainCheckpoint(number))
    await store.settle([{ ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
  }
  expect(await kept('gone')).toEqual([1, 2, 3, 1, 2, 3])
  await store.discard(['a'])
  expect(await kept('gone')).toEqual([1, 2, 3])
  await server().query("DELETE FROM gone.jobs WHERE id = 'b'")
  await store.repair?.()
  expect(await kept('gone')).toEqual([])
})

test('a message, a claim and an end write no checkpoint', async () => {
  const store = await inSchema('small')
  const job = await putAndTake(store, 'a')
  const state = Array.from({ length: 20_000 }, (_, n) => n)
  await write(store, job, { ...plainCheckpoint(1), state })
  await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
  const rowOf = async (): Promise<unknown> => (await server().query('SELECT ctid, entry FROM small.checkpoints'))[0]
  const before = await rowOf()
  const again = await takeOne(store, { token: 'again' })
  expect(again.checkpoint).toEqual({ number: 1, state })
  await store.send([message('a', 'l1')])
  await store.settle([{ ...lease(again), event: 'FAIL', fatal: true, to: 'dead', error: boom }])
  expect(await rowOf()).toEqual(before)
  const [record] = await store.get(['a'])
  expect(record?.checkpoint).toEqual({ number: 1, state })
})

test('a job whose last checkpoint is lost is set aside, and does not begin anew', async () => {
  const store = await inSchema('lost')
  const job = await putAndTake(store, 'a')
  for (const number of numbers(1, 2)) await write(store, job, plainCheckpoint(number))
  await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
  await put(store, newJob('b'))
  await server().query('DELETE FROM lost.checkpoints WHERE number = 2')
  expect((await takeOne(store, { token: 'next' })).id).toBe('b')
  expect(await server().query('SELECT id FROM lost.aside')).toEqual([{ id: 'a' }])
  expect((await store.discard(['a'])).discarded).toEqual(['a'])
  await store.repair?.()
  expect(await kept('lost')).toEqual([])
})

test('a repair writes down again which checkpoint is the last', async () => {
  const store = await inSchema('wrong')
  const job = await putAndTake(store, 'a')
  for (const number of numbers(1, 2)) await write(store, job, plainCheckpoint(number))
  await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
  await server().query('UPDATE wrong.jobs SET checkpoint = NULL')
  await store.repair?.()
  expect((await takeOne(store, { token: 'next' })).checkpoint).toMatchObject({ number: 2 })
})

test('a stranger that holds them holds up no checkpoint', async () => {
  const store = await inSchema('held')
  const job = await putAndTake(store, 'a')
  for (const number of numbers(1, 51)) await write(store, job, plainCheckpoint(number))
  const client = new Client({ connectionString: server().url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN; SELECT FROM held.checkpoints FOR UPDATE')
  for (const number of numbers(52, 53)) await write(store, job, plainCheckpoint(number))
  expect(await kept('held')).toEqual(numbers(2, 53))
  await client.query('ROLLBACK')
  await write(store, job, plainCheckpoint(54))
  expect(await kept('held')).toEqual(numbers(5, 54))
})

test('a job has the checkpoints that it has on the memory store, in each of its lives', async () => {
  const random = seededRandom(5)
  const below = (max: number): number => Math.floor(random() * max)
  // Another process knows nothing of what this one has written.
  const [memory, own, other] = [await opened(memoryStore()), await inSchema('same'), await inSchema('same')]
  let [last, token]: [last: number, token: number] = [0, 0]
  for (const store of [memory, own]) await put(store, newJob('a'))
  for (let round = 0; round < 120; round++) {
    const writer = below(3) === 0 ? other : own
    const both = async <T>(act: (store: Store) => Promise<T>): Promise<[T, T]> => [await act(memory), await act(writer)]
    token++
    const jobs: [ClaimedJob, ClaimedJob] = await both((store) =>
      takeOne(store, { token: `t${token}`, maxAttempts: 999 }),
    )
    expect(jobs[1].checkpoint).toEqual(jobs[0].checkpoint)
    for (let more = below(6); more > 0; more--) {
      last++
      const [first, second] = jobs
      await write(memory, first, { ...plainCheckpoint(last), state: { round, last } })
      await write(writer, second, { ...plainCheckpoint(last), state: { round, last } })
    }
    const isDead = below(4) === 0
    await Promise.all(
      [memory, writer].map((store, i) => {
        const job = jobs[i] as ClaimedJob
        return store.settle([
          isDead
            ? { ...lease(job), event: 'FAIL', fatal: true, to: 'dead', error: boom }
            : { ...lease(job), event: 'RELEASE', to: 'queued' },
        ])
      }),
    )
    if (isDead) {
      const fromStart = below(2) === 0
      if (fromStart) last = 0
      await both(async (store) => store.retry(['a'], fromStart))
    }
    const [expected, actual] = await both(async (store) => store.checkpoints('a'))
    const facts = (entries: typeof expected) => entries.map((entry) => ({ ...entry, at: 0 }))
    expect(facts(actual)).toEqual(facts(expected))
  }
  expect(await take(other, { token: 'last' })).toHaveLength(1)
})
