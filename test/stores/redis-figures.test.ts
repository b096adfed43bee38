/** What the Redis store derives in its writes, so that figures and hand-overs scan neither keys nor jobs. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { cancel, lease, newJob, put, take, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { handOverLua } from '../../src/stores/redis/scripts/hand-over.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

async function world() {
  const prefix = randomUUID()
  const clock = movingClock()
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix, clock })
  onTestFinished(() => subject.close())
  const leasedBy = async (): Promise<Record<string, number>> => {
    const flat = (await server().command('HGETALL', `${namespaceOf(prefix)}leased-by`)) as readonly string[]
    return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(flat[i + 1])]] : [])))
  }
  return { store: subject.store, prefix, clock, leasedBy }
}

/** The commands that clients have sent, and the time that the server has spent on scripts, µs. */
async function spent(): Promise<{ readonly commands: number; readonly scriptUs: number }> {
  const clients = String(await server().command('INFO', 'stats'))
  const stats = String(await server().command('INFO', 'commandstats'))
  const [, commands = '0'] = /total_commands_processed:(\d+)/.exec(clients) ?? []
  const [, scriptUs = '0'] = /cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(stats) ?? []
  return { commands: Number(commands), scriptUs: Number(scriptUs) }
}

test('since when a type has queued jobs takes as many commands with a thousand concurrency keys as with one', async () => {
  const { store, clock } = await world()
  const keyed = Array.from({ length: 1_000 }, (_, i) => newJob(`job ${i}`, { concurrencyKey: `key ${i}` }))
  await put(store, ...keyed)
  const first = store.now()
  await clock.advance(1_000)
  await put(store, newJob('late'))
  const before = await spent()
  expect(await store.queuedSince(['mail'])).toEqual([first])
  // Seven of them ask for the figure, the others for what this test looks at.
  expect((await spent()).commands - before.commands).toBeLessThan(20)
})

test('the first queued job of a type is found also if its key is at its cap, and among all keys by priority, then by place', async () => {
  const { store, clock } = await world()
  const since = async (): Promise<number | null | undefined> => (await store.queuedSince(['mail']))[0]
  const capped = { limits: { concurrency: null, perKey: 1, rate: null } }
  const times: number[] = []
  for (const [id, concurrencyKey, priority] of [
    ['a', 'k', 0],
    ['b', 'k', 0],
    ['c', 'l', 5],
    ['d', null, 7],
  ] as const) {
    times.push(store.now())
    await put(store, newJob(id, { concurrencyKey, priority }))
    await clock.advance(10)
  }
  expect(await since()).toBe(times[3])
  expect((await take(store, { max: 3, ...capped })).map(({ id }) => id)).toEqual(['d', 'c', 'a'])
  expect(await since()).toBe(times[1])
  await cancel(store, ['b'])
  expect(await since()).toBe(null)
})

const ends: Record<string, (store: Store, clock: { advance(ms: number): Promise<void> }) => Promise<unknown>> = {
  'a completed run': async (store) => {
    const [job] = await take(store, { max: 1, worker: 'a' })
    await store.settle([{ ...lease(job!), event: 'COMPLETE', to: 'done' }])
  },
  'a released run': async (store) => {
    const [job] = await take(store, { max: 1, worker: 'a' })
    await store.settle([{ ...lease(job!), event: 'RELEASE', to: 'queued' }])
  },
  'a run that was cancelled and has ended': async (store) => {
    const [job] = await take(store, { max: 1, worker: 'a' })
    await cancel(store, [job!.id])
    await store.settle([{ ...lease(job!), event: 'COMPLETE', to: 'done' }])
  },
  'a worker that has crashed': async (store, clock) => {
    await take(store, { max: 4, worker: 'a' })
    await clock.advance(60_000)
    await store.rescue(100)
  },
}

test.for(Object.keys(ends))('%s leaves no job in the number that its worker has leased', async (end) => {
  const { store, clock, leasedBy } = await world()
  await put(store, ...Array.from({ length: 10 }, (_, i) => newJob(`job ${i}`)))
  await take(store, { max: 2, worker: 'b', leaseMs: 600_000 })
  await ends[end]?.(store, clock)
  expect(await leasedBy()).toEqual({ b: 2 })
})

/** What twenty refused hand-overs cost the server, µs: the least of five times, as other processes slow it down. */
async function handOvers(store: Store): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i++) times.push(await twentyHandOvers(store))
  return Math.min(...times)
}

async function twentyHandOvers(store: Store): Promise<number> {
  const before = await spent()
  for (let i = 0; i < 20; i++) {
    const jobs = [newJob(randomUUID(), { type: 'other' })]
    const [answers] = await store.insert([{ jobs, capacity: null, queue: { type: 'other', capacity: 0 } }])
    expect(answers?.[0]?.outcome).toBe('full')
  }
  return (await spent()).scriptUs - before.scriptUs
}

test('a hand-over costs the server no more with thousands of leased jobs', async () => {
  const { store } = await world()
  await store.worker('a', workerInfo('a', { slots: 5_000 }))
  await handOvers(store)
  const few = await handOvers(store)
  await put(store, ...Array.from({ length: 3_000 }, (_, i) => newJob(`job ${i}`)))
  await take(store, { max: 3_000, worker: 'a', leaseMs: 600_000 })
  expect(await handOvers(store)).toBeLessThan(4 * few)
})

test('the records of workers are read once, not by each hand-over', async () => {
  const { store } = await world()
  const types = ['other', ...Array.from({ length: 30 }, (_, i) => `type ${i}`)]
  const register = (i: number): Promise<void> => store.worker(`w${i}`, workerInfo(`w${i}`, { slots: 0, types }))
  await register(0)
  await handOvers(store)
  const one = await handOvers(store)
  for (let i = 1; i < 300; i++) await register(i)
  await handOvers(store)
  expect(await handOvers(store)).toBeLessThan(20 * one)
})

test('of a thousand workers the record of the one that has changed is decoded', async () => {
  const { store, prefix } = await world()
  for (let i = 0; i < 1_000; i++) await store.worker(`worker ${i}`, workerInfo(`worker ${i}`))
  // The part of the scripts as it is, with a decoder that counts.
  const counting = `
local CJSON, decoded = cjson, 0
local cjson = { null = CJSON.null, decode = function(text) decoded = decoded + 1 return CJSON.decode(text) end }
local call, P, leasedBy, workersKnown = redis.call, KEYS[1], {}, nil
local function inRows(text) return text end
${handOverLua}
local found = {}
local function look()
  found[#found + 1] = decoded
  local known = registeredWorkers()
  found[#found + 1] = #known.all .. ' workers, kinds that list mail: ' .. #(known.listing.mail or {})
end
look()
local record = call('HGET', P .. 'workers', 'worker 7')
call('HSET', P .. 'workers', 'worker 7', (record:gsub('"slots":10', '"slots":11')))
call('HDEL', P .. 'workers', 'worker 8')
call('SET', P .. 'workers-version', 'another')
look()
look()
return found`
  expect(await server().command('EVAL', counting, '1', namespaceOf(prefix))).toEqual([
    0,
    '1000 workers, kinds that list mail: 1',
    1_000,
    '999 workers, kinds that list mail: 1',
    1_001,
    '999 workers, kinds that list mail: 1',
  ])
})
