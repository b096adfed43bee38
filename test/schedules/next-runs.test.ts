/** When specs tick: as pure functions of an instant. */
import { expect, test } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/clock.ts'
import { tickTimes, type ScheduleSpec } from '../../src/core/tick-times.ts'
import { TimeZones } from '../../src/core/time-zone.ts'
import { isLong } from '../harness/long-form.ts'

const zones = new TimeZones()

function runs(spec: ScheduleSpec, timezone: string, after: number, until: number): number[] {
  const times = tickTimes(spec, timezone, zones)
  const found: number[] = []
  for (let tick = times.next(after); tick !== null && tick <= until; tick = times.next(tick)) found.push(tick)
  return found
}

const texts = (ticks: readonly number[]): string[] =>
  ticks.map((at) => new Date(at).toISOString().replace(':00.000Z', 'Z'))

test('three specs with seconds give the twenty ticks of the next four minutes that they name', () => {
  const now = 1_468_359_453_000
  const ticks = ['0/29 * * * * *', '3/49 * * * * *', '* * * 2 * *'].flatMap((spec) =>
    runs(spec, 'UTC', now, now + 240_000),
  )
  const seconds = ticks.toSorted((a, b) => a - b).map((at) => at / 1_000 - 1_468_359_000)
  expect(seconds).toHaveLength(20)
  expect(seconds.slice(0, 4)).toEqual([472, 478, 480, 483])
  expect(seconds.at(-1)).toBe(689)
})

test('five fields begin at second 0, six with seconds, and descriptors stand for their fields', () => {
  const from = Date.UTC(2026, 0, 1, 0, 0, 30)
  const next = (spec: ScheduleSpec): string => new Date(tickTimes(spec, 'UTC', zones).next(from) ?? 0).toISOString()
  expect(next('* * * * *')).toBe('2026-01-01T00:01:00.000Z')
  expect(next('*/10 * * * * *')).toBe('2026-01-01T00:00:40.000Z')
  expect(next('7/2 * * * * *')).toBe('2026-01-01T00:00:31.000Z')
  expect(next('@hourly')).toBe('2026-01-01T01:00:00.000Z')
  expect(next('@daily')).toBe('2026-01-02T00:00:00.000Z')
  expect(next('@weekly')).toBe('2026-01-04T00:00:00.000Z')
  expect(next('@monthly')).toBe('2026-02-01T00:00:00.000Z')
  expect(next('@yearly')).toBe('2027-01-01T00:00:00.000Z')
  expect(next('0 0 29 2 *')).toBe('2028-02-29T00:00:00.000Z')
  expect(next('0 9 * * mon-fri')).toBe('2026-01-01T09:00:00.000Z')
  expect(next('@every 90s')).toBe('2026-01-01T00:02:00.000Z')
  expect(next('@every 1h30m')).toBe('2026-01-01T01:30:30.000Z')
  expect(next({ every: '2d' })).toBe('2026-01-03T00:00:30.000Z')
})

test('a spec has one form, however it is written', () => {
  const form = (spec: ScheduleSpec): string => tickTimes(spec, 'UTC', zones).spec
  expect(form('  0  9 * * mon ')).toBe('0 9 * * MON')
  expect([form('@every 90s'), form({ every: 90_000 }), form('@EVERY 1m30s')]).toEqual(Array(3).fill('@every 90s'))
  expect(form({ every: 7_200_000 })).toBe('@every 2h')
  expect(form('@Daily')).toBe('@daily')
})

