/**
 * Virtual time on stores that work outside of the process, or in a later turn of the event loop: everything happens at
 * the same times as in memory, and before the call that lets the time pass has ended.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { constant, createClient, defineJob, memoryStore, schedule } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { createTestRuntime } from 'jobchart/testing'
import { afterAll, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { systemClock } from '../../src/core/clock.ts'
import type { Store } from '../../src/store.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const redis = serverOfFile()
const postgres = postgresOfFile()
const pglite = new PGlite()
const folder = temporaryFolder()
afterAll(async () => {
  await pglite.close()
  folder.remove()
})

/** Some tests need a server. */
const stores: Readonly<Record<string, readonly [typeof redisTest, () => Store]>> = {
  memory: [test, () => memoryStore()],
  SQLite: [test, () => sqliteStore({ path: join(folder.path, 'jobs.db') })],
  Redis: [redisTest, () => redisStore({ url: redis().url, prefix: randomUUID() })],
  PostgreSQL: [
    postgresTest,
    () => postgresStore({ url: postgres().url, schema: `virtual_${randomUUID().slice(0, 8)}` }),
  ],
  PGlite: [test, () => postgresStore({ pglite })],
}

/** What happens, each with the minutes that have passed. */
async function journalOf(store: Store): Promise<string[]> {
  const journal: string[] = []
  const note = (what: string): void => {
    journal.push(`${(clock.now() - startedAt) / 60_000} ${what}`)
  }
  const partner = defineJob({
    type: 'partner',
    retry: { maxAttempts: 4, backoff: constant('10m') },
    async run(_: void, { attempt }) {
      note(`attempt ${attempt}`)
      if (attempt < 4) throw new Error('the partner is closed')
    },
  })
  const stuck = defineJob({
    type: 'stuck',
    attemptTimeout: '2m',
    retry: { maxAttempts: 2, backoff: constant('1m') },
    async run(_: void, { signal }) {
      note('stuck')
      await clock.sleep('1d', signal)
    },
  })
  const tick = defineJob({ type: 'tick', run: async () => note('tick') })
  const reminder = defineJob({
    type: 'reminder',
    machine: createMachine({
      initial: 'asleep',
      states: { asleep: { after: { 900_000: 'awake' } }, awake: { entry: () => note('awake'), type: 'final' } },
    }),
  })
  const { runtime, clock } = await createTestRuntime({
    jobs: [partner, stuck, tick, reminder],
    schedules: [schedule('tick', '@every 8m', tick)],
    store,
    lease: '1d',
  })
  const startedAt = clock.now()
  // A client of the program under test, in real time.
  const client = createClient({ jobs: [partner, stuck, tick, reminder], store })
  const jobs = [await client.enqueue(partner), await client.enqueue(stuck), await client.enqueue(reminder)]
  await client.enqueue(tick, undefined, { delay: '4m' })
  for (const times of [1, 2, 3]) {
    await clock.advance('10m')
    for (const job of jobs) note(`${times}: ${(await job.record()).state}`)
  }
  await client.close()
  await runtime.stop()
  expect(clock.pending).toBe(0)
  return journal
}

for (const [name, [testOn, create]] of Object.entries(stores)) {
  testOn(`what takes minutes happens on ${name} when it does in memory`, async () => {
    expect(await journalOf(create())).toEqual(await journalOf(memoryStore()))
  })
}

test('a store that was opened in virtual time is opened in real time again', async () => {
  const store = postgresStore({ pglite, schema: 'again' })
  const { runtime, clock } = await createTestRuntime({ jobs: [], store })
  expect(store.now()).toBe(clock.now())
  await runtime.stop()
  await store.open({ clock: systemClock })
  expect(Math.abs(store.now() - Date.now())).toBeLessThan(60_000)
  await store.close()
})
