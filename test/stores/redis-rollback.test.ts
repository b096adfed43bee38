/** A server that is started again from an older state, and what processes that have seen more make of it. */
import { createClient, createRuntime, defineJob, schedule, type JobchartError } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { boom, cancel, lease, newJob, put, take, takeOne } from '../../src/store-testing/conformance/acts.ts'
import type { BulkAnswer, Hint, StartBulk, Store } from '../../src/store.ts'
import { Epochs } from '../../src/stores/redis/epoch.ts'
import { putDeadJobs } from '../support/dead-jobs.ts'
import { delayedStore } from '../support/delayed-redis.ts'
import { redisServer, type RedisServer } from '../support/redis-process.ts'
import { redisTest as test } from '../support/redis-server.ts'

/** A server without a log of writes: a kill brings it back to its last snapshot. */
async function snapshotServer(): Promise<RedisServer> {
  const server = await redisServer('--dbfilename', 'dump.rdb')
  onTestFinished(() => server.remove())
  return server
}

const rollBack = async (server: RedisServer): Promise<void> => {
  await server.kill()
  await server.start()
}

const answers = async (ask: () => Promise<unknown>): Promise<void> => {
  await expect
    .poll(
      () =>
        ask().then(
          () => true,
          () => false,
        ),
      { interval: 20 },
    )
    .toBe(true)
}

test.each([0, 100])('a store notices a rollback, also when another has written %i jobs since', async (jobs) => {
  const server = await snapshotServer()
  const stores = [0, 1].map(() => redisStore({ url: server.url }))
  const [store, other] = stores as [(typeof stores)[0], (typeof stores)[0]]
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  await put(store, newJob('kept'))
  await server.command('SAVE')
  await put(store, newJob('gone'))
  const [job] = await take(store, { max: 1 })
  const { next } = await store.transitions(null, 100)
  await rollBack(server)
  if (jobs > 0) {
    await other.open({ clock: systemClock })
    onTestFinished(() => other.close())
    await put(other, ...Array.from({ length: jobs }, (_, n) => newJob(`new-${n}`)))
  }
  await answers(() => store.counts())
  await expect
    .poll(() => hints.filter(({ kind }) => kind === 'rollback'))
    .toEqual([{ kind: 'rollback', seen: 3, left: 1 }])
  // The claim is gone, and so is what was remembered of it.
  const [ended] = await store.settle([{ ...lease(job!), event: 'COMPLETE', to: 'done' }])
  expect(ended?.outcome).toBe('lost')
  expect((await store.get(['kept', 'gone'])).map((each) => each?.state ?? null)).toEqual(['queued', null])
  // The log has other transitions now than the reader has seen.
  const page = await store.transitions(next, 1_000)
  expect([page.lost, page.transitions.length]).toEqual([true, 1 + jobs])
  expect((await store.transitions(page.next, 10)).lost).toBe(false)
  expect((await takeOne(store, { max: 1, token: 't2' })).id).toBe('kept')
})

test('a write that has read before a rollback is done anew, also where the revisions are the same again', async () => {
  const server = await snapshotServer()
  const other = redisStore({ url: server.url })
  await other.open({ clock: systemClock })
  onTestFinished(() => other.close())
  let armed = false
  const store = await delayedStore(server.url, 'jobchart', async ([, name = ''], client) => {
    if (!armed || !name.endsWith('_commit')) return
    armed = false
    await rollBack(server)
    await answers(() => client.send(['PING']))
    await answers(() => other.counts())
    await other.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  })
  await put(other, newJob('a'))
  const job = await takeOne(other, { max: 1 })
  await server.command('SAVE')
  await other.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 60_000, error: boom }])
  armed = true
  await cancel(store, ['a'])
  expect(armed).toBe(false)
  const [record] = await store.get(['a'])
  expect(record?.history.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
})

test('a server that is started again with all that was written is not taken for an older one', async () => {
  const server = await redisServer('--appendonly', 'yes', '--appendfsync', 'always')
  onTestFinished(() => server.remove())
  const store = redisStore({ url: server.url })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  await put(store, newJob('a'))
  const { next } = await store.transitions(null, 100)
  for (let i = 0; i < 2; i++) {
    await rollBack(server)
    await answers(() => put(store, newJob(`b${i}`)))
  }
  expect(hints.filter(({ kind }) => kind === 'rollback')).toEqual([])
  // The connection for reads comes back by itself.
  await answers(() => store.counts())
  const page = await store.transitions(next, 100)
  expect([page.lost, page.transitions.map(({ id }) => id)]).toEqual([false, ['b0', 'b1']])
})

