/** Inserts on Redis: a plain job alone is stored by a script of its own, others by that for many. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { NewJob, Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

async function world(clock = movingClock()) {
  const prefix = randomUUID()
  const { store } = await redisSubject(server().url, nodeRedisAt, { prefix, clock })
  onTestFinished(() => store.close())
  const read = (command: string, key: string, ...args: string[]) =>
    server().command(command, `${namespaceOf(prefix)}${key}`, ...args)
  /** All that is kept of jobs and their type. */
  const kept = async () => ({
    rows: await read('HGETALL', 'jobs'),
    list: await read('LRANGE', 'list:mail', '0', '-1'),
    all: await read('XRANGE', 'all', '-', '+'),
    log: (await store.transitions(null, 100)).transitions.map(({ seq, at, id, type, event, from, to, attempt }) => [
      seq,
      at,
      id,
      type,
      event,
      from,
      to,
      attempt,
    ]),
    counts: await store.counts(),
    queues: await store.queues(),
    activity: await store.activity({ period: 'minute', from: 0, queues: 'each' }),
    records: await store.get(['first', 'second']),
  })
  return { store, clock, kept }
}

/** A request with a capacity goes to the script for many. */
const putByMany = (store: Store, job: NewJob) => store.insert([{ jobs: [job], capacity: 1_000 }])

const fcalls = async (): Promise<{ readonly commands: number; readonly calls: number }> => {
  const stats = String(await server().command('INFO', 'commandstats'))
  const all = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, name, calls]) => [name, Number(calls)] as const,
  )
  const commands = all.reduce((sum, [name, calls]) => sum + (name === 'info' ? 0 : calls), 0)
  return { commands, calls: all.find(([name]) => name === 'fcall')?.[1] ?? 0 }
}

test('a job that is inserted alone is kept as one of many is', async () => {
  const clock = movingClock()
  const [alone, many] = [await world(clock), await world(clock)]
  for (const { store } of [alone, many]) await putByMany(store, newJob('first'))
  const before = await fcalls()
  await put(alone.store, newJob('second', { tags: ['a'], maxAttempts: 7 }))
  const after = await fcalls()
  await putByMany(many.store, newJob('second', { tags: ['a'], maxAttempts: 7 }))
  expect(await alone.kept()).toEqual(await many.kept())
  expect([after.calls - before.calls, after.commands - before.commands]).toEqual([1, 8])
})

test('what a job alone does not find as it is mostly is left to the script for many, and to the core', async () => {
  const { store, clock, kept } = await world()
  const outcomes = async (...jobs: readonly NewJob[]) =>
    (await put(store, ...jobs)).map(({ outcome, seq }) => [outcome, seq])
  // The first of its type, one of another minute, a duplicate, one of a type with keys.
  expect(await outcomes(newJob('first'))).toEqual([['inserted', 1]])
  await clock.advance(60_000)
  expect(await outcomes(newJob('second'))).toEqual([['inserted', 2]])
  expect(await outcomes(newJob('second'))).toEqual([['duplicate', 0]])
  await put(store, newJob('keyed', { concurrencyKey: 'k' }))
  expect(await outcomes(newJob('third'))).toEqual([['inserted', 4]])
  expect((await kept()).counts.queued).toBe(4)
  expect((await take(store, { max: 4 })).map(({ id }) => id).toSorted()).toEqual(['first', 'keyed', 'second', 'third'])
})

test('a job that is inserted alone wakes others once, until a claim has found fewer than it asked for', async () => {
  const prefix = randomUUID()
  const [{ store: here }, { store: there }] = (await Promise.all(
    [1, 2].map(() => redisSubject(server().url, nodeRedisAt, { prefix })),
  )) as [Awaited<ReturnType<typeof redisSubject>>, Awaited<ReturnType<typeof redisSubject>>]
  onTestFinished(() => Promise.all([here.close(), there.close()]).then(() => {}))
  await put(here, newJob('first'))
  expect(await take(here, { max: 5 })).toHaveLength(1)
  let told = 0
  const came = Promise.withResolvers<void>()
  there.watch((hint) => {
    if (hint.kind === 'missed') came.resolve()
    else if (hint.kind === 'ready') told++
  })
  await came.promise
  await put(here, newJob('second'))
  await expect.poll(() => told).toBe(1)
  await put(here, newJob('third'))
  await put(there, newJob('fourth'))
  // Its own job is told to its own process.
  await expect.poll(() => told).toBe(2)
})

test('transitions of jobs of several types that one call has inserted, claimed and ended are read in their order', async () => {
  const { store } = await world()
  const types = ['a', 'b', 'a', 'c', 'b']
  const jobs = types.map((type, i) => newJob(`${i}`, { type }))
  await store.insert(jobs.map((job) => ({ jobs: [job], capacity: null })))
  const { transitions } = await store.transitions(null, 100)
  expect(transitions.map(({ seq, id, type, event, to }) => [seq, id, type, event, to])).toEqual(
    types.map((type, i) => [i + 1, `${i}`, type, 'ENQUEUE', 'queued']),
  )
  const limits = { concurrency: null, perKey: null, rate: null }
  const demand = ['a', 'b', 'c'].map((type) => ({ type, max: 2, limits }))
  const claimed = await store.claim({ worker: 'w', token: 't', leaseMs: 30_000, demand })
  await store.settle(
    claimed.jobs.map(({ id, attempt, token }) => ({ id, attempt, token, event: 'COMPLETE', to: 'done' })),
  )
  const page = await store.transitions(null, 100)
  expect(page.transitions.map(({ seq }) => seq)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1))
  const later = page.transitions.slice(5).map(({ id, type, event }) => `${id} ${type} ${event}`)
  const inOrder = ['0 a', '2 a', '1 b', '4 b', '3 c']
  expect(later).toEqual([...inOrder.map((job) => `${job} CLAIM`), ...inOrder.map((job) => `${job} COMPLETE`)])
})
