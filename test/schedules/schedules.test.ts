/** Schedules of a runtime, in virtual time: each option, and what a caller can do with a schedule. */
import { createClient, defineJob, memoryStore, schedule, type JobRecord, type Runtime, type Tick } from 'jobchart'
import { setup } from 'xstate'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { world, type World } from '../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)
const minuteMs = 60_000
const report = defineJob<{ kind: string }, string>({ type: 'report', run: async ({ kind }) => kind })

/** Jobs of a type, as minutes after the start at which they came. */
async function minutesOf(runtime: Runtime, type = 'report'): Promise<number[]> {
  const jobs = await runtime.list({ type, limit: 1_000 })
  return jobs.map(({ enqueuedAt }) => (enqueuedAt - start) / minuteMs)
}

const idsOf = async (runtime: Runtime): Promise<string[]> => (await runtime.list({ limit: 1_000 })).map(({ id }) => id)

test('a schedule makes one job per tick, with its input, tags, priority and an id that says which tick', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  await worker.schedule('sales', '*/5 * * * *', report, { kind: 'sales' }, { tags: ['cron'], priority: 7 })
  await clock.advance('12m')
  const jobs = await worker.list()
  expect(jobs.map(({ id }) => id)).toEqual(['sales@2026-01-01T00:05:00Z', 'sales@2026-01-01T00:10:00Z'])
  for (const job of jobs) {
    expect(job).toMatchObject({ state: 'done', input: { kind: 'sales' }, tags: ['cron'], priority: 7, output: 'sales' })
  }
  expect(await minutesOf(worker)).toEqual([5, 10])
})

test('an interval counts from its declaration', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  await clock.advance('30s')
  await worker.schedule('a', '@every 90s', report, { kind: 'a' })
  await worker.schedule('b', { every: '2m' }, report, { kind: 'b' })
  await clock.advance('5m')
  expect(await minutesOf(worker)).toEqual([2, 2.5, 3.5, 4.5, 5])
})

test('the record says what the schedule is, when it ticks next and last, and how often it has', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const options = { timezone: 'Europe/Zurich', catchUp: { all: 3 }, overlap: 'skip', jitter: '2m' } as const
  const handle = await worker.schedule('nightly', '0 0 3 * * *', report, { kind: 'x' }, options)
  const terms = { name: 'nightly', spec: '0 0 3 * * *', type: 'report', input: { kind: 'x' }, computed: false }
  const same = {
    ...terms,
    timezone: 'Europe/Zurich',
    catchUp: { all: 3 },
    overlap: 'skip',
    jitterMs: 120_000,
    tags: [],
  }
  expect(await handle.record()).toEqual({
    ...{
      ...same,
      priority: 0,
      owner: null,
      paused: false,
      createdAt: start,
      last: null,
      fired: 0,
      missed: 0,
      skipped: 0,
    },
    nextRuns: [Date.UTC(2026, 0, 1, 2)],
  })
  expect(await handle.nextRuns(2)).toEqual([new Date('2026-01-01T02:00:00Z'), new Date('2026-01-02T02:00:00Z')])
  await clock.advance('3h')
  expect(await handle.record()).toMatchObject({
    last: { at: Date.UTC(2026, 0, 1, 2), jobId: 'nightly@2026-01-01T02:00:00Z' },
    fired: 1,
    nextRuns: [Date.UTC(2026, 0, 2, 2)],
  })
  const [listed, ...others] = await worker.schedules({ next: 3 })
  expect(others).toEqual([])
  expect(listed?.nextRuns).toEqual([2, 3, 4].map((day) => Date.UTC(2026, 0, day, 2)))
})

test('schedules are listed by name, and found by it', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [report] })
  for (const name of ['b', 'a', 'c']) await worker.schedule(name, '@daily', report, { kind: name })
  expect((await worker.schedules()).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
  const found = await worker.getSchedule('b')
  expect((await found?.record())?.input).toEqual({ kind: 'b' })
  expect(await worker.getSchedule('d')).toBeNull()
})

test('jitter delays each job by a part of it, the same whoever fires', async () => {
  const delays = await Promise.all(
    [1, 2].map(async (seed) => {
      const { clock, runtime } = world({ seed, store: memoryStore() })
      const worker = await runtime({ jobs: [report] })
      await worker.schedule('j', '@hourly', report, { kind: 'j' }, { jitter: '30m' })
      await clock.advance('5h')
      return (await worker.list()).map(({ id, startedAt }) => (startedAt ?? 0) - Date.parse(id.slice(2)))
    }),
  )
  expect(delays[0]).toEqual(delays[1])
  expect(delays[0]?.filter((ms) => ms >= 0 && ms < 30 * minuteMs).length).toBeGreaterThanOrEqual(4)
  expect(new Set(delays[0]).size).toBeGreaterThan(3)
})