test('a rollback is told of once, and an answer to a later call that is read before that about the epochs is none', () => {
  const epochs = new Epochs(['one 0'])
  epochs.see(2)
  const { seen } = epochs
  // Of an insert that was sent after the question.
  expect(epochs.see(3)).toBe(true)
  expect(epochs.learn(['one 0', 'two 2'], 2, seen)).toEqual({ rollback: null, isOther: true })
  expect(epochs.see(2)).toBe(false)
  // Asked twice at once.
  const asked = epochs.seen
  expect(epochs.learn(['one 0', 'two 2', 'three 2'], 2, asked).rollback).toEqual({ seen: 3, left: 2 })
  expect(epochs.learn(['one 0', 'two 2', 'three 2'], 2, asked)).toEqual({ rollback: null, isOther: false })
})

test('whatever is answered first after a rollback, also a read, is known to be of another log', async () => {
  const server = await snapshotServer()
  let isBack = false
  // The connection for writes is slower than the one for reads.
  const store = await delayedStore(server.url, 'jobchart', async ([, name = '']) => {
    if (!isBack || !name.endsWith('_epoch')) return
    isBack = false
    const connections = async (): Promise<number> =>
      String(await server.command('CLIENT', 'LIST', 'TYPE', 'normal')).match(/\bfd=/g)?.length ?? 0
    await expect.poll(connections, { interval: 5 }).toBe(3)
    for (let i = 0; i < 100; i++) await server.command('PING')
  })
  await store.list({})
  await put(store, newJob('a'))
  await server.command('SAVE')
  await put(store, newJob('gone'))
  const { cursor: before } = await store.counts()
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  isBack = true
  await rollBack(server)
  let cursor: string | undefined
  await answers(async () => ({ cursor } = await store.list({})))
  expect(hints).toContainEqual({ kind: 'rollback', seen: 2, left: 1 })
  expect((await store.transitions(before ?? null, 10)).lost).toBe(true)
  await put(store, newJob('b'))
  const { lost, transitions } = await store.transitions(cursor ?? null, 10)
  expect([lost, transitions.map(({ id }) => id)]).toEqual([false, ['b']])
})

test('a runtime warns with a code, loses the run whose claim is gone, and runs the job again', async () => {
  const server = await snapshotServer()
  const warned: unknown[] = []
  const logger = { warn: (_: string, fields?: Record<string, unknown>) => void warned.push(fields?.['error']) }
  const reasons: unknown[] = []
  let runs = 0
  const work = defineJob<null, void>({
    type: 'work',
    run: async (_, { signal }) => {
      if (++runs > 1) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      reasons.push((signal.reason as JobchartError).code)
      throw signal.reason
    },
  })
  const client = createClient({ jobs: [work], store: redisStore({ url: server.url }) })
  onTestFinished(() => client.close())
  const job = await client.enqueue(work, null)
  await server.command('SAVE')
  await using runtime = createRuntime({ jobs: [work], store: redisStore({ url: server.url }), logger, lease: '1s' })
  await runtime.start()
  await expect.poll(() => runs).toBe(1)
  await rollBack(server)
  await expect.poll(() => runs).toBe(2)
  await job.result({ timeout: '10s' })
  await expect.poll(() => reasons).toEqual(['LEASE_LOST'])
  expect(warned).toContainEqual(expect.objectContaining({ code: 'STORE_ROLLED_BACK' }))
})

const retryOf = (id: string): StartBulk => ({
  id,
  change: { kind: 'retry', fromStart: false, dropInbox: 0 },
  filter: { state: 'dead' },
  expected: null,
  batchSize: 2,
  token: 't1',
  leaseMs: 1_000,
})

async function finish(store: Store, id: string): Promise<BulkAnswer> {
  for (;;) {
    const answer = await store.bulk.advance({ id, token: 't1', leaseMs: 1_000 })
    if (answer.operation?.state !== 'running') return answer
  }
}

