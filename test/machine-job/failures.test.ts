/** What fails is tried again from the last checkpoint; only attempts that led to none count. */
import { defineJob, snooze, fatal, type JobHandle } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

/** A machine of one step after another; what each of them does is given. */
function steps(options: {
  readonly action?: () => unknown
  readonly guard?: () => boolean
  readonly assign?: () => number
  readonly first?: () => Promise<unknown>
  readonly second?: (signal: AbortSignal, key: string) => Promise<unknown>
}) {
  const { action = () => {}, guard = () => true, first = async () => {}, second = async () => {} } = options
  return setup({
    types: { context: {} as { n: number } },
    actions: { act: () => action() as void },
    guards: { guard: () => guard() },
    actors: {
      first: fromPromise(() => first()),
      second: fromPromise(({ signal, self }) => second(signal, self.sessionId)),
    },
  }).createMachine({
    id: 'steps',
    context: { n: 0 },
    initial: 'one',
    states: {
      one: { invoke: { src: 'first', onDone: 'two' } },
      two: { invoke: { src: 'second', onDone: { target: 'three', guard: 'guard' } } },
      three: { entry: [assign({ n: () => options.assign?.() ?? 1 }), 'act'], after: { 1_000: 'end' } },
      end: { type: 'final' },
    },
    output: ({ context }) => context.n,
  })
}

const failing = (times: number, act: () => unknown = () => 1) => {
  let calls = 0
  return () => {
    if (++calls <= times) throw new Error(`failure ${calls}`)
    return act()
  }
}

async function begin(at: World, machine: ReturnType<typeof steps>, more: { attemptTimeout?: string } = {}) {
  const job = defineJob({ type: 'steps', machine, retry: { maxAttempts: 3, backoff: () => '10s' }, ...more } as never)
  const runtime = await at.runtime({ jobs: [job], lease: '10m' })
  const handle = await runtime.enqueue(job, undefined)
  return { runtime, handle: handle as JobHandle }
}

test.each<[what: string, options: Parameters<typeof steps>[0], firsts: number, seconds: number]>([
  ['a throwing action', { action: failing(2) }, 1, 1],
  ['an action whose promise rejects', { action: failing(2, async () => 1) }, 1, 1],
  ['a throwing guard', { guard: failing(2, () => true) as () => boolean }, 1, 3],
  ['a throwing assign', { assign: failing(2, () => 7) as () => number }, 1, 3],
  ['a rejecting actor that nobody minds', { second: failing(2, async () => 1) as () => Promise<number> }, 1, 3],
])('%s fails the attempt, which goes on from the last checkpoint', async (_, options, firsts, seconds) => {
  const at = world()
  let [first, second] = [0, 0]
  const machine = steps({
    ...options,
    first: async () => void first++,
    second: async (...args) => {
      second++
      return options.second?.(...args)
    },
  })
  const { handle } = await begin(at, machine)
  await at.clock.advance('1s')
  const failed = await handle.record()
  expect(failed).toMatchObject({
    state: 'retrying',
    error: { message: expect.stringContaining('failure 1') as string },
  })
  expect(failed.dueAt).toBe(at.clock.now() + 9_000)
  await at.clock.advance('1m')
  const { state, errors } = await handle.record()
  expect(state).toBe('done')
  expect(errors).toHaveLength(2)
  expect({ first, second }).toEqual({ first: firsts, second: seconds })
})

test('a job is dead after so many attempts in one place; those that led to a checkpoint do not count', async () => {
  const at = world()
  let [first, second] = [0, 0]
  const machine = steps({
    first: async () => {
      if (++first <= 2) throw new Error('first')
    },
    second: async () => {
      second++
      throw new Error('second')
    },
  })
  const { handle } = await begin(at, machine)
  await at.clock.advance('5m')
  // The third attempt came to a checkpoint, and is the first of those that stand there.
  expect({ first, second }).toEqual({ first: 3, second: 3 })
  expect(await handle.record()).toMatchObject({ state: 'dead', error: { message: 'second' } })
})

test('an actor that fails after a while fails in the same place: that it began again is no checkpoint', async () => {
  const at = world()
  let second = 0
  const machine = steps({
    second: async () => {
      second++
      await at.clock.sleep('5s')
      throw new Error('second')
    },
  })
  const { handle } = await begin(at, machine)
  await at.clock.advance('5m')
  expect(second).toBe(3)
  expect(await handle.record()).toMatchObject({ state: 'dead', error: { message: 'second' } })
})

