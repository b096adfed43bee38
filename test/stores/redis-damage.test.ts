/** Jobs whose stored data something else has changed: they are set aside by themselves, and harm no other job. */
import { randomUUID } from 'node:crypto'
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { jobStates, type JobState } from '../../src/core/lifecycle.ts'
import { figuresSize, seqField } from '../../src/stores/redis/figures.ts'
import { scriptText } from '../../src/stores/redis/row-text.ts'
import {
  ask,
  boom,
  idsOf,
  lease,
  newJob,
  noLimits,
  park,
  put,
  putAndEnd,
  putAndTake,
  plainCheckpoint,
  take,
  write,
  workerInfo,
} from '../../src/store-testing/conformance/acts.ts'
import type { NewJob, Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

/** A store, and a way to its keys that asks nobody. */
async function opened(prefix: string = randomUUID()) {
  const store = redisStore({ url: server().url, prefix })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const harm = (command: string, key: string, ...args: readonly string[]): Promise<unknown> =>
    server().command(command, `{${prefix}}:${key}`, ...args)
  return { store, prefix, harm }
}

/** Writes numbers of jobs of a type into its figures, whatever the rows say; of all types under the empty name. */
async function miscount(prefix: string, type: string, counts: Partial<Record<JobState, number>>): Promise<void> {
  const script = `
    local before = redis.call('HGET', KEYS[1], ARGV[1])
    local list = before and { struct.unpack(ARGV[2], before) } or {}
    for i = 1, #ARGV[2] - 1 do list[i] = list[i] or 0 end
    for i = 3, #ARGV, 2 do list[tonumber(ARGV[i])] = tonumber(ARGV[i + 1]) end
    redis.call('HSET', KEYS[1], ARGV[1], struct.pack(ARGV[2], unpack(list, 1, #ARGV[2] - 1)))`
  const numbers = Object.entries(counts).flatMap(([state, n]) => [jobStates.indexOf(state as JobState) + 1, n])
  const args = [scriptText(type), `>${'d'.repeat(figuresSize)}`, ...numbers.map(String)]
  await server().command('EVAL', script, '1', `{${prefix}}:figures`, ...args)
}

type World = Awaited<ReturnType<typeof opened>>

/** Damages the input or the output of a job within its row. */
async function harmWithin({ harm }: Pick<World, 'harm'>, id: string, letter: 'I' | 'O', text: string): Promise<void> {
  const row = String(await harm('HGET', 'jobs', id))
  const damaged = row.replace(new RegExp(`\0${letter}[^\0]*`), `\0${letter}${text}`)
  expect(damaged).not.toBe(row)
  await harm('HSET', 'jobs', id, damaged)
}

const ids = ['a', 'b', 'c', 'd', 'e']
const sane = async (store: Store): Promise<unknown> => ({
  counts: await store.counts(),
  listed: (await store.list({ limit: 100 })).map(({ id, state }) => [id, state]),
})

const rows = {
  'is no row': () => 'garbage',
  'has a state that there is not': (row: string) => row.replace('queued', 'weird'),
  'has a text for a number': (row: string) => row.replace(/\0\d+/, '\0many'),
  'has a rest that is no JSON': (row: string) => row.replace(/\{.*$/s, '{{{'),
}

test.for(Object.entries(rows))('a claim sets a job aside whose row %s, and claims the others', async ([, damage]) => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id, { tags: ['t'] })))
  await harm('HSET', 'jobs', 'c', damage(String(await harm('HGET', 'jobs', 'c'))))
  const answer = await ask(store, { token: 't1', max: 5, limits: noLimits })
  expect(answer.jobs.map(({ id }) => id)).toEqual(['a', 'b', 'd', 'e'])
  expect(answer.unreadable).toEqual(['c'])
  expect(await store.unreadable?.()).toEqual(['c'])
  const { counts } = (await sane(store)) as { counts: Record<string, number> }
  expect([counts['queued'], counts['running']]).toEqual([0, 4])
  const settled = await store.settle(answer.jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  expect(settled.map(({ outcome }) => outcome)).toEqual(answer.jobs.map(() => 'settled'))
  expect(await store.get(['c'])).toEqual([null])
  const discarded = await store.discard(['c', 'nobody'])
  expect([discarded.discarded, discarded.notFound]).toEqual([['c'], ['nobody']])
  expect(await store.unreadable?.()).toEqual([])
  // The id may be used again.
  await put(store, newJob('c'))
  expect((await take(store, { max: 5, token: 't2' })).map(({ id }) => id)).toEqual(['c'])
})

