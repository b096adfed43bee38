/** Rates, activity over time and groups of failures, as callers read them. */
import { createClient, defineJob, fatal } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const { clock } = made
  const mail = defineJob<number, void>({
    type: 'mail',
    retry: { maxAttempts: 2, backoff: () => 1_000 },
    async run(n, { signal }) {
      await clock.sleep(500, signal)
      if (n < 0) throw new TypeError(`no address ${n}`)
      if (n === 0) throw fatal(new Error('no input'))
    },
  })
  const sms = defineJob<number, void>({ type: 'sms', run: async () => {} })
  return { ...made, mail, sms }
}

test('the rates of a queue are per second, over all processes, in the last minute and the last five', async () => {
  const { clock, runtime, store, mail, sms } = setUp()
  const worker = await runtime({ jobs: [mail, sms], concurrency: 100 })
  const nothing = {
    enqueued: 0,
    started: 0,
    done: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    meanQueuedMs: null,
    meanRunMs: null,
  }
  expect((await worker.queue('mail').stats()).rates).toEqual({ lastMinute: nothing, lastFiveMinutes: nothing })
  await worker.enqueueMany(mail, [1, 2, 3, 4, 5, -1])
  await clock.advance('10s')
  const client = createClient({ store, clock })
  const { lastMinute, lastFiveMinutes } = (await client.queue('mail').stats()).rates
  expect(lastMinute).toMatchObject({ enqueued: 0.1, started: 7 / 60, done: 5 / 60, failed: 2 / 60, dead: 1 / 60 })
  expect(lastMinute.meanRunMs).toBe(500)
  expect(lastFiveMinutes.enqueued).toBeCloseTo(6 / 300)
  const [ofMail, ofSms] = await client.queues()
  expect(ofMail?.rates).toEqual({ lastMinute, lastFiveMinutes })
  expect(ofSms?.rates.lastMinute).toEqual(nothing)
  expect((await worker.stats()).queues[0]?.rates.lastMinute).toEqual(lastMinute)
  await clock.advance('2m')
  const later = (await client.queue('mail').stats()).rates
  expect([later.lastMinute.enqueued, later.lastFiveMinutes.enqueued]).toEqual([0, 6 / 300])
})

test('stats$ tells no new value when the rates alone have changed', async () => {
  const { clock, runtime, mail, sms } = setUp()
  const worker = await runtime({ jobs: [mail, sms], concurrency: 0 })
  const seen: number[] = []
  worker.queue('mail').stats$.subscribe(({ rates }) => seen.push(rates.lastMinute.enqueued))
  await clock.settle()
  await worker.enqueue(mail, 1)
  await clock.advance('1s')
  const told = seen.length
  for (let n = 0; n < 5; n++) {
    await worker.enqueue(sms, 1)
    await clock.advance('20s')
  }
  expect([seen.length, seen.at(-1)]).toEqual([told, 1 / 60])
})

test('activity has every period, by minutes or hours, of one queue or of all', async () => {
  const { clock, runtime, mail, sms } = setUp()
  const worker = await runtime({ jobs: [mail, sms], concurrency: 100 })
  await worker.enqueueMany(mail, [1, 2])
  await clock.advance('5m')
  await worker.enqueue(sms, 1)
  await clock.settle()
  const { buckets, period, periodMs, now } = await worker.queue('mail').activity()
  expect([buckets.length, period, periodMs, now]).toEqual([60, 'minute', 60_000, clock.now()])
  expect(buckets.map(({ at }) => at)).toEqual(
    Array.from({ length: 60 }, (_, i) => Math.floor(now / 60_000 - 59 + i) * 60_000),
  )
  expect(buckets.flatMap(({ done }, i) => (done > 0 ? [[i, done]] : []))).toEqual([[54, 2]])
  const all = await worker.activity({ last: '10m' })
  expect(all.buckets.map(({ enqueued }) => enqueued)).toEqual([0, 0, 0, 0, 2, 0, 0, 0, 0, 1])
  const hours = await worker.activity({ period: 'hour' })
  expect([hours.buckets.length, hours.periodMs]).toEqual([24, 3_600_000])
  expect(hours.buckets.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(3)
  expect((await worker.queue('never seen').activity({ last: 1 })).buckets).toMatchObject([{ enqueued: 0, queuedMs: 0 }])
})

test('failures are groups, with the filter that finds their jobs', async () => {
  const { clock, runtime, mail } = setUp()
  const worker = await runtime({ jobs: [mail], concurrency: 100 })
  await worker.enqueueMany(mail, [-1, -2, 1])
  await clock.advance('10s')
  const last = await worker.enqueue(mail, 0)
  await clock.advance('10s')
  const [fatalGroup, retried, ...others] = await worker.failures()
  expect(others).toEqual([])
  expect(fatalGroup).toMatchObject({
    type: 'mail',
    name: 'Error',
    message: 'no input',
    count: 1,
    dead: 1,
    lastId: last.id,
  })
  expect(retried).toMatchObject({ name: 'TypeError', message: 'no address -…', count: 4, dead: 2, code: null })
  const filter = { type: 'mail', state: 'dead', failure: retried?.fingerprint ?? '' } as const
  expect((await worker.list(filter)).length).toBe(2)
  expect((await worker.retry(filter)).retried.length).toBe(2)
  expect((await worker.failures({ limit: 1, type: 'mail' })).map(({ message }) => message)).toEqual(['no input'])
  expect((await worker.failures())[1]?.dead).toBe(0)
  expect(await worker.failures({ type: 'none' })).toEqual([])
})

test('what cannot be asked for is refused', async () => {
  const { runtime, mail } = setUp()
  const worker = await runtime({ jobs: [mail] })
  const refused = { code: 'INVALID_OPTION' }
  for (const options of [
    { period: 'day' },
    { last: '3h' },
    { last: 0 },
    { period: 'hour', last: '8d' },
    { since: 1 },
  ]) {
    await expect(worker.activity(options as object)).rejects.toMatchObject(refused)
    await expect(worker.queue('mail').activity(options as object)).rejects.toMatchObject(refused)
  }
  for (const options of [{ limit: 0 }, { limit: 1_001 }, { type: 1 }, { state: 'dead' }]) {
    await expect(worker.failures(options as object)).rejects.toMatchObject(refused)
  }
})