test('paused it does not tick; resumed it goes on, and what passed is neither fired nor missed', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const handle = await worker.schedule('p', '* * * * *', report, { kind: 'p' })
  await clock.advance('2m')
  await handle.pause()
  await handle.pause()
  expect(await handle.record()).toMatchObject({ paused: true, nextRuns: [] })
  expect(await handle.nextRuns(1)).toEqual([new Date(start + 3 * minuteMs)])
  await clock.advance('10m')
  await handle.resume()
  await clock.advance('2m')
  expect(await minutesOf(worker)).toEqual([1, 2, 13, 14])
  expect(await handle.record()).toMatchObject({ paused: false, missed: 0, fired: 4 })
})

test('one that is paused from the start waits for resume, and a declaration does not end a pause', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const handle = await worker.schedule('p', '* * * * *', report, { kind: 'p' }, { paused: true })
  await worker.schedule('p', '* * * * *', report, { kind: 'other' })
  await clock.advance('5m')
  expect(await minutesOf(worker)).toEqual([])
  await handle.resume()
  await clock.advance('1m')
  expect(await minutesOf(worker)).toEqual([6])
})

test('trigger makes a job now, paused or not, and leaves the ticks as they are', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const handle = await worker.schedule('t', '@hourly', report, { kind: 't' }, { paused: true })
  const job = await handle.trigger()
  expect(job.id).toMatch(/^t@2026-01-01T00:00:00Z\/.{8}$/)
  expect(await job.result()).toBe('t')
  await handle.resume()
  await clock.advance('1h')
  expect(await handle.record()).toMatchObject({ fired: 2, last: { at: start + 60 * minuteMs } })
})

test('removed it makes no more jobs, and its handle says so', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const handle = await worker.schedule('r', '* * * * *', report, { kind: 'r' })
  await clock.advance('1m')
  expect([await handle.remove(), await handle.remove()]).toEqual([true, false])
  await clock.advance('5m')
  expect(await minutesOf(worker)).toEqual([1])
  for (const call of [handle.pause(), handle.resume(), handle.trigger(), handle.record(), handle.nextRuns(1)]) {
    await expect(call).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }
})

test('the same declaration changes nothing; another spec moves the next tick, another input does not', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  const declare = (spec: string, kind: string) => worker.schedule('d', spec, report, { kind })
  const handle = await declare('@every 10m', 'a')
  await clock.advance('4m')
  await declare(' @EVERY 600s ', 'a')
  expect((await handle.record()).nextRuns).toEqual([start + 10 * minuteMs])
  await declare('@every 10m', 'b')
  expect((await handle.record()).nextRuns).toEqual([start + 10 * minuteMs])
  await declare('@every 2m', 'b')
  expect((await handle.record()).nextRuns).toEqual([start + 6 * minuteMs])
  await clock.advance('2m')
  expect((await worker.list()).map(({ input }) => input)).toEqual([{ kind: 'b' }])
})

test('schedules that createRuntime declares are fired from its start', async () => {
  const { clock, idle, store } = world()
  const schedules = [schedule('code', '*/2 * * * *', report, { kind: 'code' })]
  const worker = idle({ jobs: [report], schedules })
  expect(await store.schedules.list()).toEqual([])
  await worker.start()
  await clock.advance('5m')
  expect(await minutesOf(worker)).toEqual([2, 4])
  expect((await worker.schedules())[0]).toMatchObject({ name: 'code', owner: 'app' })
})

test('what code declares no longer is removed if that is asked for, and of the same owner only', async () => {
  const { runtime } = world()
  const named = (name: string) => schedule(name, '@daily', report, { kind: name })
  const first = await runtime({ jobs: [report], schedules: [named('a'), named('b')] })
  await runtime({ jobs: [report], schedules: [named('other')], scheduleOwner: 'billing' })
  await first.schedule('by hand', '@daily', report, { kind: 'h' })
  const names = async () => (await first.schedules()).map(({ name }) => name)
  await runtime({ jobs: [report], schedules: [named('b')] })
  expect(await names()).toEqual(['a', 'b', 'by hand', 'other'])
  await runtime({ jobs: [report], schedules: [named('b')], retireSchedules: true })
  expect(await names()).toEqual(['b', 'by hand', 'other'])
})