test('attempts that led to a checkpoint do not make the next one wait longer', async () => {
  const at = world()
  const tries: number[] = []
  const failOnce = (): (() => void) => failing(1, () => {})
  const [a, b, c] = [failOnce(), failOnce(), failing(2)]
  const machine = setup({
    actors: {
      a: fromPromise(async () => a()),
      b: fromPromise(async () => b()),
      c: fromPromise(async () => c()),
    },
  }).createMachine({
    initial: 'one',
    states: {
      one: { invoke: { src: 'a', onDone: 'two' } },
      two: { invoke: { src: 'b', onDone: 'three' } },
      three: { invoke: { src: 'c', onDone: 'end' } },
      end: { type: 'final' },
    },
  })
  const backoff = (attempt: number): string => {
    tries.push(attempt)
    return '1s'
  }
  const job = defineJob({ type: 'steps', machine, retry: { backoff: backoff as () => '1s' } })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('1m')
  expect((await handle.record()).state).toBe('done')
  expect(tries).toEqual([1, 1, 1, 2])
})

test('a dead job goes on at its checkpoint, or from its start', async () => {
  const at = world()
  let [first, second] = [0, 0]
  let broken = true
  const machine = steps({
    first: async () => void first++,
    second: async () => {
      second++
      if (broken) throw fatal('broken')
    },
  })
  const { handle } = await begin(at, machine)
  await at.clock.advance('1s')
  expect(await handle.record()).toMatchObject({ state: 'dead', error: { message: 'broken' } })
  await handle.retry()
  await at.clock.advance('1s')
  expect({ first, second }).toEqual({ first: 1, second: 2 })
  await handle.retry({ from: 'start' })
  await at.clock.advance('1s')
  expect({ first, second }).toEqual({ first: 2, second: 3 })
  broken = false
  await handle.retry()
  await at.clock.advance('5s')
  expect({ first, second }).toEqual({ first: 2, second: 4 })
  expect(await handle.result()).toBe(1)
})

test('an actor may put its job off', async () => {
  const at = world()
  let calls = 0
  const machine = steps({
    second: async () => {
      if (++calls === 1) throw snooze('1m')
    },
  })
  const { handle } = await begin(at, machine)
  await at.clock.advance('1s')
  expect(await handle.record()).toMatchObject({ state: 'scheduled', attempt: 0 })
  await at.clock.advance('2m')
  expect(await handle.result()).toBe(1)
})

test('an attempt that takes too long is aborted, and its actors with it', async () => {
  const at = world()
  const aborted: unknown[] = []
  const machine = steps({
    second: (signal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason)
          reject(signal.reason as Error)
        }),
      ),
  })
  const { handle } = await begin(at, machine, { attemptTimeout: '5s' })
  await at.clock.advance('6s')
  expect(await handle.record()).toMatchObject({ state: 'retrying', error: { code: 'TIMEOUT' } })
  expect(aborted).toHaveLength(1)
  await handle.cancel()
})

test('a stop releases the job: its actors are aborted, and begin elsewhere with the same key', async () => {
  const at = world()
  const keys: string[] = []
  let hangs = true
  let aborted = 0
  const machine = steps({
    second: (signal, key) => {
      keys.push(key)
      if (!hangs) return Promise.resolve()
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted++
          reject(new Error('stopped'))
        }),
      )
    },
  })
  const job = defineJob({ type: 'steps', machine })
  const first = await at.runtime({ jobs: [job] })
  const { id } = await first.enqueue(job, undefined)
  await at.clock.advance('1s')
  await first.stop({ mode: 'abort' })
  hangs = false
  const second = await at.runtime({ jobs: [job] })
  const handle = await second.job(id)
  const { history } = (await handle?.record()) ?? {}
  expect(history?.map(({ event }) => event)).toContain('RELEASE')
  expect(aborted).toBe(1)
  await at.clock.advance('5s')
  expect((await handle?.record())?.state).toBe('done')
  expect(keys).toEqual([`${id}/0.steps.two/1`, `${id}/0.steps.two/1`])
})

test('a machine that works and never rests lets others have their turn', async () => {
  const at = world()
  const machine = setup({
    actors: { work: fromPromise(({ signal }) => at.clock.sleep('1h', signal)) },
  }).createMachine({
    initial: 'a',
    invoke: { src: 'work' },
    on: { STOP: '.end' },
    states: { a: { after: { 0: 'b' } }, b: { after: { 0: 'a' } }, end: { type: 'final' } },
  })
  const job = defineJob({ type: 'restless', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.advance('20ms')
  await handle.send({ type: 'STOP' })
  await at.clock.advance('1s')
  expect((await handle.record()).state).toBe('done')
})
