/** What is not as usual: of figures, on the overview, and told by the hook. */
import { createClient, createRuntime, defineJob, memoryStore } from 'jobchart'
import { createDashboard, type Trouble, type TroubleReport } from 'jobchart/dashboard'
import { expect, onTestFinished, test, vi } from 'vitest'
import { figuresOf } from '../../src/core/activity.ts'
import { percentiles } from '../../src/dashboard/condition.ts'
import { troubleOf, type QueueFacts, type TroubleFacts } from '../../src/dashboard/trouble.ts'
import { Recent } from '../../src/dashboard/recent.ts'
import { TroubleWatch } from '../../src/dashboard/trouble-watch.ts'
import { newJob, put, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { putDeadJobs } from '../support/dead-jobs.ts'
import type { ActivityBucket, ScheduleRecord, StateCounts, WorkerRecord } from '../../src/index.ts'

const hour = 3_600_000
const now = Date.UTC(2026, 0, 15, 3)
const none = figuresOf([])
const noCounts = {
  ...{ scheduled: 0, queued: 0, running: 0, retrying: 0, waiting: 0, cancelling: 0, done: 0, dead: 0, cancelled: 0 },
} satisfies StateCounts

const bucket = (at: number, figures: Partial<ActivityBucket>): ActivityBucket => ({ ...none, ...figures, at })
const quiet: QueueFacts = {
  type: 'mail',
  paused: false,
  counts: noCounts,
  latencyMs: 0,
  workers: 1,
  hours: Array.from({ length: 24 }, (_, i) =>
    bucket(now - (24 - i) * hour, { started: 100, done: 90, failed: 10, dead: 4 }),
  ),
  minutes: [bucket(now - 60_000, { done: 90, failed: 12, dead: 5 })],
}
const facts: TroubleFacts = { now, queues: [quiet], schedules: [], workers: [], unsupported: new Map() }
const keys = (changes: Partial<TroubleFacts>): string[] => troubleOf({ ...facts, ...changes }).map(({ key }) => key)
const ofQueue = (changes: Partial<QueueFacts>): string[] => keys({ queues: [{ ...quiet, ...changes }] })

test('a queue whose last hour is like those of the day before is no trouble', () => {
  expect(keys({})).toEqual([])
  // A new queue with few failures, too.
  expect(ofQueue({ hours: [], minutes: [bucket(now - 60_000, { failed: 9, dead: 2 })] })).toEqual([])
})

test('more deaths and more failed attempts than usual are trouble, deaths first', () => {
  expect(ofQueue({ minutes: [bucket(now - 60_000, { dead: 13 })] })).toEqual(['dying mail'])
  expect(ofQueue({ minutes: [bucket(now - 60_000, { failed: 31, dead: 4 })] })).toEqual(['failing mail'])
  const [found] = troubleOf({ ...facts, queues: [{ ...quiet, minutes: [bucket(now - 60_000, { dead: 13 })] }] })
  expect(found).toMatchObject({ value: 13, text: '13 jobs of mail died in the last hour; usual are 4.0' })
  expect(found?.usual).toBeCloseTo(4)
})

test('of many queues those that are dying come first, and the worst of them', () => {
  const minutes = (figures: Partial<ActivityBucket>) => ({ minutes: [bucket(now - 60_000, figures)] })
  const queues = [
    { ...quiet, type: 'a', ...minutes({ failed: 900 }) },
    { ...quiet, type: 'b', ...minutes({ dead: 20 }) },
    { ...quiet, type: 'c', ...minutes({ dead: 300 }) },
  ]
  expect(keys({ queues })).toEqual(['dying c', 'dying b', 'failing a'])
})

test('queued jobs without a worker are trouble, unless the queue is paused', () => {
  const queued = { counts: { ...noCounts, queued: 2 }, workers: 0 }
  expect(ofQueue(queued)).toEqual(['no-worker mail'])
  expect(ofQueue({ ...queued, paused: true })).toEqual([])
})

test('a job that waits for longer than a minute and three times the usual is trouble', () => {
  const queued = { counts: { ...noCounts, queued: 1 } }
  expect(ofQueue({ ...queued, latencyMs: 59_000 })).toEqual([])
  expect(ofQueue({ ...queued, latencyMs: 61_000 })).toEqual(['slow mail'])
  const slow = quiet.hours.map((each) => ({ ...each, queuedMs: each.started * 30_000 }))
  expect(ofQueue({ ...queued, latencyMs: 61_000, hours: slow })).toEqual([])
  expect(ofQueue({ ...queued, latencyMs: 91_000, hours: slow })).toEqual(['slow mail'])
})

test('jobs that have waited for ten minutes in a paused queue are trouble', () => {
  const waiting = { counts: { ...noCounts, queued: 16 }, paused: true, workers: 0 }
  expect(ofQueue({ ...waiting, latencyMs: 600_000 })).toEqual([])
  expect(ofQueue({ ...waiting, latencyMs: 600_001 })).toEqual(['paused mail'])
  expect(ofQueue({ ...waiting, counts: noCounts, latencyMs: 600_001 })).toEqual([])
  const [found] = troubleOf({ ...facts, queues: [{ ...quiet, ...waiting, latencyMs: 3 * hour }] })
  expect(found?.text).toBe('mail is paused: 16 jobs queued, the oldest for 3 hours')
})

const schedule: ScheduleRecord = {
  name: 'nightly',
  spec: '0 30 1 * * *',
  timezone: 'UTC',
  type: 'mail',
  input: {},
  computed: false,
  priority: 0,
  tags: [],
  catchUp: 'skip',
  overlap: 'allow',
  jitterMs: 0,
  owner: null,
  paused: false,
  createdAt: now - 90 * hour,
  nextRuns: [now + 22.5 * hour],
  last: { at: now - 1.5 * hour, jobId: 'a' },
  fired: 3,
  missed: 0,
  skipped: 0,
}

test('a tick that is due and was not fired is late, and one that was left out is missed until the next one fires', () => {
  const of = (changes: Partial<ScheduleRecord>): string[] => keys({ schedules: [{ ...schedule, ...changes }] })
  expect(of({})).toEqual([])
  expect(of({ nextRuns: [now - 59_000] })).toEqual([])
  expect(of({ nextRuns: [now - 61_000] })).toEqual(['late-tick nightly'])
  expect(of({ nextRuns: [now - 61_000], paused: true })).toEqual([])
  const yesterday = { at: now - 25.5 * hour, jobId: 'a' }
  expect(of({ last: yesterday, missed: 1 })).toEqual(['missed-tick nightly'])
  // Left out by a resume.
  expect(of({ last: yesterday })).toEqual([])
  // Left out for the job before it.
  expect(of({ last: yesterday, missed: 1, overlap: 'skip' })).toEqual([])
  expect(of({ missed: 1 })).toEqual([])
})

test('lost workers and jobs that no worker can run are trouble', () => {
  const lost: WorkerRecord = { ...workerInfo('w-1'), seenAt: now - hour, lost: true, running: [] }
  expect(keys({ workers: [lost, { ...lost, id: 'w-2', lost: false }] })).toEqual(['lost-worker w-1'])
  expect(keys({ unsupported: new Map([['order', { jobs: 3, more: false }]]) })).toEqual(['unsupported order'])
})

test('a percentile is a value of the list', () => {
  expect(percentiles([])).toBe(null)
  expect(percentiles([7])).toEqual({ p50: 7, p95: 7, p99: 7 })
  expect(percentiles(Array.from({ length: 100 }, (_, i) => 100 - i))).toEqual({ p50: 50, p95: 95, p99: 99 })
})

test('the overview has trouble, an hour of each queue and its durations', async () => {
  const mail = defineJob<{ n: number }, void>({ type: 'mail', run: async () => {} })
  const runtime = createRuntime({ jobs: [mail], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await Promise.all([1, 2, 3].map((n) => runtime.run(mail, { n })))
  await runtime.enqueueByName('nobody', {})
  const dashboard = createDashboard({ runtime })
  const get = async (path: string) =>
    (await (await dashboard.fetch(new Request(`http://localhost/api/v1/${path}`))).json()) as {
      trouble: Trouble[]
      queues: { type: string; done: number[]; wait: object | null; run: object | null }[]
    }
  const { trouble, queues } = await get('overview')
  expect(trouble.map(({ key }) => key)).toEqual(['no-worker nobody'])
  expect(queues.map(({ type, wait, run }) => [type, wait !== null, run !== null])).toEqual([
    ['mail', true, true],
    ['nobody', false, false],
  ])
  expect(queues[0]?.done.reduce((sum, each) => sum + each, 0)).toBe(3)
  expect((await get('trouble')).trouble).toEqual(trouble)
})

test('trouble of any of many queues is told, and the queues with most jobs are shown', async () => {
  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  const types = Array.from({ length: 300 }, (_, i) => `a-${i}`)
  await put(store, ...types.map((type) => newJob(`of ${type}`, { type })))
  await put(store, newJob('y-1', { type: 'y' }), newJob('y-2', { type: 'y' }))
  await putDeadJobs(store, 5, 'z')
  await store.worker('w-1', workerInfo('w-1', { types: [...types, 'y', 'z'] }))
  const overview = async () => {
    const { fetch } = createDashboard({ client })
    return (await (await fetch(new Request('http://localhost/api/v1/overview'))).json()) as {
      trouble: Trouble[]
      troubleLeftOut: number
      queues: { type: string }[]
      queuesLeftOut: number
    }
  }
  const { trouble, troubleLeftOut, queues, queuesLeftOut } = await overview()
  expect([trouble.map(({ key }) => key), troubleLeftOut]).toEqual([['dying z'], 0])
  expect([queues.length, queuesLeftOut, queues.at(-1)?.type]).toEqual([200, 102, 'y'])
  await store.worker('w-1', null)
  const without = await overview()
  expect([without.trouble.length, without.trouble.at(-1)?.key, without.troubleLeftOut]).toEqual([201, 'dying z', 101])
})

test('ten queues are read at once: the overview does not wait for a round trip of each', async () => {
  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await put(store, ...Array.from({ length: 30 }, (_, i) => newJob(`job ${i}`, { type: `type ${i}` })))
  const answered = Promise.withResolvers<void>()
  onTestFinished(() => answered.resolve())
  const asked: string[] = []
  const machineCounts = store.machineCounts.bind(store)
  store.machineCounts = async (type) => {
    asked.push(type)
    await answered.promise
    return machineCounts(type)
  }
  const overview = createDashboard({ client }).fetch(new Request('http://localhost/api/v1/overview'))
  await expect.poll(() => asked.length).toBe(10)
  answered.resolve()
  expect((await overview).status).toBe(200)
  expect(new Set(asked).size).toBe(30)
})

test('the hook is told what begins and what ends, once, and what it throws harms nothing', async () => {
  const some = (...names: string[]): { trouble: Trouble[] } => ({
    trouble: names.map((key) => ({ key, kind: 'slow', name: key, text: key, value: 1, usual: null })),
  })
  const answers = [some('a'), some('a', 'b'), some('a', 'b'), some('b')]
  const told: string[][][] = []
  await new Promise<void>((resolve) => {
    const tell = ({ began, ended, trouble }: TroubleReport): void => {
      told.push([began, ended, trouble].map((each) => each.map(({ key }) => key)))
      if (told.length === 1) throw new Error('the pager is broken')
      if (told.length === 3) resolve()
    }
    const watch = new TroubleWatch({ get: async () => answers.shift() ?? some('b') }, tell, 1)
    onTestFinished(() => watch.stop())
  })
  expect(told).toEqual([
    [['a'], [], ['a']],
    [['b'], [], ['a', 'b']],
    [[], ['a'], ['b']],
  ])
})

test('what is made is shared until it is made, and made anew after a failure', async () => {
  const calls: PromiseWithResolvers<number>[] = []
  const recent = new Recent(() => {
    const call = Promise.withResolvers<number>()
    calls.push(call)
    return call.promise
  }, 0)
  const asked = [recent.get(), recent.get()]
  expect(calls.length).toBe(1)
  calls[0]?.resolve(1)
  expect(await Promise.all(asked)).toEqual([1, 1])
  const failing = recent.get()
  calls[1]?.reject(new Error('no'))
  await expect(failing).rejects.toThrow('no')
  const again = recent.get()
  calls[2]?.resolve(3)
  expect(await again).toBe(3)
})

test('what was forgotten while it was made does not end the sharing of what is made after it', async () => {
  const calls: PromiseWithResolvers<number>[] = []
  const recent = new Recent(() => {
    const call = Promise.withResolvers<number>()
    calls.push(call)
    return call.promise
  }, 0)
  const [first, second] = [recent.get(), (recent.forget(), recent.get())]
  calls[0]?.reject(new Error('no'))
  await expect(first).rejects.toThrow('no')
  const third = recent.get()
  calls[1]?.resolve(2)
  expect([await second, await third, calls.length]).toEqual([2, 2, 2])
})

test('a look for trouble that the store never answers is followed by others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await put(store, newJob('a'))
  const queues = store.queues.bind(store)
  store.queues = () => new Promise(() => {})
  let told: readonly string[] = []
  createDashboard({ client, onTrouble: ({ began }) => (told = began.map(({ key }) => key)), troubleEvery: '1s' })
  await vi.advanceTimersByTimeAsync(5_000)
  store.queues = queues
  await vi.advanceTimersByTimeAsync(30_000)
  await vi.waitFor(() => expect(told).toEqual(['no-worker mail']), { timeout: 5_000 })
})

test('a dashboard with onTrouble looks by itself', async () => {
  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await client.counts()
  await put(store, newJob('a'))
  const began = await new Promise<readonly Trouble[]>((resolve) => {
    createDashboard({ client, onTrouble: (report) => resolve(report.began), troubleEvery: '1s' })
  })
  expect(began.map(({ key }) => key)).toEqual(['no-worker mail'])
  expect(() => createDashboard({ client, troubleEvery: '10ms' })).toThrow('troubleEvery')
})