test('one unreadable input ends no other job: nine run, once each, and a list has them', async () => {
  const { store, prefix, harm } = await opened()
  const ran: string[] = []
  const errors: unknown[] = []
  const mail = defineJob<unknown, void>({ type: 'mail', run: async (_, { id }) => void ran.push(id) })
  const all = Array.from({ length: 10 }, (_, n) => `job ${n}`)
  await put(store, ...all.map((id) => newJob(id)))
  await harmWithin({ harm }, 'job 4', 'I', '{"n": ')
  const logger = { error: (_: string, fields?: Record<string, unknown>) => void errors.push(fields?.['error']) }
  const own = redisStore({ url: server().url, prefix })
  await using runtime = createRuntime({ jobs: [mail], store: own, logger, lease: '1s' })
  await runtime.start()
  const others = all.filter((id) => id !== 'job 4')
  await expect.poll(async () => (await store.counts()).done).toBe(9)
  expect(ran.toSorted()).toEqual(others)
  expect((await runtime.list()).map(({ id, state }) => [id, state])).toEqual(others.map((id) => [id, 'done']))
  expect(errors.map((error) => (error as JobchartError).code)).toEqual(['STORE_CORRUPT'])
  expect(await runtime.store.unreadable?.()).toEqual(['job 4'])
  const { queued, running, dead } = await store.counts()
  expect({ queued, running, dead }).toEqual({ queued: 0, running: 0, dead: 0 })
})

test('a list sets jobs aside that have ended and cannot be read', async () => {
  const { store, harm } = await opened()
  await put(store, newJob('a'), newJob('b'))
  const jobs = await take(store, { max: 2 })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done', output: { n: 1 } })))
  await harmWithin({ harm }, 'a', 'O', 'nothing')
  expect((await store.list({})).map(({ id }) => id)).toEqual(['b'])
  expect(await store.unreadable?.()).toEqual(['a'])
  expect((await store.counts()).done).toBe(1)
  await harm('HSET', 'jobs', 'b', 'garbage')
  expect((await store.list({ type: 'mail' })).length).toBe(0)
  expect(await store.unreadable?.()).toEqual(['a', 'b'])
})

test('a settlement of a job whose row was damaged is lost, and those beside it and the claim are written', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  const jobs = await take(store, { max: 2 })
  await harm('HSET', 'jobs', 'a', '')
  const settling = store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  const claiming = take(store, { max: 3, token: 't2' })
  expect((await settling).map(({ outcome }) => outcome)).toEqual(['lost', 'settled'])
  expect((await claiming).map(({ id }) => id)).toEqual(['c', 'd', 'e'])
  await store.repair?.()
  const { done, running, queued } = await store.counts()
  expect({ done, running, queued }).toEqual({ done: 1, running: 3, queued: 0 })
})

test('jobs that are due and cannot be read hold up no other, nor does one at the head of a concurrency key', async () => {
  const { store, harm } = await opened()
  const bad = Array.from({ length: 5 }, (_, n) => `bad ${n}`)
  await put(store, ...bad.map((id) => newJob(id, { delayMs: 1 })), newJob('good', { delayMs: 2 }))
  for (const id of bad) await harm('HSET', 'jobs', id, 'garbage')
  await expect
    .poll(async () => {
      await store.promote(2)
      return (await store.get(['good']))[0]?.state
    })
    .toBe('queued')
  expect(await store.unreadable?.()).toEqual(bad)
  await put(store, newJob('head', { concurrencyKey: 'k' }), newJob('next', { concurrencyKey: 'k' }))
  await harm('HSET', 'jobs', 'head', 'garbage')
  expect((await take(store, { max: 5 })).map(({ id }) => id).toSorted()).toEqual(['good', 'next'])
})

