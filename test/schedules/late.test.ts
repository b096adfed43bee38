/** Ticks that come late or not at all: downtime, restarts, several processes, and clocks that jump. */
import { createClient, createRuntime, defineJob, schedule, type Runtime, type Store } from 'jobchart'
import { faultyStore, VirtualClock } from 'jobchart/testing'
import { sqliteStore } from 'jobchart/sqlite'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { planTicks } from '../../src/core/catch-up.ts'
import { tickTimes } from '../../src/core/tick-times.ts'
import { TimeZones } from '../../src/core/time-zone.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { world } from '../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const job = defineJob<void>({ type: 'job', run: async () => {} })

/** The ticks that were fired, as minutes after the start. */
const firedMinutes = async (runtime: Runtime): Promise<number[]> => {
  const jobs = await runtime.list({ limit: 1_000 })
  return jobs.map(({ id }) => (Date.parse(id.slice(2)) - start) / minuteMs)
}

test.each([
  ['skip', [1, 2, 63], 60],
  ['last', [1, 2, 62, 63], 59],
  [{ all: 3 }, [1, 2, 60, 61, 62, 63], 57],
  [{ all: 100 }, Array.from({ length: 63 }, (_, i) => i + 1), 0],
] as const)('after an hour without a process, catchUp %j fires what it says', async (catchUp, minutes, missed) => {
  const { clock, idle, runtime } = world()
  const first = idle({ jobs: [job] })
  await first.start()
  await first.schedule('s', '* * * * *', job, undefined, { catchUp })
  await clock.advance(2.5 * minuteMs)
  await first.stop()
  await clock.advance('1h')
  const second = await runtime({ jobs: [job] })
  await clock.advance('1m')
  expect(await firedMinutes(second)).toEqual(minutes)
  expect((await second.schedules())[0]?.missed).toBe(missed)
})

test('a tick that comes a few seconds late is fired, whatever catchUp says', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  await worker.schedule('s', '*/2 * * * * *', job, undefined, { catchUp: 'skip' })
  clock.block('9s')
  await clock.advance('1s')
  expect((await firedMinutes(worker)).map((minute) => minute * 60)).toEqual([2, 4, 6, 8, 10])
})

test('a tick is late up to ten seconds, and missed after that', () => {
  const taken = (lateMs: number) => plan('0 * * * *', start, start + lateMs, 'skip')
  expect(taken(10_000)).toEqual({ ticks: [start], missed: 0, nextAt: start + hourMs })
  expect(taken(10_001)).toEqual({ ticks: [], missed: 1, nextAt: start + hourMs })
})

test('a schedule whose timer was set before the clock jumped is fired soon after', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  await worker.schedule('s', '0 12 * * *', job)
  clock.jump(12 * hourMs)
  await clock.advance('20s')
  expect(await firedMinutes(worker)).toEqual([12 * 60])
})

test('a schedule that is declared while the store is slow to say what is due is fired in time', async () => {
  const { clock, runtime, store } = world()
  const faults = { dueSchedules: { late: 1, lateBy: '6s' } } as const
  await runtime({ jobs: [job], store: faultyStore(store, { seed: 3, clock, faults }) })
  const client = createClient({ jobs: [job], store, clock })
  await client.schedule('s', '@every 1s', job)
  await clock.advance('9s')
  expect((await store.list({})).length).toBeGreaterThan(0)
  await client.close()
})

const plan = (spec: string, first: number, now: number, catchUp: Parameters<typeof planTicks>[3]) =>
  planTicks(tickTimes(spec, 'UTC', new TimeZones()), first, now, catchUp)

test('of millions of missed ticks the last are found without walking through them', () => {
  const now = start + 365 * 24 * hourMs + 500
  const began = performance.now()
  const last = now - 500
  const late = Array.from({ length: 10 }, (_, i) => last - (9 - i) * 1_000)
  for (const spec of ['* * * * * *', '@every 1s']) {
    expect(plan(spec, start + 1_000, now, 'skip')).toEqual({ ticks: late, missed: 1_000, nextAt: last + 1_000 })
    const caughtUp = plan(spec, start + 1_000, now, { all: 2 })
    expect(caughtUp.ticks).toEqual([last - 11_000, last - 10_000, ...late])
  }
  expect(plan('0 * * * *', start + hourMs, now, 'last')).toEqual({
    ticks: [last],
    missed: 1_000,
    nextAt: last + hourMs,
  })
  expect(plan('30 * * * *', start + hourMs / 2, now, 'last')).toMatchObject({
    ticks: [last - hourMs / 2],
    missed: 1_000,
  })
  expect(performance.now() - began).toBeLessThan(1_000)
})

test('an interval keeps its place through what was missed', () => {
  expect(plan('@every 7s', start, start + 61_000, { all: 1 })).toEqual({
    ticks: [49, 56].map((s) => start + s * 1_000),
    missed: 7,
    nextAt: start + 63_000,
  })
})

