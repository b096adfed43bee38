/** What users read goes by a connection of its own, so that a large answer holds up no claim. */
import { expect, onTestFinished } from 'vitest'
import { newJob, put, take, workerInfo } from '../../../src/store-testing/conformance/acts.ts'
import type { Link } from '../../../src/stores/postgres/connection.ts'
import { postgresPort } from '../../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../../src/stores/postgres/store.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import type { Store } from '../../../src/store.ts'
import { longestTurn } from '../../support/loop-probe.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { movingClock } from '../moving-clock.ts'

const server = postgresOfFile()
let schemas = 0

/** A store, and what is asked on each of its connections in the order in which they were made. */
async function world() {
  const { connect, where } = targetOf({ url: server().url })
  const asked: { readonly text: string; readonly rows: number }[][] = []
  const clock = movingClock()
  const store = postgresStoreOn(
    postgresPort({
      where,
      ...{ schema: `reads_${++schemas}`, transitionsMax: 1_000, clock },
      async connect() {
        const link = await connect()
        const own: { readonly text: string; readonly rows: number }[] = []
        asked.push(own)
        const query: Link['query'] = async (...statement) => {
          const rows = await link.query(...statement)
          // Of several statements there are none.
          own.push({ text: statement[0], rows: Array.isArray(rows) ? rows.length : 0 })
          return rows
        }
        return Object.assign(Object.create(link) as Link, { query })
      },
    }),
  )
  await store.open({ clock })
  onTestFinished(() => store.close())
  return { store, clock, asked }
}

const reads: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  records: (store) => store.get(['a']),
  lists: (store) => store.list({ after: 'a' }),
  checkpoints: (store) => store.checkpoints('a'),
  counts: (store) => store.counts(),
  figures: (store) => store.queuedSince(['mail']),
  queues: (store) => store.queues(),
  'a queue': (store) => store.queue('mail'),
  activity: (store) => store.activity({ period: 'minute', from: 0, queues: 'total' }),
  workers: (store) => store.workers(),
  'the log': (store) => store.transitions(null, 100),
  'bulk operations': (store) => store.bulk.list(),
  schedules: (store) => store.schedules.list(),
}

test.for(Object.keys(reads))('%s are not read by the connection that writes and claims', async (name) => {
  const { store, asked } = await world()
  await store.worker('w1', workerInfo('w1'))
  await put(store, newJob('a'), newJob('b', { priority: 1 }))
  await take(store, { max: 1 })
  const [writes] = asked
  const before = writes?.length
  await reads[name]?.(store)
  expect(writes?.length).toBe(before)
  expect(asked.length).toBeGreaterThan(1)
})

test('since when a type has queued jobs is told by one row with a thousand concurrency keys as with one', async () => {
  const { store, clock, asked } = await world()
  const first = store.now()
  await put(store, ...Array.from({ length: 1_000 }, (_, i) => newJob(`job ${i}`, { concurrencyKey: `key ${i}` })))
  await clock.advance(1_000)
  await put(store, newJob('late'), newJob('plain', { type: 'sms' }), newJob('urgent', { type: 'sms', priority: 1 }))
  const second = store.now()
  const before = asked.map((own) => own.length)
  expect(await store.queuedSince(['mail', 'none', 'sms'])).toEqual([first, null, second])
  // Others are told of what was put.
  const answers = asked.flatMap((own, i) => own.slice(before[i]).filter(({ text }) => !/notify/i.test(text)))
  // Two types have a first job; then two jobs are read.
  expect(answers.flatMap(({ rows }) => (rows === 0 ? [] : rows))).toEqual([2, 2])
})

test('large jobs are read in turns of the event loop', async () => {
  const { store } = await world()
  const text = 'x'.repeat(900_000)
  for (let i = 0; i < 16; i++) await put(store, newJob(`job ${i}`, { input: text }))
  await store.worker('w1', workerInfo('w1'))
  await take(store, { max: 16, leaseMs: 600_000 })
  const shortest = async (work: () => Promise<unknown>): Promise<number> =>
    Math.min(await longestTurn(work), await longestTurn(work), await longestTurn(work))
  const texts = Array.from({ length: 16 }, (_, i) => JSON.stringify(`${i}${text}`))
  const all = await shortest(async () => texts.forEach((each) => JSON.parse(each)))
  expect(await shortest(() => store.workers())).toBeLessThan(all)
})