test('a repair rebuilds counts, indexes and the sequence from the rows, and brings back what can be read', async () => {
  const { store, prefix, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)), newJob('later', { delayMs: 3_600_000 }))
  await put(
    store,
    newJob('k1', { concurrencyKey: 'k' }),
    newJob('k2', { concurrencyKey: 'k' }),
    newJob('first', { priority: 1 }),
  )
  const [first, a] = await take(store, { max: 2 })
  expect([first?.id, a?.id]).toEqual(['first', 'a'])
  await store.settle([{ ...lease(a!), event: 'COMPLETE', to: 'done' }])
  const before = await sane(store)
  const row = String(await harm('HGET', 'jobs', 'c'))
  await harm('HSET', 'jobs', 'c', 'garbage')
  await store.get(['c'])
  await harm('HSET', 'aside', 'c', row)
  for (const key of [
    'due',
    'leases',
    'all',
    'queue:mail',
    'list:mail',
    'heads:mail',
    'head:mail',
    'firsts:mail',
    'leased-by',
    'ended:done:mail',
  ])
    await harm('DEL', key)
  await miscount(prefix, '', { queued: 99 })
  await miscount(prefix, 'mail', { queued: 98 })
  await miscount(prefix, 'ghost', { dead: 3 })
  await harm('HSET', 'figures', seqField, '1')
  expect(await store.repair?.()).toMatchObject({ jobs: 9, restored: ['c'], unreadable: [] })
  const { counts, ...after } = (await sane(store)) as { counts: { types: Record<string, unknown> } }
  delete counts.types['ghost']
  expect({ counts, ...after }).toEqual(before)
  await put(store, newJob('new'))
  expect((await store.get(['new']))[0]?.history[0]?.seq).toBeGreaterThan(Number(a?.seq) + 1)
  const settled = await store.settle([{ ...lease(first!), event: 'COMPLETE', to: 'done' }])
  expect(settled[0]?.outcome).toBe('settled')
  expect((await take(store, { max: 10, token: 't2' })).map(({ id }) => id)).toEqual([
    'b',
    'c',
    'd',
    'e',
    'k1',
    'k2',
    'new',
  ])
  // A second one finds nothing wrong.
  expect(await store.repair?.()).toMatchObject({ jobs: 10, restored: [], counts: 0 })
})

const afresh = async (store: Store, id: string, fields: Partial<NewJob>): Promise<unknown> =>
  (await put(store, newJob(id, fields)))[0]?.outcome

/** A job that has started, and given up the key that the next one waits for. */
async function withSuccessor() {
  const world = await opened()
  const { store } = world
  const key = { key: 'k "1"', until: 'start' } as const
  const job = await putAndTake(store, 'a', key)
  await put(store, newJob('b', key))
  expect((await store.get(['b']))[0]?.state).toBe('scheduled')
  return { ...world, key, job }
}

const queuedOnes = async (store: Store): Promise<string[]> => {
  await store.promote(10)
  return idsOf(await store.list({ state: 'queued' }))
}

test('a job that is set aside frees its unique key', async () => {
  const { store, harm } = await opened()
  const keys = { end: { key: 'k "1"' }, start: { key: 'k2', until: 'start' } } as const
  for (const [id, key] of Object.entries(keys)) {
    await put(store, newJob(id, key))
    expect(await afresh(store, 'second', key)).toBe('duplicate')
    await harmWithin({ harm }, id, 'I', '{"n": ')
    expect((await ask(store)).unreadable).toEqual([id])
    const name = JSON.stringify(['mail', key.key])
    expect(await Promise.all(['holders', 'predecessors'].map((cells) => harm('HGET', cells, name)))).toEqual([
      null,
      null,
    ])
    expect(await afresh(store, `next to ${id}`, key)).toBe('inserted')
  }
  // What it has no more, its removal does not take from the other.
  await store.discard(['end', 'start'])
  expect(await afresh(store, 'third', keys.end)).toBe('duplicate')
})

test('whoever waits for the end of a job that is set aside goes on', async () => {
  const { store, harm } = await withSuccessor()
  await harmWithin({ harm }, 'a', 'I', '{"n": ')
  expect(await store.get(['a'])).toEqual([null])
  expect(await queuedOnes(store)).toEqual(['b'])
})