test.each([
  ['*/0 * * * *', 'illegal stepping'],
  ['0 0 31 4 *', 'no month that it names has such a day'],
  ['0 0 30-31 2 *', 'no date ever matches it'],
  ['60 * * * *', 'a value of its minutes is 60, which is not within 0…59'],
  ['0 0 32 * *', 'a value of its days of the month is 32, which is not within 1…31'],
  ['0 0 0/5 * *', 'a value of its days of the month is 0, which is not within 1…31'],
  ['0 0 1-32/2 * *', 'a value of its days of the month is 32, which is not within 1…31'],
  ['0 0 * JAN-13 *', 'a value of its months is 13, which is not within 1…12'],
  ['0 0 * * 8#1', 'a value of its days of the week is 8, which is not within 0…7'],
  ['0 0 0 * * FOO', 'days of the week (FOO) contains illegal characters'],
  ['* * * *', 'neither five nor six fields'],
  ['* * * * * * *', 'neither five nor six fields'],
  ['', 'neither five nor six fields'],
  ['a b c d e', 'illegal characters'],
  ['5-3 * * * *', 'From value is larger'],
  ['@reboot', 'neither five nor six fields'],
  ['@every soon', 'a duration after'],
  ['@every 500ms', 'at least 1 s'],
  [{ every: '0s' }, 'at least 1 s'],
  [7, 'a cron text or { every }'],
] as const)('%s is refused with a reason and a hint', (spec, reason) => {
  let refusal: unknown
  try {
    tickTimes(spec as ScheduleSpec, 'UTC', zones)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(JobchartError)
  expect(refusal).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(reason) })
  expect((refusal as JobchartError).hint).toBeTruthy()
})

test('a time zone that does not exist is refused', () => {
  expect(() => tickTimes('@daily', 'Mars/Olympus', zones)).toThrow(/timezone: expected the name of a time zone/)
})

test('where the clock is set forward, a time that is left out ticks an hour later, once', () => {
  const [from, until] = [Date.UTC(2026, 2, 7, 12), Date.UTC(2026, 2, 9, 12)]
  const newYork = (spec: string): string[] => texts(runs(spec, 'America/New_York', from, until))
  expect(newYork('30 2 * * *')).toEqual(['2026-03-08T07:30Z', '2026-03-09T06:30Z'])
  expect(newYork('0 3 * * *')).toEqual(['2026-03-08T07:00Z', '2026-03-09T07:00Z'])
  expect(newYork('30 2,3 * * *')).toEqual(['2026-03-08T07:30Z', '2026-03-09T06:30Z', '2026-03-09T07:30Z'])
  expect(newYork('*/30 2 * * *').slice(0, 2)).toEqual(['2026-03-08T07:00Z', '2026-03-08T07:30Z'])
})

test('the same holds of a change that lies far ahead', () => {
  const next = (spec: string, zone: string): string =>
    texts([tickTimes(spec, zone, zones).next(Date.UTC(2026, 0, 1)) ?? 0])[0] ?? ''
  expect(next('30 2 8 3 *', 'America/New_York')).toBe('2026-03-08T07:30Z')
  expect(next('30 1 1 11 *', 'America/New_York')).toBe('2026-11-01T05:30Z')
  // Half an hour is left out, so that 02:15 comes after 02:30.
  expect(next('15,30 2 4 10 *', 'Australia/Lord_Howe')).toBe('2026-10-03T15:30Z')
})

test('where it is set back, a fixed time ticks the first time only, and an interval goes on', () => {
  const [from, until] = [Date.UTC(2026, 9, 31, 12), Date.UTC(2026, 10, 1, 7, 30)]
  const newYork = (spec: string): string[] => texts(runs(spec, 'America/New_York', from, until))
  expect(newYork('30 1 * * *')).toEqual(['2026-11-01T05:30Z'])
  expect(newYork('0,30 1 * * *')).toEqual(['2026-11-01T05:00Z', '2026-11-01T05:30Z'])
  expect(newYork('*/30 1 * * *')).toEqual(
    [5, 6].flatMap((hour) => [`2026-11-01T0${hour}:00Z`, `2026-11-01T0${hour}:30Z`]),
  )
  expect(newYork('0 * * * *').slice(-4)).toEqual([4, 5, 6, 7].map((hour) => `2026-11-01T0${hour}:00Z`))
  // From within the hour that is repeated.
  const within = tickTimes('45 1 * * *', 'America/New_York', zones).next(Date.UTC(2026, 10, 1, 6, 15)) ?? 0
  expect(new Date(within).toISOString()).toBe('2026-11-02T06:45:00.000Z')
})

const changingZones = ['America/New_York', 'Europe/London', 'Australia/Lord_Howe', 'America/Santiago', 'Africa/Cairo']
const dayMs = 86_400_000