test('an input function is told the tick, and lives in the processes that declare it', async () => {
  const { clock, runtime, store } = world()
  const other = await runtime({ jobs: [report] })
  await clock.advance('30s')
  const ticks: Tick[] = []
  const input = (tick: Tick): { kind: string } => {
    ticks.push(tick)
    return { kind: tick.at.toISOString() }
  }
  const worker = await runtime({ jobs: [report], schedules: [schedule('f', '* * * * *', report, input)] })
  await clock.advance('2m')
  expect((await worker.list()).map((job) => job.input)).toEqual(
    [1, 2].map((m) => ({ kind: new Date(start + m * minuteMs).toISOString() })),
  )
  expect(ticks[0]).toEqual({ name: 'f', at: new Date(start + minuteMs), triggered: false })
  const triggered = await (await worker.getSchedule('f'))?.trigger()
  expect(ticks.at(-1)?.triggered).toBe(true)
  expect(triggered).toBeDefined()
  await expect((await other.getSchedule('f'))?.trigger()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  expect((await other.schedules())[0]).toMatchObject({ computed: true, input: undefined })
  const client = createClient({ jobs: [report], store, clock })
  await expect(client.schedule('g', '@daily', report, input)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await client.close()
})

test('an input function that throws, or whose input is refused, loses its tick and no other', async () => {
  const strict = defineJob({ type: 'report', input: z.object({ n: z.number().max(2) }), run: async ({ n }) => n })
  const { clock, runtime, expectLogged } = world()
  let n = 0
  const input = (): { n: number } => {
    n++
    if (n === 2) throw new Error('boom')
    return { n: n === 3 ? 99 : 1 }
  }
  const worker = await runtime({ jobs: [strict], schedules: [schedule('f', '* * * * *', strict, input)] })
  await clock.advance('4m')
  expect(await minutesOf(worker)).toEqual([1, 4])
  expect((await worker.schedules())[0]).toMatchObject({ fired: 2, missed: 2 })
  expect(expectLogged('error')).toEqual(Array(2).fill('the input function of a schedule failed: no job was made'))
})

test('what a call asks is checked where it is made, and nothing is stored of it', async () => {
  const strict = defineJob({ type: 'strict', input: z.object({ to: z.string() }), run: async () => {} })
  const unique = defineJob<string>({ type: 'unique', unique: true, run: async () => {} })
  const { runtime, store } = world()
  const worker = await runtime({ jobs: [strict, unique] })
  const invalid = { code: 'INVALID_OPTION' }
  await expect(worker.schedule('s', '*/0 * * * *', strict, { to: 'x' })).rejects.toMatchObject(invalid)
  await expect(worker.schedule('s', '@daily', strict, { to: 'x' }, { timezone: 'X/Y' })).rejects.toMatchObject(invalid)
  await expect(worker.schedule('', '@daily', strict, { to: 'x' })).rejects.toMatchObject(invalid)
  await expect(worker.schedule('s', '@daily', strict, { to: 'x' }, { catchUp: { all: 1e9 } })).rejects.toMatchObject(
    invalid,
  )
  await expect(worker.schedule('s', '@daily', strict, { to: 'x' }, { overlap: 'no' as 'skip' })).rejects.toMatchObject(
    invalid,
  )
  await expect(worker.schedule('s', '@daily', unique, 'x', { overlap: 'skip' })).rejects.toMatchObject(invalid)
  await expect(worker.schedule('s', '@daily', strict, { to: 7 } as never)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
  await expect(worker.schedule('s', '@daily', report, { kind: 'x' })).rejects.toMatchObject({ code: 'UNKNOWN_TYPE' })
  expect(() => schedule('s', '31 30 * * *', strict, { to: 'x' })).toThrow(/spec/)
  const unlisted = worker.schedule('s', '@daily', report, () => ({ kind: 'x' }))
  await expect(unlisted).rejects.toMatchObject({ code: 'UNKNOWN_TYPE' })
  const urgent = worker.schedule('s', '@daily', strict, () => ({ to: 'x' }), { priority: 0.5 })
  await expect(urgent).rejects.toMatchObject(invalid)
  expect(await store.schedules.list()).toEqual([])
})

test('the jobs of a schedule are told as events, and carry its meta', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [report] })
  await worker.schedule('e', '* * * * *', report, { kind: 'e' }, { meta: { tenant: 'a' } })
  const events: string[] = []
  worker.events$.subscribe(({ event, id }) => events.push(`${event} ${id}`))
  await clock.advance('1m')
  expect(events[0]).toBe('ENQUEUE e@2026-01-01T00:01:00Z')
  expect((await worker.list({ meta: { tenant: 'a' } })).map(({ state }) => state)).toEqual(['done'])
})

test('a machine is scheduled like any job', async () => {
  const machine = setup({}).createMachine({ initial: 'a', states: { a: { always: 'b' }, b: { type: 'final' } } })
  const order = defineJob({ type: 'order', machine })
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [order] })
  await worker.schedule('m', '* * * * *', order)
  await clock.advance('2m')
  expect((await worker.list()).map(({ state }) => state)).toEqual(['done', 'done'])
})