test('a job that is set aside while it waits for another leaves the place to the next one', async () => {
  const { store, harm, key, job } = await withSuccessor()
  await harmWithin({ harm }, 'b', 'I', '{"n": ')
  expect(await store.get(['b'])).toEqual([null])
  expect(await afresh(store, 'c', key)).toBe('inserted')
  expect(await queuedOnes(store)).toEqual([])
  await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  expect(await queuedOnes(store)).toEqual(['c'])
})

test.for(['is set aside', 'is gone, after a repair'])(
  'no end of a job is told to one of the id of its successor, which %s',
  async (how) => {
    const { store, harm, job } = await withSuccessor()
    await harm(
      'HSET',
      'jobs',
      'b',
      how === 'is set aside' ? String(await harm('HGET', 'jobs', 'b')).replace(/\{.*$/s, '{{{') : 'garbage',
    )
    expect(await store.get(['b'])).toEqual([null])
    if (how !== 'is set aside') await store.repair?.()
    await put(store, newJob('b', { type: 'other', delayMs: 3_600_000 }))
    expect((await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]))[0]?.outcome).toBe('settled')
    expect((await store.get(['b']))[0]?.state).toBe('scheduled')
  },
)

test('a repair frees the keys of jobs whose rows do not tell them, and lets those go on that wait for these', async () => {
  const { store, harm, key } = await withSuccessor()
  await put(store, newJob('end', { key: 'x' }), newJob('lost', { type: 'other', ...key }))
  await take(store, { type: 'other' })
  await put(store, newJob('waits', { type: 'other', ...key }))
  for (const id of ['a', 'end', 'lost']) await harm('HSET', 'jobs', id, 'garbage')
  await harm('HSET', 'predecessors', JSON.stringify(['other', key.key]), '{"id":')
  expect(await store.get(['a', 'end'])).toEqual([null, null])
  expect(await store.repair?.()).toMatchObject({ unreadable: expect.arrayContaining(['a', 'end', 'lost']) as unknown })
  expect((await queuedOnes(store)).toSorted()).toEqual(['b', 'waits'])
  expect([await harm('HLEN', 'holders'), await harm('HLEN', 'predecessors')]).toEqual([2, 0])
  expect(await afresh(store, 'c', key)).toBe('duplicate')
})

/** Every key of a namespace with all that is in it. */
async function dump(prefix: string): Promise<Map<string, unknown>> {
  const namespace = `{${prefix}}:`
  const all = new Map<string, unknown>()
  const reads: Record<string, readonly [string, ...string[]]> = {
    hash: ['HGETALL'],
    zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
    list: ['LRANGE', '0', '-1'],
    stream: ['XRANGE', '-', '+'],
    string: ['GET'],
  }
  for (const key of (await server().command('KEYS', `${namespace}*`)) as string[]) {
    const kind = String(await server().command('TYPE', key))
    const [command, ...args] = reads[kind] as readonly [string, ...string[]]
    const reply = await server().command(command, key, ...args)
    all.set(key.slice(namespace.length), kind === 'hash' ? pairs(reply as string[]) : reply)
  }
  return new Map([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const pairs = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] as string]] : [])))

/**
 * What a repair may write otherwise: when types are looked at again, and who has been told and who waits for it. Counts
 * are compared as they are read.
 */
function comparable(keys: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const others = [...keys].filter(([name]) => !/^(looks|capped|figures|list:.*|queue:.*)$/s.test(name))
  return Object.fromEntries([
    ['queues', queuesOf(keys)],
    ...others.map(([name, value]) => {
      if (name === 'all' || name.startsWith('ended:')) return [name, entriesOf(value as Blocks)]
      // The lists of jobs in another order.
      if (name === 'claims') return [name, amountsOnly(value as Record<string, string>)]
      return [name, value]
    }),
  ])
}

