/** A standby that takes the place of a server, by asynchronous replication: who goes on, and what is gone. */
import { expect, onTestFinished } from 'vitest'
import { createRuntime, defineJob } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob, put, take, takeOne, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import type { Hint, Settlement, Store } from '../../src/store.ts'
import { isLong } from '../harness/long-form.ts'
import { postgresServer, standbyOf, type PostgresServer } from '../support/postgres-process.ts'
import { postgresTest as test } from '../support/postgres-server.ts'

interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Names both. */
  readonly url: string
  /** From now on the standby receives nothing. */
  readonly cutOff: () => Promise<void>
  /** The primary is lost, and the standby takes its place. */
  readonly failOver: () => Promise<void>
}

async function pair(): Promise<Pair> {
  const primary = await postgresServer('fsync=on')
  onTestFinished(() => primary.remove())
  const standby = await standbyOf(primary)
  onTestFinished(() => standby.remove())
  const receivers = async (): Promise<unknown> => (await standby.query('SELECT FROM pg_stat_wal_receiver')).length
  return {
    primary,
    standby,
    url: `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`,
    async cutOff() {
      const sent = await primary.query('SELECT pg_current_wal_lsn()::text AS lsn')
      const replayed = `SELECT pg_last_wal_replay_lsn() >= '${String(sent[0]?.['lsn'])}'::pg_lsn AS done`
      await expect.poll(async () => (await standby.query(replayed))[0]?.['done']).toBe(true)
      await standby.query("ALTER SYSTEM SET primary_conninfo = ''")
      await standby.query('SELECT pg_reload_conf()')
      await expect.poll(receivers).toBe(0)
    },
    async failOver() {
      await primary.kill()
      await standby.query('SELECT pg_promote()')
    },
  }
}

async function opened(url: string): Promise<Store> {
  const store = postgresStore({ url })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** What became of ends; nothing while the server is away. */
async function outcomesOf(store: Store, ends: readonly Settlement[]): Promise<string[]> {
  try {
    return (await store.settle(ends)).map(({ outcome }) => outcome)
  } catch {
    return []
  }
}

test('workers go on with the standby within seconds', async () => {
  const { url, failOver } = await pair()
  const runs = new Set<number>()
  const work = defineJob<number, void>({ type: 'work', run: async (n) => void runs.add(n) })
  const runtime = createRuntime({ jobs: [work], store: postgresStore({ url }), concurrency: 4, logger: {} })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop({ timeout: '10s' })))
  const acknowledged: string[] = []
  const over = new AbortController()
  const produce = async (): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n++) {
      const job = await runtime.enqueue(work, n).catch(() => null)
      if (job !== null) acknowledged.push(job.id)
    }
  }
  const producing = [1, 2, 3, 4].map(produce)
  await expect.poll(() => runs.size).toBeGreaterThan(isLong ? 2_000 : 200)
  await failOver()
  const promoted = performance.now()
  const before = acknowledged.length
  await expect.poll(() => acknowledged.length, { interval: 5 }).toBeGreaterThan(before + 20)
  const writesMs = performance.now() - promoted
  over.abort()
  await Promise.all(producing)
  const last = await runtime.enqueue(work, -1)
  await last.result({ timeout: '60s' })
  const records = await runtime.store.get(acknowledged)
  const lost = records.filter((record) => record === null).length
  console.log(
    `acknowledged ${acknowledged.length}, of them lost ${lost}; written again ${writesMs.toFixed(0)} ms after the promotion`,
  )
  expect(writesMs).toBeLessThan(20_000)
  await expect.poll(async () => (await runtime.counts()).queued).toBe(0)
})

test('what the standby had not received is gone: figures, cursors, tokens and listeners are told', async () => {
  const { url, cutOff, failOver } = await pair()
  const [store, other] = [await opened(url), await opened(url)]
  await put(store, newJob('kept', { key: 'k' }), newJob('plain'))
  await cutOff()
  const [kept, plain] = await take(store, { max: 2 })
  await put(store, ...Array.from({ length: 20 }, (_, i) => newJob(`gone ${i}`)))
  expect((await store.counts()).queued).toBe(20)
  const { next } = await store.transitions(null, 1_000)
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  await failOver()

  // Somebody else claims the same jobs, which come to the same revisions.
  await expect
    .poll(() =>
      take(other, { max: 2, token: 'another' }).then(
        (jobs) => jobs.length,
        () => 0,
      ),
    )
    .toBe(2)
  const ends = [kept, plain].map(
    (job) => ({ ...lease(job as NonNullable<typeof job>), event: 'COMPLETE', to: 'done' }) as const,
  )
  await expect.poll(() => outcomesOf(store, ends)).toEqual(['lost', 'lost'])
  expect(await store.counts()).toMatchObject({ queued: 0, running: 2, done: 0 })
  const page = await store.transitions(next, 1_000)
  expect(page.lost).toBe(true)
  expect(page.transitions.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
  await expect.poll(() => hints.find(({ kind }) => kind === 'rollback')).toMatchObject({ seen: 5 })
  await put(store, newJob('new'))
  expect((await takeOne(store, { max: 1 })).id).toBe('new')
})

test('a server that is started again has lost nothing, and that is told as well', async () => {
  const own = await postgresServer('fsync=on')
  onTestFinished(() => own.remove())
  const store = await opened(own.url)
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  await put(store, newJob('a', { key: 'k' }))
  const job = await takeOne(store, { max: 1 })
  // Writes that are no transition take no number.
  await store.worker('w1', workerInfo('w1'))
  await own.kill()
  await own.start()
  await expect.poll(() => outcomesOf(store, [{ ...lease(job), event: 'COMPLETE', to: 'done' }])).toEqual(['settled'])
  await expect.poll(() => hints.map(({ kind }) => kind)).toContain('restart')
  expect(hints.map(({ kind }) => kind)).not.toContain('rollback')
})
