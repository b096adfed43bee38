import { expect, test } from 'vitest'
import { createRuntime, defineJob, type Logger, type SelectionOption } from 'jobchart'
import { seededRandom, VirtualClock } from 'jobchart/testing'
import { Selector, type Picks } from '../../src/worker/selector.ts'

const noLimits = { concurrency: null, perKey: null, rate: null }
const weights: Record<string, number> = { one: 1, two: 2, seven: 7, ninety: 90 }
const logger = { debug() {}, info() {}, warn() {}, error() {} }

function selector(selection: SelectionOption, options: { seed?: number; now?: () => number; logger?: Logger } = {}) {
  const jobs = Object.entries(weights).map(([type, weight]) => ({ type, weight, limits: noLimits }))
  const made = new Selector({
    jobs,
    selection,
    random: seededRandom(options.seed ?? 1),
    now: options.now ?? (() => 0),
    logger: options.logger ?? logger,
  })
  return made
}

const wakeAll = (from: Selector): void => Object.keys(weights).forEach((type) => from.wake(type))

const nothing: Picks = { demand: [], jobs: 0, queues: [] }

/** Picks with every queue full, `slots` at a time, and what each type got. */
function picks(from: Selector, count: number, slots = 10): Record<string, number> {
  const got: Record<string, number> = Object.fromEntries(Object.keys(weights).map((type) => [type, 0]))
  for (let left = count; left > 0; left -= slots) {
    const picked = from.pick(Math.min(slots, left)) ?? nothing
    const jobs = picked.demand.flatMap(({ type, max }) => Array.from({ length: max }, () => ({ type })))
    for (const { type } of jobs) got[type] = (got[type] ?? 0) + 1
    from.applyClaim(picked, { jobs: jobs as never, shortfalls: [] })
  }
  return got
}

test.each([1, 3, 10, 100])('weighted shares of 10,000 picks are within 0.5 % of the weights, %i slots', (slots) => {
  const from = selector('weighted')
  wakeAll(from)
  const got = picks(from, 10_000, slots)
  for (const [type, weight] of Object.entries(weights)) {
    const share = (got[type] ?? 0) / 10_000
    expect(Math.abs(share - weight / 100), type).toBeLessThan(0.005 * Math.max(weight / 100, 0.01) + 1e-4)
  }
})

test('random shares are within the error of sampling, for every seed', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const from = selector('random', { seed })
    wakeAll(from)
    const got = picks(from, 10_000)
    for (const [type, weight] of Object.entries(weights)) {
      const share = weight / 100
      // Five standard deviations of a binomial: one false alarm in a million and a half.
      const error = 5 * Math.sqrt((share * (1 - share)) / 10_000)
      expect(Math.abs((got[type] ?? 0) / 10_000 - share), `${type}, seed ${seed}`).toBeLessThan(error)
    }
  }
})

test('random picks are independent draws: no queue is due', () => {
  const from = selector('random')
  wakeAll(from)
  let repeats = 0
  let last = ''
  for (let i = 0; i < 10_000; i++) {
    const picked = from.pick(1) ?? nothing
    const [only] = picked.demand
    from.applyClaim(picked, { jobs: [{ type: only?.type }] as never, shortfalls: [] })
    if (only?.type === last) repeats++
    last = only?.type ?? ''
  }
  // Independent draws repeat with the sum of the squared shares; stride scheduling would spread them.
  const expected = Object.values(weights).reduce((sum, weight) => sum + (weight / 100) ** 2, 0)
  expect(Math.abs(repeats / 10_000 - expected)).toBeLessThan(0.02)
})

test('the same seed gives the same picks', () => {
  const run = (): Record<string, number> => {
    const from = selector('random', { seed: 7 })
    wakeAll(from)
    return picks(from, 500)
  }
  expect(run()).toEqual(run())
})

test('strict picks the highest priority as long as it has work', () => {
  const from = selector('strict')
  wakeAll(from)
  expect(picks(from, 1_000)).toEqual({ one: 0, two: 0, seven: 0, ninety: 1_000 })
})

test('strict with ageing lets a queue gain one point of priority per interval that it waits', () => {
  let now = 0
  const from = selector({ strategy: 'strict', ageing: '1s' }, { now: () => now })
  wakeAll(from)
  const order: string[] = []
  for (; now < 100_000; now += 1_000) {
    const picked = from.pick(1) ?? nothing
    const [only] = picked.demand
    order.push(only?.type ?? '')
    from.applyClaim(picked, { jobs: [{ type: only?.type }] as never, shortfalls: [] })
  }
  // 90 is picked until another has waited longer than it is behind: 83 points, 88, and 89; each pick ages the rest.
  expect(order.indexOf('seven')).toBe(84)
  expect(order.indexOf('two')).toBe(89)
  expect(order.indexOf('one')).toBe(91)
})

test('a queue without work gives its share to the others and gains no credit meanwhile', () => {
  const from = selector('weighted')
  for (const type of ['one', 'two', 'seven']) from.wake(type)
  const before = picks(from, 1_000)
  expect(before['ninety']).toBe(0)
  expect(before['seven']).toBe(700)
  from.wake('ninety')
  const after = picks(from, 1_000)
  expect(after['ninety']).toBeGreaterThan(895)
  expect(after['ninety']).toBeLessThan(905)
})

