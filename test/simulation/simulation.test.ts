/** Lives, many of them: whatever fails, what is promised is kept. And the proof that it would be noticed if not. */
import { memoryStore } from 'jobchart'
import { expect, test, vi } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { readOptions, UsageError } from '../harness/options.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { brokenStores } from './broken-stores.ts'
import { replay, simulateTable } from './command.ts'
import { live } from './life.ts'
import { mutants } from './mutants.ts'
import { stores, type StoreFactory } from './stores.ts'

const server = serverOfFile()
const memory = stores['memory'] as StoreFactory

/**
 * So many seeds are played each time; `npm run proof -- --only lives` plays 10,000, `npm run simulate` as many as
 * asked.
 */
const seeds = isLong ? 200 : 60

/** Seeds beyond those in which a promise was broken before the engine, or the judgement, was mended. */
const brokenOnce = [
  ...mutants.map(({ seed }) => seed),
  286,
  694,
  1145,
  2982,
  3479,
  3938,
  7873,
  21424,
  40852,
  74928,
].filter((seed) => seed > seeds)

/** What must have happened in one of twenty lives at least: a quiet life proves little. */
const notable = [
  ...['start', 'once', 'enqueue', 'many', 'cancel', 'retry', 'result', 'done', 'dead', 'cancelled'],
  ...['enqueue STORE_UNAVAILABLE', 'cancel STORE_UNAVAILABLE', 'start STORE_UNAVAILABLE', 'result STOPPED'],
  ...['crash', 'poison', 'freeze', 'sleep', 'jump', 'jump of the store', 'cut off', 'pause', 'pause queue'],
  ...[
    'stop drain',
    'stop finish',
    'stop abort',
    'deaf',
    'stuck',
    'step again',
    'lost',
    'duplicate',
    'replaced',
    'superseded',
  ],
]

test(`in ${seeds} lives every promise is kept`, async () => {
  const totals: Record<string, number> = {}
  for (const seed of [...brokenOnce, ...Array.from({ length: seeds }, (_, i) => i + 1)]) {
    const { broken, seen } = await live(seed, memory)
    expect(broken, `seed ${seed}; ${replay('memory', seed)}`).toEqual([])
    for (const [what, times] of Object.entries(seen)) totals[what] = (totals[what] ?? 0) + times
  }
  for (const what of notable) expect(totals[what], what).toBeGreaterThan(seeds / 20)
})

test('the same seed gives the same life, and another seed another life', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const lives = [await live(seed, memory), await live(seed, memory)]
    expect(lives[0]?.trace.length).toBeGreaterThan(50)
    expect(lives[1]).toEqual(lives[0])
  }
  expect((await live(5, memory)).trace).not.toEqual((await live(6, memory)).trace)
})

test('every promise is kept on a SQLite file', async () => {
  for (let seed = 1; seed <= (isLong ? 5 : 3); seed++) {
    const { broken } = await live(seed, stores['sqlite'] as StoreFactory)
    expect(broken, `seed ${seed}; ${replay('sqlite', seed)}`).toEqual([])
  }
})

redisTest('every promise is kept on Redis, in virtual time', async () => {
  vi.stubEnv('JOBCHART_REDIS_URL', server().url)
  for (let seed = 1; seed <= (isLong ? 5 : 3); seed++) {
    const { broken } = await live(seed, stores['redis'] as StoreFactory)
    expect(broken, `seed ${seed}; ${replay('redis', seed)}`).toEqual([])
  }
  expect(await server().command('DBSIZE')).toBe(0)
})

const postgres = postgresOfFile()
postgresTest('every promise is kept on PostgreSQL, in virtual time', async () => {
  vi.stubEnv('JOBCHART_POSTGRES_URL', postgres().url)
  for (let seed = 1; seed <= (isLong ? 5 : 3); seed++) {
    const { broken } = await live(seed, stores['postgres'] as StoreFactory)
    expect(broken, `seed ${seed}; ${replay('postgres', seed)}`).toEqual([])
  }
  const left = await postgres().query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'world%'")
  expect(left).toEqual([])
})

test.each(Object.entries(brokenStores))('it is noticed that a store %s', async (_what, makeStore) => {
  for (let seed = 1; seed <= 200; seed++) if ((await live(seed, makeStore)).broken.length > 0) return
  expect.fail('nobody noticed')
})

test('an error that ends a life counts as a broken promise', async () => {
  const failing: StoreFactory = () => {
    const store = { ...memoryStore(), counts: () => Promise.reject(new Error('out of order')) }
    return { store, atOnce: true, dispose: () => {} }
  }
  expect((await live(1, failing)).broken.at(-1)).toContain('out of order')
})

test('the command line is checked', () => {
  expect(readOptions(simulateTable, [])).toEqual({
    seeds: 1_000,
    from: 1,
    store: 'memory',
    trace: false,
    first: false,
    mutants: false,
  })
  expect(readOptions(simulateTable, replay('sqlite', 7).split(' ').slice(4))).toEqual({
    seeds: 1,
    from: 7,
    store: 'sqlite',
    trace: true,
    first: false,
    mutants: false,
  })
  for (const args of [
    ['--seeds'],
    ['--seeds', '0'],
    ['--from', 'x'],
    ['--store', 'paper'],
    ['seeds'],
    ['--seed', '1'],
  ]) {
    expect(() => readOptions(simulateTable, args), args.join(' ')).toThrow(UsageError)
  }
})