/** Every change of the offset of a zone from 2024 to 2030. */
function changes(name: string): { at: number; before: number; after: number }[] {
  const zone = zones.named(name)
  const found = new Map<number, { at: number; before: number; after: number }>()
  for (let day = Date.UTC(2024, 0, 1); day < Date.UTC(2031, 0, 1); day += dayMs) {
    const change = zone.changeNear(day)
    if (change !== null) found.set(change.at, change)
  }
  return [...found.values()]
}

test.each(changingZones)('%s: at each change of the clock from 2024 to 2030 each rule holds', (name) => {
  const found = changes(name)
  expect(found.length).toBeGreaterThanOrEqual(13)
  expect(found.some(({ before, after }) => after > before)).toBe(true)
  expect(found.some(({ before, after }) => after < before)).toBe(true)
  for (const { at, before, after } of found) {
    // A quarter past the first hour that is left out or repeated, on the wall.
    const wall = new Date(Math.min(at + before, at + after) + 15 * 60_000)
    const [from, until] = [at - 6 * 3_600_000, at + 6 * 3_600_000]
    const fixed = runs(`${wall.getUTCMinutes()} ${wall.getUTCHours()} * * *`, name, from, until)
    expect(fixed, `${name} ${new Date(at).toISOString()}`).toEqual([wall.getTime() - before])
    const quarters = runs('*/15 * * * *', name, from, until)
    expect(quarters.every((tick, i) => i === 0 || tick - (quarters[i - 1] ?? 0) === 15 * 60_000)).toBe(true)
    expect(quarters.length).toBe(48)
    const daily = runs('0 12 * * *', name, at - 3 * dayMs, at + 3 * dayMs)
    expect(daily.map((tick) => (tick + zones.named(name).offsetAt(tick)) % dayMs)).toEqual(
      daily.map(() => 12 * 3_600_000),
    )
  }
})

/** A spec of a random form: often right, sometimes not. */
function randomSpec(random: () => number): string {
  const below = (n: number): number => Math.floor(random() * n)
  const pick = <T>(...of: readonly T[]): T => of[below(of.length)] as T
  const field = (max: number): string =>
    pick(
      () => '*',
      () => '*',
      () => `${below(max + 2)}`,
      () => `*/${below(max + 2)}`,
      () => `${below(max)}-${below(max + 1)}`,
      () => `${below(max)}/${below(max)}`,
      () => `${below(max)},${below(max)},${below(max)}`,
      () => pick('?', 'L', '15W', 'MON', 'JAN', '2#3', '', '1-', 'x', '+1'),
    )()
  const fields = [59, 59, 23, 31, 12, 7].slice(below(2)).map(field)
  return pick(
    fields.join(' '),
    fields.join(' '),
    fields.join(' '),
    `@every ${below(100_000)}s`,
    `@${pick('daily', 'x')}`,
  )
}

const count = isLong ? 1_000_000 : 10_000

test(`each of ${count} random specs has a next run or a typed refusal, within 10 ms of work`, () => {
  const random = seededRandom(7)
  const slow: string[] = []
  let refused = 0
  for (let i = 0; i < count; i++) {
    const spec = randomSpec(random)
    const zone = ['UTC', ...changingZones][i % 6] as string
    const after = Date.UTC(2024, 0, 1) + Math.floor(random() * 6 * 365 * dayMs)
    const take = (): number => {
      const began = process.threadCpuUsage()
      try {
        const next = tickTimes(spec, zone, zones).next(after)
        expect(next === null || next > after, `${spec} ${zone} ${after}`).toBe(true)
      } catch (error) {
        expect(error, spec).toMatchObject({ code: 'INVALID_OPTION' })
        refused++
      }
      const { user, system } = process.threadCpuUsage(began)
      return (user + system) / 1_000
    }
    // Garbage of others and compilation are not its fault: what is slow is asked again.
    if (take() > 10 && take() > 10 && take() > 10) slow.push(spec)
  }
  expect(slow).toEqual([])
  expect(refused).toBeGreaterThan(count / 20)
  expect(refused).toBeLessThan(count * 0.8)
})