test('picks that found no job cost no share', () => {
  const from = selector('weighted')
  from.wake('one')
  from.wake('two')
  // `one` is asked for in vain a hundred times; it must not owe anything afterwards.
  for (let i = 0; i < 100; i++) {
    const picked = from.pick(3) ?? nothing
    const jobs = picked.demand
      .filter(({ type }) => type === 'two')
      .flatMap(({ type, max }) => Array.from({ length: max }, () => ({ type })))
    from.applyClaim(picked, { jobs: jobs as never, shortfalls: [{ type: 'one', reason: 'capped' }] })
    from.wake('one')
  }
  const got = picks(from, 300)
  expect(got['one']).toBeGreaterThan(95)
})

test('a wake that comes while a claim is under way outlives the answer that the queue is dry', () => {
  const from = selector('weighted')
  from.wake('one')
  const picked = from.pick(1) ?? nothing
  from.wake('one')
  from.applyClaim(picked, { jobs: [], shortfalls: [{ type: 'one', reason: 'empty' }] })
  expect(from.idle).toBe(false)
})

test('an own function chooses among the queues that may have work', () => {
  const asked: string[][] = []
  const from = selector((candidates) => {
    asked.push(candidates.map(({ type }) => type))
    return candidates.at(-1)?.type ?? null
  })
  from.wake('one')
  from.wake('seven')
  expect(picks(from, 10)).toMatchObject({ one: 0, seven: 10 })
  expect(asked[0]).toEqual(['one', 'seven'])
})

test('an own function that throws harms only its pick', () => {
  const from = selector(() => {
    throw new Error('mine')
  })
  wakeAll(from)
  expect(picks(from, 100)['ninety']).toBe(90)
})

test.each(['none of them', undefined])(
  'an own function that gives %j, which is no candidate, harms only its pick',
  (given) => {
    const logged: unknown[] = []
    const error = (...entry: unknown[]): void => void logged.push(entry)
    const from = selector(() => given as string, { logger: { ...logger, error } })
    wakeAll(from)
    expect(picks(from, 100)['ninety']).toBe(90)
    expect(logged[0]).toEqual(['the selection function gave no candidate; this pick uses the weights', { given }])
  },
)

test('an own function that gives null picks nothing', () => {
  const from = selector(() => null)
  wakeAll(from)
  expect(from.pick(10)).toBeNull()
})

test('the shares that a runtime really gave are in its stats, and follow the weights', async () => {
  const clock = new VirtualClock()
  const jobs = Object.entries(weights).map(([type, priority]) =>
    defineJob({ type, weight: priority, run: async () => {} }),
  )
  const runtime = createRuntime({ jobs, concurrency: 5, clock })
  for (const job of jobs)
    await runtime.enqueueMany(
      job,
      Array.from({ length: 4_000 }, () => undefined),
    )
  const order: string[] = []
  runtime.events$.subscribe(({ event, type }) => event === 'CLAIM' && order.push(type))
  await runtime.start()
  await runtime.drain()
  const first = order.slice(0, 4_000)
  for (const [type, weight] of Object.entries(weights)) {
    expect(first.filter((each) => each === type).length / 4_000, type).toBeCloseTo(weight / 100, 2)
  }
  const { queues } = await runtime.stats()
  expect(queues.map(({ given }) => given)).toEqual([4_000, 4_000, 4_000, 4_000])
  expect(queues.map(({ expectedShare }) => expectedShare)).toEqual([0.01, 0.02, 0.07, 0.9])
  await runtime.stop()
})

test('two claims in flight are answered each on its own, in whatever order', () => {
  const from = selector('weighted')
  from.wake('one', 3)
  from.wake('two', 1)
  const [first, second] = [from.pick(2) ?? nothing, from.pick(2) ?? nothing]
  const wanted = [first, second].flatMap(({ demand }) => demand).map(({ type, max }) => [type, max])
  expect(wanted.reduce((sum, [, max]) => sum + Number(max), 0)).toBe(4)
  expect(from.pick(1)).toBeNull()
  from.applyClaim(second, null)
  const jobs = first.demand.flatMap(({ type, max }) => Array.from({ length: max }, () => ({ type })))
  from.applyClaim(first, { jobs: jobs as never, shortfalls: [] })
  // What the failed claim has asked for is picked again.
  expect(from.pick(4)?.demand.map(({ type, max }) => [type, max])).toEqual(
    second.demand.map(({ type, max }) => [type, max]),
  )
})

test('jobs whose pick failed are picked later, all of them', () => {
  const from = selector('weighted')
  from.wake('one', 2)
  from.wake('two', 1)
  // A pick of one slot among several queues takes one job of one of them.
  for (let failures = 0; failures < 5; failures++) {
    const picked = from.pick(1) ?? nothing
    expect(picked.demand).toHaveLength(1)
    from.applyClaim(picked, null)
  }
  expect(picks(from, 3, 1)).toMatchObject({ one: 2, two: 1 })
  expect(from.idle).toBe(true)
})

test('a definition has a weight, and one that has a priority is refused with that word', () => {
  const [run, type] = [async () => {}, 'mail']
  expect(defineJob({ type, run }).weight).toBe(1)
  expect(defineJob({ type, weight: 7, run }).weight).toBe(7)
  // @ts-expect-error -- a definition has no priority
  const prioritised = () => defineJob({ type, priority: 7, run })
  expect(prioritised).toThrow('options of defineJob: expected weight in place of priority, got 7')
  expect(prioritised).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', hint: expect.stringMatching(/`weight`/) }),
  )
})

test('a selection function sees the weights of the queues, and no priority', () => {
  const seen: unknown[] = []
  const from = selector((candidates) => {
    seen.push(...candidates.map((each) => Object.keys(each)))
    return candidates[0]?.type ?? null
  })
  wakeAll(from)
  picks(from, 1, 1)
  expect(seen).toEqual(Object.keys(weights).map(() => ['type', 'weight', 'given']))
})