test('two runtimes on one store make one job per tick, and either may go', async () => {
  const { clock, idle, runtime } = world()
  const declared = { jobs: [job], schedules: [schedule('s', '*/10 * * * * *', job)] }
  const first = idle(declared)
  await first.start()
  const second = await runtime(declared)
  await clock.advance('1m')
  await first.stop()
  await clock.advance('1m')
  expect((await firedMinutes(second)).map((minute) => minute * 60)).toEqual(
    Array.from({ length: 12 }, (_, i) => 10 * (i + 1)),
  )
  const enqueued = (await second.store.transitions(null, 1_000)).transitions.filter(({ event }) => event === 'ENQUEUE')
  expect(enqueued).toHaveLength(12)
  expect((await second.schedules())[0]).toMatchObject({ fired: 12, missed: 0 })
})

test('a store that fails, and loses replies, loses no tick and repeats none', async () => {
  const { clock, idle, runtime, store, expectLogged } = world()
  const each = { before: 0.2, lostReply: 0.2, late: 0.2, lateBy: '2s' } as const
  const faults = { dueSchedules: each, fireSchedules: each }
  for (const seed of [1, 2, 3]) await runtime({ jobs: [job], store: faultyStore(store, { seed, clock, faults }) })
  const direct = idle({ jobs: [job] })
  await direct.schedule('s', '*/10 * * * * *', job)
  await clock.advance('10m')
  await clock.advance('9s')
  const seconds = (await firedMinutes(direct)).map((minute) => Math.round(minute * 60))
  expect(seconds).toEqual(Array.from({ length: 60 }, (_, i) => 10 * (i + 1)))
  expect(expectLogged('warn').length).toBeGreaterThan(10)
})

test('a clock that jumps ahead by a year makes few jobs, and one that is set back makes none again', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job], retention: { done: { age: '1000d' } } })
  await worker.schedule('s', '* * * * *', job, undefined, { catchUp: { all: 5 } })
  await clock.advance('2m')
  clock.jump(365 * 24 * hourMs)
  await clock.advance('1m')
  const ahead = await firedMinutes(worker)
  expect(ahead.length).toBeLessThanOrEqual(9)
  expect((await worker.schedules())[0]?.missed).toBe(1_000)
  clock.jump(-30 * minuteMs)
  await clock.advance('20m')
  expect(await firedMinutes(worker)).toEqual(ahead)
})

test('the next declaration moves a schedule back that was fired by a clock that was wrong', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const declare = () => worker.schedule('s', '* * * * *', job)
  await declare()
  clock.jump(30 * 24 * hourMs)
  await clock.advance('1m')
  clock.jump(-30 * 24 * hourMs)
  await declare()
  expect(await (await declare()).nextRuns(1)).toEqual([new Date(start + 2 * minuteMs)])
})

test('a file keeps its schedules, their pauses and their next ticks', async () => {
  const { path, ...folder } = temporaryFolder()
  onTestFinished(() => folder.remove())
  const clock = new VirtualClock()
  const life = async (act: (runtime: Runtime) => Promise<void>): Promise<void> => {
    const runtime = createRuntime({ jobs: [job], store: sqliteStore({ path: join(path, 'jobs.db') }), clock })
    await runtime.start()
    await act(runtime)
    await runtime.stop()
  }
  await life(async (runtime) => {
    await runtime.schedule('s', '@every 10m', job)
    await (await runtime.schedule('p', '@every 10m', job)).pause()
  })
  await clock.advance('9m')
  await life(async (runtime) => {
    await runtime.schedule('s', '@every 10m', job)
    const [paused, going] = await runtime.schedules()
    expect(paused).toMatchObject({ name: 'p', paused: true })
    expect(going).toMatchObject({ name: 's', nextRuns: [start + 10 * minuteMs] })
  })
})

test('in ten thousand schedules only those that are due are touched', async () => {
  const { clock, runtime, store } = world()
  let asked = 0
  const counted: Store = {
    ...store,
    schedules: { ...store.schedules, due: (request) => (asked++, store.schedules.due(request)) },
  }
  const worker = await runtime({ jobs: [job], store: counted })
  await worker.schedule('one', '@hourly', job)
  const [one] = await store.schedules.list()
  if (one === undefined) throw new Error('the schedule is there')
  const { name, spec, timezone, catchUp, overlap, jitterMs, job: made, computed, owner } = one
  const terms = { name, spec, timezone, catchUp, overlap, jitterMs, job: made, computed, owner }
  const many = Array.from({ length: 10_000 }, (_, i) => ({ ...terms, name: `later ${i}` }))
  await store.schedules.put(many.map((each) => ({ terms: each, paused: false, nextAt: start + 24 * hourMs + 1 })))
  asked = 0
  await clock.advance('3h')
  // A look when the timer fires and one that finds no more; and one per half lease.
  expect(asked).toBeLessThanOrEqual(3 * 2 + (3 * hourMs) / 15_000 + 2)
  expect((await worker.list()).map(({ id }) => id.slice(0, 4))).toEqual(['one@', 'one@', 'one@'])
})

test('a runtime that drains fires nothing any more', async () => {
  const { clock, idle, store } = world()
  const slow = defineJob<void>({ type: 'job', run: () => clock.sleep('5m') })
  const worker = idle({ jobs: [slow] })
  await worker.start()
  await worker.schedule('s', '* * * * *', slow)
  await clock.advance('1m')
  const stopped = worker.stop({ mode: 'drain', timeout: '1h' })
  await clock.advance('10m')
  expect(await stopped).toMatchObject({ completed: true })
  expect((await store.list({})).map(({ id }) => id)).toEqual(['s@2026-01-01T00:01:00Z'])
})