/** The jobs of queues with their places, by type, wherever they stand. */
function queuesOf(keys: ReadonlyMap<string, unknown>): object {
  const queues = new Map<string, string[]>()
  const add = (name: string, entries: readonly string[]): void => {
    const type = name.slice(name.indexOf(':') + 1)
    queues.set(type, [...(queues.get(type) ?? []), ...entries].toSorted())
  }
  for (const [name, value] of keys) {
    if (name.startsWith('list:'))
      add(
        name,
        (value as readonly string[]).map((entry) => `0 ${entry}`),
      )
    if (name.startsWith('queue:'))
      add(
        name,
        Object.entries(pairs(value as readonly string[])).map(
          ([member, score]) => `${score} ${Number(member.slice(0, 16))} ${member.slice(16)}`,
        ),
      )
  }
  return Object.fromEntries([...queues].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

type Blocks = readonly (readonly [id: string, fields: readonly string[]])[]

/** The entries of an index in the order of numbers, in whatever blocks they are. */
const entriesOf = (blocks: Blocks): unknown[] =>
  blocks.flatMap(([, [entered, first, ...ids]]) =>
    ids.flatMap((id, i) => (id === '' ? [] : [[id, entered, Number(first) + i]])),
  )

const amountsOnly = (claims: Record<string, string>): object =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => name.startsWith('\x01')))

/** A store with jobs of every kind, of which each follows from its row. */
async function filled() {
  const { store, prefix, harm } = await opened()
  const named = (type: string, key: string, ids: readonly string[], rest: Partial<NewJob> = {}) =>
    put(store, ...ids.map((id) => newJob(`${type} ${id}`, { type, concurrencyKey: key, ...rest })))
  await store.worker('w1', workerInfo('w1'))
  // Leases of two workers, one of a key; keys at their cap, within it, and beyond their rate; keys that share their
  // claims by weight.
  await put(store, ...ids.map((id) => newJob(id)), newJob('later', { delayMs: 3_600_000 }))
  await take(store, { max: 2 })
  await take(store, { max: 1, worker: 'w\0\x012', token: 't2' })
  for (const key of ['x', 'y', 'z']) await named('capped', key, [`${key}1`, `${key}2`, `${key}3`])
  await take(store, { type: 'capped', max: 4, limits: { perKey: 2 } })
  for (const key of ['x', 'y']) await named('rated', key, [`${key}1`, `${key}2`], { priority: 3 })
  const keyRate = { limit: 1, perMs: 600_000 }
  expect(await take(store, { type: 'rated', max: 4, limits: { keyRate } })).toHaveLength(2)
  for (const key of ['x', 'y'])
    await named(
      'shared',
      key,
      ['1', '2', '3', '4'].map((n) => key + n),
      { keyWeight: key === 'x' ? 3 : 1 },
    )
  expect(await take(store, { type: 'shared', max: 5, keyShares: true })).toHaveLength(5)
  await put(store, newJob('urgent', { type: 'urgent', priority: 1 }))
  // Ended jobs of each state, a failure that is tried again, unique keys, machines and their children.
  for (const end of ['done', 'dead', 'cancelled'] as const) await putAndEnd(store, end, end, { type: 'ends' })
  const failing = await putAndTake(store, 'failing', { type: 'ends' })
  await store.settle([{ ...lease(failing), event: 'FAIL', to: 'retrying', error: boom, delayMs: 3_600_000 }])
  const key = '"ü\\\n/\x7f\0\x01'
  await put(store, newJob('unique', { type: key, key }), newJob('early', { type: 'unique', key, until: 'start' }))
  await putAndTake(store, 'started', { type: 'starts', key, until: 'start' })
  await put(store, newJob('next', { type: 'starts', key, until: 'start' }))
  await putAndEnd(store, 'over', 'done', { type: 'over', key: 'over' })
  const states = { states: ['a', 'a.\0b'], tags: ['busy'] }
  for (const [id, end] of [
    ['m1', false],
    ['m2', true],
  ] as const) {
    const machine = await putAndTake(store, id, { type: 'machine' })
    await write(store, machine, { ...plainCheckpoint(1), ...states })
    if (end) await store.settle([{ ...lease(machine), event: 'COMPLETE', to: 'done', outcome: 'all well' }])
    else await park(store, machine)
    await put(store, newJob(`child of ${id}`, { type: 'child', parent: { id, checkins: false } }))
  }
  return { store, prefix, harm }
}