test('a client declares, and a runtime fires what it does not declare itself', async () => {
  const { clock, runtime, store } = world()
  const worker = await runtime({ jobs: [report] })
  const client = createClient({ jobs: [report], store, clock })
  const handle = await client.schedule('c', '* * * * *', report, { kind: 'c' })
  await clock.advance('1m')
  expect(await minutesOf(worker)).toEqual([1])
  expect((await handle.record()).fired).toBe(1)
  await client.close()
})

/** Jobs that run until they are let go. */
function held(made: World) {
  const ends = new Map<string, () => void>()
  const aborted: string[] = []
  const job = defineJob<{ kind: string }, string>({
    type: 'report',
    run: (_, { id, signal }) =>
      new Promise((resolve, reject) => {
        ends.set(id, () => resolve(id))
        signal.addEventListener('abort', () => {
          aborted.push(id)
          reject(signal.reason as Error)
        })
      }),
  })
  const states = async (runtime: Runtime): Promise<JobRecord['state'][]> =>
    (await runtime.list()).map(({ state }) => state)
  const end = async (): Promise<void> => {
    for (const each of ends.values()) each()
    ends.clear()
    await made.clock.advance(0)
  }
  return { job, states, end, aborted }
}

test('overlap allow: each tick makes its job', async () => {
  const made = world()
  const { job, states } = held(made)
  const worker = await made.runtime({ jobs: [job] })
  await worker.schedule('o', '* * * * *', job, { kind: 'o' })
  await made.clock.advance('3m')
  expect(await states(worker)).toEqual(['running', 'running', 'running'])
})

test('overlap skip: a tick makes no job while one has not ended', async () => {
  const made = world()
  const { job, states, end } = held(made)
  const worker = await made.runtime({ jobs: [job] })
  const handle = await worker.schedule('o', '* * * * *', job, { kind: 'o' }, { overlap: 'skip' })
  await made.clock.advance('3m')
  expect(await states(worker)).toEqual(['running'])
  const inTheWay = await handle.trigger()
  expect(inTheWay).toMatchObject({ id: 'o@2026-01-01T00:01:00Z', deduplicated: true })
  expect(await handle.record()).toMatchObject({ fired: 1, skipped: 3 })
  await end()
  await made.clock.advance('1m')
  expect(await states(worker)).toEqual(['done', 'running'])
})

test('overlap supersede: the earlier job is cancelled, and the new one starts when it has ended', async () => {
  const made = world()
  const { job, states, aborted } = held(made)
  const worker = await made.runtime({ jobs: [job] })
  const cancels: string[] = []
  worker.events$.subscribe(({ event, id }) => event === 'CANCEL' && cancels.push(id))
  await worker.schedule('o', '* * * * *', job, { kind: 'o' }, { overlap: 'supersede' })
  await made.clock.advance('3m')
  expect(cancels).toEqual(['o@2026-01-01T00:01:00Z', 'o@2026-01-01T00:02:00Z'])
  expect(aborted).toHaveLength(2)
  expect(await states(worker)).toEqual(['cancelled', 'cancelled', 'running'])
  const [first] = await worker.list()
  expect(first?.cancelReason).toBe('superseded')
})

test('overlap queue-one: one more waits for its end, and no further one', async () => {
  const made = world()
  const { job, states, end } = held(made)
  const worker = await made.runtime({ jobs: [job] })
  const handle = await worker.schedule('o', '* * * * *', job, { kind: 'o' }, { overlap: 'queue-one' })
  await made.clock.advance('4m')
  expect(await states(worker)).toEqual(['running', 'scheduled'])
  expect(await handle.record()).toMatchObject({ fired: 2, skipped: 2 })
  await end()
  expect(await states(worker)).toEqual(['done', 'running'])
  await made.clock.advance('1m')
  expect(await idsOf(worker)).toEqual([1, 2, 5].map((minute) => `o@2026-01-01T00:0${minute}:00Z`))
})

test('overlap queue-one: what waits goes on when the job before it is cancelled between its attempts', async () => {
  const { clock, runtime } = world()
  let attempts = 0
  const job = defineJob<{ kind: string }>({
    type: 'report',
    retry: { maxAttempts: 5, backoff: () => '1h' },
    run: async () => {
      attempts++
      if (attempts === 1) throw new Error('boom')
    },
  })
  const worker = await runtime({ jobs: [job] })
  await worker.schedule('o', '* * * * *', job, { kind: 'o' }, { overlap: 'queue-one' })
  await clock.advance('3m')
  const states = async () => (await worker.list()).map(({ state }) => state)
  expect(await states()).toEqual(['retrying', 'scheduled'])
  await worker.cancel('o@2026-01-01T00:01:00Z')
  await clock.advance(0)
  expect(await states()).toEqual(['cancelled', 'done'])
})
