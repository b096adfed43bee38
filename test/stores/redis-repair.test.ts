/** A repair goes in steps, and other clients of the server are served between them. */
import { randomUUID } from 'node:crypto'
import { redisStore } from 'jobchart/redis'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { Store } from '../../src/store.ts'
import { seqField } from '../../src/stores/redis/figures.ts'
import {
  lease,
  newJob,
  park,
  plainCheckpoint,
  put,
  putAndEnd,
  putAndTake,
  take,
  workerInfo,
} from '../../src/store-testing/conformance/acts.ts'
import { addressFor } from '../support/redis-user.ts'
import { delayedStore } from '../support/delayed-redis.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

async function storeOf(prefix: string, url = server().url): Promise<Store> {
  const store = redisStore({ url, prefix })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** A store, and a way to its keys that asks nobody. */
async function opened(prefix: string = randomUUID()) {
  const harm = (command: string, key: string, ...args: readonly string[]): Promise<unknown> =>
    server().command(command, `{${prefix}}:${key}`, ...args)
  return { store: await storeOf(prefix), prefix, harm }
}

const many = Array.from({ length: 1_100 }, (_, n) => `job ${n}`)

/** Jobs of several states, of one claim, with keys, more than a step enters. */
async function filled(store: Store): Promise<void> {
  await put(store, ...many.map((id) => newJob(id)))
  await put(
    store,
    ...['a', 'b'].map((id) => newJob(id, { key: id, concurrencyKey: 'k' })),
    newJob('later', { delayMs: 9e6 }),
  )
  const jobs = await take(store, { max: 600, token: 't1' })
  await store.settle(jobs.slice(100).map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
}

const seen = async (store: Store): Promise<unknown> => ({
  counts: await store.counts(),
  listed: await Promise.all(
    (['queued', 'running', 'done', 'scheduled'] as const).map(async (state) =>
      (await store.list({ state, limit: 1_000, fields: ['id'] })).map(({ id }) => id),
    ),
  ),
})

/** @param before is called before each step of a repair */
const repairing = (prefix: string, before: (step: string, count: number) => Promise<void>): Promise<Store> => {
  const counts = new Map<string, number>()
  return delayedStore(server().url, prefix, async ([, name, , , , , , , step = '']) => {
    if (name?.endsWith('_repair') !== true) return
    counts.set(step, (counts.get(step) ?? 0) + 1)
    await before(step, counts.get(step) ?? 0)
  })
}

test('between its steps a repair refuses calls, and afterwards all is as it was', async () => {
  const { store, prefix } = await opened()
  await filled(store)
  const was = await seen(store)
  const refusals: unknown[] = []
  const repairer = await repairing(prefix, async (step, count) => {
    if (step !== 'rows' || count !== 3) return
    const calls = [
      put(store, newJob('x')),
      put(store, newJob('y'), newJob('z')),
      take(store, { max: 5 }),
      store.list({}),
      store.counts(),
    ]
    for (const each of await Promise.allSettled<unknown>(calls))
      refusals.push(each.status === 'rejected' && String(each.reason))
  })
  expect(await repairer.repair?.()).toEqual({ jobs: many.length + 3, restored: [], unreadable: [], counts: 0 })
  expect(refusals).toEqual(Array.from({ length: 5 }, () => expect.stringMatching(/jobs are rebuilt/) as unknown))
  expect(await seen(store)).toEqual(was)
  await put(store, newJob('x'))
  expect((await take(store, { max: 1_000, token: 't2' })).length).toBe(many.length - 600 + 3)
})

test('a repair after one that was interrupted completes it, and the leases stay', async () => {
  const { store, prefix } = await opened()
  await filled(store)
  const was = await seen(store)
  const repairer = await repairing(prefix, (step, count) =>
    step === 'rows' && count === 3 ? Promise.reject(new Error('interrupted')) : Promise.resolve(),
  )
  await expect(repairer.repair?.()).rejects.toThrow('interrupted')
  await expect(put(store, newJob('x'))).rejects.toThrow(/jobs are rebuilt/)
  // With the rights that the guide names.
  const other = await storeOf(prefix, await addressFor(server(), prefix, prefix))
  expect(await other.repair?.()).toMatchObject({ jobs: many.length + 3, restored: [] })
  expect(await seen(store)).toEqual(was)
  expect(await other.repair?.()).toMatchObject({ counts: 0 })
})

test('a repair that begins amid another one takes over', async () => {
  const { store, prefix } = await opened()
  await filled(store)
  const was = await seen(store)
  let second: unknown
  const repairer = await repairing(prefix, async (step, count) => {
    if (step === 'rows' && count === 3) second = await store.repair?.()
  })
  await expect(repairer.repair?.()).rejects.toThrow(/another repair has taken over/)
  expect(second).toMatchObject({ jobs: many.length + 3 })
  expect(await seen(store)).toEqual(was)
})

test('a repair leaves the keys of other prefixes alone', async () => {
  const name = randomUUID()
  const [{ store: shop }, { store }] = [await opened(`sho${name}`), await opened(`sh*${name}`)]
  await put(shop, newJob('a', { delayMs: 9e6 }), newJob('b', { priority: 1 }))
  await put(store, newJob('c'))
  const was = await seen(shop)
  expect(await store.repair?.()).toMatchObject({ jobs: 1 })
  expect(await seen(shop)).toEqual(was)
  expect(await shop.repair?.()).toMatchObject({ counts: 0 })
})

test('no transition has a number again whose job was discarded, if the figures were lost', async () => {
  const { store, harm } = await opened()
  await putAndEnd(store, 'goes', 'done')
  await put(store, newJob('stays'))
  await store.discard(['goes'])
  await put(store, newJob('gone'))
  await harm('HDEL', 'jobs', 'gone')
  await harm('DEL', 'figures')
  expect(await store.repair?.()).toMatchObject({ jobs: 1 })
  await put(store, newJob('new'))
  expect((await store.counts()).queued).toBe(2)
})

test.for(['', 'garbage', '{"a":1}', '-1'])('figures that are all %j are rebuilt', async (text) => {
  const { store, prefix, harm } = await opened()
  await put(store, newJob('a'), newJob('b', { delayMs: 9e6 }))
  const was = await seen(store)
  for (const field of ['', 'mail', seqField]) await harm('HSET', 'figures', field, text)
  const other = await storeOf(prefix)
  expect(await other.repair?.()).toMatchObject({ jobs: 2 })
  expect(await seen(other)).toEqual(was)
  await put(other, newJob('c'))
})

test('a repair sets all aside that no list could read', async () => {
  const { store, harm } = await opened()
  await putAndEnd(store, 'cut', 'done')
  await put(store, ...['empty', 'sound'].map((id) => newJob(id, { meta: { of: id } })))
  await harm('HSET', 'data:meta', 'empty', '')
  const row = String(await harm('HGET', 'jobs', 'cut'))
  await harm('HSET', 'jobs', 'cut', row.slice(0, -3))
  for (const [id, key] of [
    ['checkpointed', 'checkpoints'],
    ['mailed', 'inbox'],
  ] as const) {
    await park(store, await putAndTake(store, id, { type: 'machine' }), plainCheckpoint(1))
    await harm('RPUSH', `${key}:${id}`, 'garbage')
  }
  const answer = await store.repair?.()
  expect(answer?.unreadable.toSorted()).toEqual(['checkpointed', 'cut', 'empty', 'mailed'])
  expect((await store.list({})).map(({ id }) => id)).toEqual(['sound'])
  expect(await store.repair?.()).toMatchObject({ jobs: 1, restored: [], counts: 0 })
})

test('a key of another type is renamed, and what follows from the rows is as it was', async () => {
  const { store, harm } = await opened()
  await put(store, newJob('a', { key: 'k', meta: { of: 'a' } }), newJob('b', { type: 'machine', delayMs: 9e6 }))
  await take(store)
  const was = await seen(store)
  const names = ['holders', 'leases', 'log', 'looks', 'due', 'paused', 'workers', 'machine-counts:machine']
  for (const name of names) await harm('SET', name, 'garbage')
  expect(await store.repair?.()).toMatchObject({ jobs: 2, counts: 0 })
  expect(await seen(store)).toEqual(was)
  expect(await harm('GET', 'wrong-type:holders')).toBe('garbage')
  expect((await put(store, newJob('c', { key: 'k' })))[0]?.outcome).toBe('duplicate')
  await store.worker('new', workerInfo('new'))
})

test('a repair drops registrations that cannot be read, and keeps pauses of which that holds', async () => {
  const { store, harm } = await opened()
  await store.worker('sound', workerInfo('sound'))
  await put(store, newJob('a'))
  await harm('HSET', 'workers', 'bad', 'garbage', '', 'many')
  await harm('HSET', 'paused', 'mail', 'garbage')
  await store.repair?.()
  expect((await store.workers()).map(({ id }) => id)).toEqual(['sound'])
  await store.worker('new', workerInfo('new'))
  expect(await take(store)).toEqual([])
})