test('a repair of a healthy store leaves every key of the server as it was', async () => {
  const { store, prefix } = await filled()
  const [before, counts] = [comparable(await dump(prefix)), await store.counts()]
  expect(await store.repair?.()).toMatchObject({ restored: [], unreadable: [], counts: 0 })
  expect(comparable(await dump(prefix))).toEqual(before)
  expect(await store.counts()).toEqual(counts)
})

test('a repair rebuilds every key that follows from the rows alone', async () => {
  const { store, prefix, harm } = await filled()
  const [before, counts] = [await dump(prefix), await store.counts()]
  const families =
    /^(all|claims|due|leases|leased-by|unsupported|(queue|list|group|head|heads|firsts|capped-keys|limited|held|ended|failing|children|machine-state|machine-tag):.*)$/s
  const lost = [...before.keys()].filter((name) => families.test(name))
  const kinds = new Set(lost.map((name) => name.replace(/:.*/s, '')))
  expect([...kinds].toSorted()).toEqual([
    'all',
    'capped-keys',
    'children',
    'claims',
    'due',
    'ended',
    'failing',
    'firsts',
    'group',
    'head',
    'heads',
    'held',
    'leased-by',
    'leases',
    'limited',
    'list',
    'machine-state',
    'machine-tag',
    'queue',
  ])
  for (const name of lost) await harm('DEL', name)
  for (const type of ['', ...Object.keys(counts.types)]) await miscount(prefix, type, { queued: 7, done: 7 })
  await harm('HSET', 'leased-by', 'nobody', '7')
  await harm('HSET', 'machine-counts:machine', 'state:a', '5', 'tag:gone', '2')
  await harm('ZADD', 'machine-state:c', '1', 'm1')
  await harm(
    'HDEL',
    'holders',
    ...Object.keys(before.get('holders') as object).filter((name) => name.startsWith('["\\"')),
  )
  await harm('HSET', 'holders', '["over","over"]', 'over', '["over","lost"]', 'lost')
  await harm('RPUSH', 'unarranged:capped', '0:1')
  await harm('ZADD', 'unarranged-keys:0:1', '0', 'x')
  await store.repair?.()
  // When a lease was extended, no row tells.
  const withoutTimes = (keys: ReadonlyMap<string, unknown>): object => {
    const leases = pairs(keys.get('leases') as readonly string[])
    for (const member of Object.keys(leases)) if (member.startsWith('\x01')) leases[member] = 'some time'
    return { ...comparable(keys), leases }
  }
  expect(withoutTimes(await dump(prefix))).toEqual(withoutTimes(before))
  expect(await store.counts()).toEqual(counts)
})

test('a repair finds the lease of a claim again', async () => {
  const { store, prefix, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  const jobs = await take(store, { max: 3 })
  const rows = await harm('HMGET', 'jobs', ...ids)
  for (const key of ['claims', 'leases']) await harm('DEL', key)
  // That of another process, which does not know what this one has claimed.
  await (await opened(prefix)).store.repair?.()
  const heartbeats = jobs.map(lease)
  expect((await store.extend({ worker: 'w1', leaseMs: 60_000, heartbeats })).map(({ outcome }) => outcome)).toEqual(
    jobs.map(() => 'extended'),
  )
  expect(await harm('HMGET', 'jobs', ...ids)).toEqual(rows)
  expect(await harm('ZCARD', 'leases')).toBe(1)
})

test('whoever waits for room or for a cap is told after a repair', async () => {
  const { store, prefix } = await opened()
  await put(store, newJob('a'), newJob('b'))
  for (const type of ['', 'mail']) await miscount(prefix, type, { queued: 100, running: 5 })
  await store.insert([{ jobs: [newJob('c')], capacity: 50, queue: { type: 'mail', capacity: 50 } }])
  expect(await ask(store, { limits: { concurrency: 5 } })).toMatchObject({ jobs: [] })
  const hints: unknown[] = []
  onTestFinished(store.watch?.((hint) => hints.push(hint)))
  await store.repair?.()
  expect(hints).toContainEqual({ kind: 'room' })
  expect(hints).toContainEqual({ kind: 'ready', type: 'mail', atMost: 2 })
  expect(idsOf(await take(store, { limits: { concurrency: 5 } }))).toEqual(['a', 'b'])
})