test.each([
  ['began', 'is gone, and may be begun again'],
  ['went on', 'goes on from the progress that is left'],
] as const)('a bulk operation that %s after the snapshot %s; each job is changed once', async (what, _outcome) => {
  const server = await snapshotServer()
  const store = redisStore({ url: server.url })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const ids = await putDeadJobs(store, 10)
  if (what === 'went on') await store.bulk.start(retryOf('bulk'))
  await server.command('SAVE')
  if (what === 'began') await store.bulk.start(retryOf('bulk'))
  await store.bulk.advance({ id: 'bulk', token: 't1', leaseMs: 1_000 })
  await rollBack(server)
  await answers(() => store.counts())
  if (what === 'began') {
    const { outcome, operation } = await store.bulk.advance({ id: 'bulk', token: 't1', leaseMs: 1_000 })
    expect([outcome, operation]).toEqual(['notFound', null])
    expect((await store.counts()).dead).toBe(10)
    await store.bulk.start(retryOf('bulk'))
  } else {
    expect((await store.bulk.list()).map(({ counts }) => counts)).toEqual([{ retried: 2 }])
  }
  expect((await finish(store, 'bulk')).operation).toMatchObject({ state: 'done', counts: { retried: 10 } })
  expect((await store.get(ids)).map((job) => job?.generation)).toEqual(ids.map(() => 2))
  const retries = (await store.transitions(null, 100)).transitions.filter(({ event }) => event === 'RETRY')
  expect(retries.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
})

test('a runtime goes on with a bulk operation that had ended after the snapshot, and its caller is told the end', async () => {
  const server = await snapshotServer()
  const other = redisStore({ url: server.url })
  await other.open({ clock: systemClock })
  onTestFinished(() => other.close())
  const ids = await putDeadJobs(other, 10)
  await other.bulk.start(retryOf('bulk'))
  await server.command('SAVE')
  await finish(other, 'bulk')
  const mail = defineJob({ type: 'mail', run: async () => null })
  await using runtime = createRuntime({ jobs: [mail], store: redisStore({ url: server.url }), logger: {} })
  await runtime.start()
  await rollBack(server)
  await answers(() => runtime.counts())
  const operation = await runtime.bulk.resume('bulk')
  expect(operation).toMatchObject({ state: 'done', counts: { retried: 10 } })
  expect(await runtime.drain({ timeout: '1m' })).toBe(true)
  expect((await other.get(ids)).map((job) => [job?.state, job?.generation])).toEqual(ids.map(() => ['done', 2]))
})

/** What a server can lose: all of it while it runs, all of it by a restart, or what is newer than its snapshot. */
const losses = {
  'is emptied': (server: RedisServer) => server.command('FLUSHALL'),
  'is started again without its data': rollBack,
  'is started again from a snapshot that is older than its workers': rollBack,
}

test.for(Object.entries(losses))(
  'an idle runtime registers, declares its schedules and is handed jobs again after its server %s',
  async ([what, lose]) => {
    const server = await snapshotServer()
    const ran: string[] = []
    const work = defineJob<string, void>({ type: 'work', capacity: 0, run: async (from) => void ran.push(from) })
    const tick = defineJob<string, void>({ type: 'tick', run: async (from) => void ran.push(from) })
    const store = () => redisStore({ url: server.url })
    // The server has an epoch that the runtime knows, also after the loss.
    const client = createClient({ jobs: [work], store: store(), logger: {} })
    onTestFinished(() => client.close())
    await client.counts()
    if (what.includes('snapshot')) await server.command('SAVE')
    await using runtime = createRuntime({
      jobs: [work, tick],
      schedules: [schedule('often', '*/1 * * * * *', tick, 'schedule')],
      store: store(),
      logger: {},
      lease: '1s',
    })
    await runtime.start()
    await expect.poll(() => ran).toContain('schedule')
    await lose(server)
    ran.length = 0
    await answers(async () => client.counts())
    await client.enqueue(work, 'handed over', { timeout: '20s' })
    await expect.poll(() => ran).toEqual(expect.arrayContaining(['handed over', 'schedule']))
    expect((await client.workers()).map(({ id }) => id)).toEqual([runtime.id])
  },
)

test('a runtime registers again after its server was emptied before any job was enqueued', async () => {
  const server = await snapshotServer()
  const work = defineJob({ type: 'work', run: async () => {} })
  await using runtime = createRuntime({ jobs: [work], store: redisStore({ url: server.url }), logger: {}, lease: '1s' })
  await runtime.start()
  await server.command('FLUSHALL')
  await expect.poll(async () => (await runtime.workers()).map(({ id }) => id)).toEqual([runtime.id])
})
