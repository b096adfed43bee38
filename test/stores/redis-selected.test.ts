/** Changes of many jobs by filter or by ids while another process works on them. */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { createClient, defineJob, type Client } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { systemClock } from '../../src/core/clock.ts'
import { boom, changeMatching, lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../src/store.ts'
import { headFields } from '../../src/stores/redis/row-text.ts'
import { forkProgram } from '../harness/processes.ts'
import { delayedStore } from '../support/delayed-redis.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()
const mail = defineJob<null>({ type: 'mail', run: async () => {} })

async function worker(prefix: string, slots: number, jobMs: number): Promise<ChildProcess> {
  const args = [server().url, prefix, String(slots), String(jobMs)]
  const child = forkProgram(new URL('redis/working-child.ts', import.meta.url), args)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

async function startedOf(child: ChildProcess): Promise<Set<string>> {
  const answer = once(child, 'message')
  child.send('started?')
  const [ids] = (await answer) as [string[]]
  return new Set(ids)
}

/** A client, and jobs of a queue that is paused. */
async function pausedQueue(prefix: string): Promise<Client> {
  const client = createClient({ jobs: [mail], store: redisStore({ url: server().url, prefix }) })
  onTestFinished(() => client.close())
  await client.queue('mail').pause()
  await client.enqueueMany(
    mail,
    Array.from({ length: 1_500 }, () => null),
  )
  return client
}

async function busyQueue(jobMs: number): Promise<{ readonly client: Client; readonly child: ChildProcess }> {
  const prefix = randomUUID()
  const client = await pausedQueue(prefix)
  const child = await worker(prefix, 10, jobMs)
  await client.queue('mail').resume()
  // The worker is in full swing.
  await expect.poll(async () => (await client.counts()).done, { interval: 1 }).toBeGreaterThan(20)
  return { client, child }
}

const cancels = {
  'a filter': async (client: Client) => (await client.cancel({ type: 'mail' })).cancelled.length,
  'a bulk operation': async (client: Client) => {
    const { counts, state } = await client.bulk.run({ kind: 'cancel', filter: { type: 'mail' } })
    expect(state).toBe('done')
    return counts.cancelled ?? 0
  },
}

async function leased(client: Client): Promise<number> {
  const { running, cancelling } = await client.counts()
  return running + cancelling
}

test.for([
  ['a filter', 5],
  ['a filter', 20],
  ['a bulk operation', 5],
] as const)(
  'a cancel by %s of jobs of %i ms that another process works on cancels most of them, and none that is reported as cancelled starts',
  async ([way, jobMs]) => {
    // The first cancel of a process takes thrice as long as those after it: its code is not compiled yet.
    expect(await cancels[way](await pausedQueue(randomUUID()))).toBe(1_500)
    const { client, child } = await busyQueue(jobMs)
    const reported = await cancels[way](client)
    expect(reported).toBeGreaterThan(400)
    await expect.poll(async () => (await client.counts()).queued, { interval: 5 }).toBe(0)
    await expect.poll(() => leased(client), { interval: 5 }).toBe(0)
    const started = await startedOf(child)
    const { cancelled, done } = await client.counts()
    expect(cancelled + done).toBe(1_500)
    const ended = await client.list({ state: 'cancelled', limit: 1_000 })
    const others = await client.list({ state: 'cancelled', limit: 1_000, after: ended.at(-1)?.id ?? '' })
    const unstarted = [...ended, ...others].filter(({ attempt }) => attempt === 0).map(({ id }) => id)
    expect(unstarted.length).toBe(reported)
    expect(unstarted.filter((id) => started.has(id))).toEqual([])
  },
)

/**
 * A store, and another one that acts before each of the first commits of the first: what that has read has changed
 * then.
 * @param acts what the other one does before the first commit, the second, …
 */
async function interrupted(
  acts: readonly ((other: Store) => Promise<unknown>)[],
  prefix: string = randomUUID(),
): Promise<{ store: Store; other: Store }> {
  const other = redisStore({ url: server().url, prefix })
  await other.open({ clock: systemClock })
  onTestFinished(() => other.close())
  let commits = 0
  const store = await delayedStore(server().url, prefix, async ([command, name = '']) => {
    if (command === 'FCALL' && /_commit(Each)?$/.test(name)) await acts[commits++]?.(other)
  })
  return { store, other }
}

const ids = Array.from({ length: 6 }, (_, i) => `job ${i}`)
const start = (other: Store): Promise<unknown> => take(other, { max: 1 })
test('a cancel by ids reports each job as it was when it was written', async () => {
  const { store, other } = await interrupted([start, start])
  await put(other, ...ids.map((id) => newJob(id)))
  const [answer] = await store.cancel([{ ids: [...ids, 'unknown'], reason: null, graceMs: 0 }])
  expect(answer).toMatchObject({ cancelled: ids.slice(2), cancelling: ['job 0', 'job 1'], notFound: ['unknown'] })
  expect((await other.counts()).cancelled).toBe(4)
})

test('a job that cannot be cancelled is told by the error, and keeps neither the others nor other requests', async () => {
  const prefix = randomUUID()
  const { store, other } = await interrupted([start], prefix)
  await put(other, ...ids.map((id) => newJob(id, { version: '1' })), newJob('own', { type: 'other' }))
  const row = (text?: string): Promise<unknown> =>
    server().command(
      text === undefined ? 'HGET' : 'HSET',
      `{${prefix}}:jobs`,
      'job 3',
      ...(text === undefined ? [] : [text]),
    )
  const whole = String(await row())
  await row(whole.split('\0').with(headFields.indexOf('unsupported'), '{').join('\0'))
  const answers = await store.cancel([
    { ids, reason: null, graceMs: 0 },
    { ids: ['own'], reason: null, graceMs: 0 },
  ])
  expect(answers[0]).toMatchObject({
    cancelled: ['job 1', 'job 2', 'job 4', 'job 5'],
    cancelling: ['job 0'],
    error: { name: 'SyntaxError' },
  })
  expect(answers[1]).toMatchObject({ cancelled: ['own'] })
  expect(answers[1]?.error).toBeUndefined()
  await row(whole)
  expect((await other.get(['job 3']))[0]?.state).toBe('queued')
})

test('a filter by state leaves out a job that does not match any more when its turn comes', async () => {
  const { store, other } = await interrupted([start, start])
  await put(other, ...ids.map((id) => newJob(id)))
  const answer = await changeMatching(store, 'cancel', { type: 'mail', state: 'queued' })
  expect(answer).toEqual({ cancelled: ids.slice(2), cancelling: [] })
  expect((await other.counts()).running).toBe(2)
})

test('a bulk operation counts each job once, and judges those that have changed meanwhile with its next batch', async () => {
  const { store, other } = await interrupted([start, start])
  await put(other, ...ids.map((id) => newJob(id)))
  const change = { kind: 'cancel', reason: null, graceMs: 0 } as const
  const begin = {
    id: 'bulk',
    change,
    filter: { type: 'mail' },
    expected: null,
    batchSize: 100,
    token: 't',
    leaseMs: 10_000,
  }
  const first = await store.bulk.start(begin)
  const counts = { cancelled: 4, cancelling: 1 }
  expect(first).toMatchObject({ outcome: 'advanced', operation: { state: 'running', counts } })
  expect(first.jobs).toEqual({ cancelled: ids.slice(2), cancelling: ['job 0'] })
  expect(await other.bulk.list()).toEqual([first.operation])
  // Another process goes on with it: it knows of the job that was left.
  const next = { id: 'bulk', token: 't', leaseMs: 10_000 }
  expect((await other.bulk.advance(next)).jobs).toEqual({ cancelled: [], cancelling: ['job 1'] })
  const last = await other.bulk.advance(next)
  expect(last.operation).toMatchObject({ state: 'done', counts: { cancelled: 4, cancelling: 2 } })
  expect(await other.bulk.list()).toEqual([last.operation])
})

test('a retry and a discard of jobs that others retry and discard meanwhile change the rest', async () => {
  const retryFirst = (other: Store): Promise<unknown> => Promise.resolve(other.retry(['job 0']))
  const { store, other } = await interrupted([retryFirst])
  await put(other, ...ids.map((id) => newJob(id)))
  const jobs = await take(other, { max: 6 })
  await other.settle(jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom })))
  expect(await store.retry(ids)).toMatchObject({ retried: ids.slice(1), refused: ['job 0'], notFound: [] })
  expect((await other.counts()).queued).toBe(6)
})
