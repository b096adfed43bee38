/** A promise with attempts and steps of its own, in a job. */
import {
  constant,
  defineJob,
  durable,
  fatal,
  snooze,
  type DurableScope,
  type JobchartError,
  type JobHandle,
  type MachineTypes,
} from 'jobchart'
import { assign, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

type Scope = DurableScope<{ readonly n: number }>

/** A machine that works, and keeps how that ended. */
function working(work: (scope: Scope) => Promise<unknown>, options: Parameters<typeof durable>[1] = {}) {
  const retry = { maxAttempts: 3, backoff: constant('1m'), ...options.retry }
  return setup({
    types: { context: {} as { end: unknown }, events: {} as { type: 'LEAVE' | 'NOTE' } },
    actors: { work: durable<unknown, { readonly n: number }>(work, { ...options, retry }) },
  }).createMachine({
    id: 'm',
    context: { end: null },
    initial: 'at',
    states: {
      at: {
        invoke: {
          id: 'work',
          src: 'work',
          input: { n: 7 },
          onDone: { target: 'end', actions: assign({ end: ({ event }) => event.output }) },
          onError: { target: 'end', actions: assign({ end: ({ event }) => event.error }) },
        },
        on: { LEAVE: 'left', NOTE: { actions: assign({ end: 'noted' }) } },
      },
      left: { after: { '10m': 'end' } },
      end: { type: 'final' },
    },
    output: ({ context: { end } }) => (end instanceof Error ? `${end.name}: ${end.message}` : end),
  })
}

async function begin(at: World, machine: ReturnType<typeof working>, more: { attemptTimeout?: string } = {}) {
  const job = defineJob({
    type: 'working',
    machine,
    retry: { maxAttempts: 3, backoff: constant('1s') },
    ...more,
  } as never)
  const runtime = await at.runtime({ jobs: [job], lease: '1h' })
  const handle = (await runtime.enqueue(job, undefined)) as JobHandle<
    unknown,
    MachineTypes & { event: { type: 'LEAVE' | 'NOTE' } }
  >
  await at.clock.advance(0)
  return { runtime, handle, job }
}

test('a promise that rejects is tried again after its backoff, and the job waits for it without a slot', async () => {
  const at = world()
  const tries: unknown[] = []
  const { handle } = await begin(
    at,
    working(async ({ attempt, maxAttempts, input: { n } }) => {
      tries.push([attempt, maxAttempts, n, at.clock.now()])
      if (attempt < 3) throw new Error(`no ${attempt}`)
      return 'done'
    }),
  )
  const start = at.clock.now()
  const { state, dueAt, logs, error } = await handle.record()
  expect([state, dueAt, error]).toEqual(['waiting', start + 60_000, null])
  expect(logs.map(({ message }) => message)).toEqual([
    'work: attempt 1 of 3 failed: Error: no 1; the next one begins in 60000 ms',
  ])
  await at.clock.advance('2m')
  expect(tries).toEqual([
    [1, 3, 7, start],
    [2, 3, 7, start + 60_000],
    [3, 3, 7, start + 120_000],
  ])
  expect(await handle.result()).toBe('done')
  const notes = (await handle.checkpoints()).map(({ note }) => note)
  expect(notes).toEqual([
    'xstate.init → at',
    'work: attempt 1 failed',
    'work: attempt 2',
    'work: attempt 2 failed',
    'work: attempt 3',
    'xstate.done.actor.work → end',
  ])
  expect((await handle.record()).errors).toEqual([])
})

test('what a step has finished is not run again by a later attempt, and is the same value', async () => {
  const at = world()
  const ran: string[] = []
  const seen: unknown[] = []
  const { handle } = await begin(
    at,
    working(async ({ attempt, step }) => {
      const a = await step('a', () => {
        ran.push(`a of ${attempt}`)
        return { list: [1] }
      })
      seen.push(structuredClone(a))
      a.list.push(2)
      await step('nothing', () => void ran.push(`nothing of ${attempt}`))
      await step('b/%2F', () => {
        ran.push(`b of ${attempt}`)
        if (attempt < 3) throw new Error('b')
      })
      return 'end'
    }),
  )
  await at.clock.advance('2m')
  expect(await handle.result()).toBe('end')
  expect(ran).toEqual(['a of 1', 'nothing of 1', 'b of 1', 'b of 2', 'b of 3'])
  expect(seen).toEqual([{ list: [1] }, { list: [1] }, { list: [1] }])
})

test('the name of a step stands for one step of an attempt', async () => {
  const at = world()
  const { handle } = await begin(
    at,
    working(
      async ({ step }) => {
        await step('a', () => 1)
        await step('a', () => 2)
      },
      { retry: { maxAttempts: 1 } },
    ),
  )
  expect(await handle.result()).toBe(
    `JobchartError: attempt 1 of actor work in job ${handle.id} has used the step name "a" before`,
  )
})

test.each<[what: string, error: () => unknown, end: string]>([
  ['fatal(error)', () => fatal(new Error('gone')), 'FatalError: gone'],
  ['an error that retryIf refuses', () => new Error('refused'), 'Error: refused'],
  [
    'snooze',
    () => snooze('1m'),
    'JobchartError: actor work threw snooze(): an attempt of a durable promise cannot be postponed',
  ],
])('%s ends the attempts at once', async (_, error, end) => {
  const at = world()
  let tries = 0
  const machine = working(
    async () => {
      tries++
      throw error()
    },
    { retry: { retryIf: (thrown) => (thrown as Error).message !== 'refused' } },
  )
  const { handle } = await begin(at, machine)
  expect((await handle.record()).state).toBe('done')
  expect(await handle.result()).toBe(end)
  expect(tries).toBe(1)
})

test('after the last attempt the machine hears of the last error', async () => {
  const at = world()
  const { handle } = await begin(
    at,
    working(async ({ attempt }) => {
      throw new RangeError(`no ${attempt}`)
    }),
  )
  await at.clock.advance('5m')
  expect(await handle.result()).toBe('RangeError: no 3')
  expect((await handle.record()).logs.at(-1)?.message).toBe(
    'work: attempt 3 of 3 failed: RangeError: no 3; it was the last',
  )
})

test('a cancel while it waits ends the job, and no attempt comes late', async () => {
  const at = world()
  let tries = 0
  const { handle } = await begin(
    at,
    working(async () => {
      tries++
      throw new Error('no')
    }),
  )
  await at.clock.advance('30s')
  await handle.cancel()
  await at.clock.advance('10m')
  expect((await handle.record()).state).toBe('cancelled')
  expect(tries).toBe(1)
})

test('an event that the machine reads while it waits changes nothing of when it is due', async () => {
  const at = world()
  const start = at.clock.now()
  const tries: number[] = []
  const { handle } = await begin(
    at,
    working(async ({ attempt }) => {
      tries.push(at.clock.now() - start)
      if (attempt < 3) throw new Error('no')
      return 'end'
    }),
  )
  await at.clock.advance('30s')
  await handle.send({ type: 'NOTE' })
  await at.clock.advance('3m')
  expect(tries).toEqual([0, 60_000, 120_000])
  expect(await handle.result()).toBe('end')
})

test('leaving the state while it waits takes its timer along', async () => {
  const at = world()
  let tries = 0
  const { handle } = await begin(
    at,
    working(async () => {
      tries++
      throw new Error('no')
    }),
  )
  await at.clock.advance('30s')
  await handle.send({ type: 'LEAVE' })
  await at.clock.advance(0)
  expect((await handle.record()).dueAt).toBe(at.clock.now() + 600_000)
  await at.clock.advance('11m')
  expect((await handle.record()).state).toBe('done')
  expect(tries).toBe(1)
})

test('an attempt that is due and whose state is left in the same step does not begin', async () => {
  const at = world()
  let tries = 0
  const { runtime, handle } = await begin(
    at,
    working(async () => {
      tries++
      throw new Error('no')
    }),
  )
  await runtime.queue('working').pause()
  await at.clock.advance('2m')
  await handle.send({ type: 'LEAVE' })
  await runtime.queue('working').resume()
  await at.clock.advance('20m')
  expect((await handle.record()).state).toBe('done')
  expect(tries).toBe(1)
})

test('an attempt under way is aborted when its state is left, and begins no more steps', async () => {
  const at = world()
  const told: string[] = []
  const { handle } = await begin(
    at,
    working(async ({ signal, step }) => {
      signal.addEventListener('abort', () => told.push('aborted'))
      await step('a', () => at.clock.sleep('1m')).catch((error: Error) => told.push(error.message))
      await step('b', () => told.push('b')).catch((error: Error) => told.push(error.message))
    }),
  )
  await at.clock.advance('30s')
  await handle.send({ type: 'LEAVE' })
  await at.clock.advance('5m')
  const over = 'attempt 1 of actor work has ended: it cannot run or store steps'
  expect(told).toEqual(['aborted', over, over])
})

test('an attempt that takes too long is aborted and has failed; what it still says is not heard', async () => {
  const at = world()
  const reasons: unknown[] = []
  const { handle } = await begin(
    at,
    working(
      async ({ attempt, signal }) => {
        if (attempt === 3) return attempt
        signal.addEventListener('abort', () => reasons.push((signal.reason as Error).message))
        await at.clock.sleep('2m')
        return attempt
      },
      { attemptTimeout: '10s' },
    ),
  )
  await at.clock.advance('10s')
  expect(await handle.record()).toMatchObject({ state: 'waiting', dueAt: at.clock.now() + 60_000 })
  await at.clock.advance('5m')
  expect(await handle.result()).toBe(3)
  expect(reasons).toEqual([1, 2].map((n) => `attempt ${n} of actor work took longer than 10000 ms`))
})

test('the timeout of the job, or a stop of its process, spends no attempt of the promise', async () => {
  const at = world()
  const tries: string[] = []
  const machine = working(async ({ attempt, step, signal }) => {
    const first = await step('first', () => tries.push('first'))
    tries.push(`${attempt} after ${first}`)
    if (attempt === 1 && tries.length < 5) await at.clock.sleep('1h', signal)
    if (attempt === 1) throw new Error('no')
    return attempt
  })
  const { runtime, handle, job } = await begin(at, machine, { attemptTimeout: '30s' })
  await at.clock.advance('40s')
  expect(tries).toEqual(['first', '1 after 1', '1 after 1'])
  const stopping = runtime.stop({ mode: 'abort' })
  await at.clock.advance('1s')
  await stopping
  await at.runtime({ jobs: [job] })
  await at.clock.advance('2m')
  expect(await handle.result()).toBe(2)
  expect(tries).toEqual(['first', ...Array<string>(4).fill('1 after 1'), '2 after 1'])
  at.expectLogged('warn')
})

test('what an attempt has begun and did not wait for hears that it has failed, and its late result is not kept', async () => {
  const at = world()
  const told: unknown[] = []
  const slow = async (attempt: number, signal: AbortSignal): Promise<void> => {
    told.push(`slow of ${attempt}`)
    await at.clock.sleep('10s')
    told.push(signal.aborted && (signal.reason as Error).message)
  }
  const { handle } = await begin(
    at,
    working(async ({ attempt, signal, step }) => {
      await Promise.all([
        step('slow', () => slow(attempt, signal)).catch((error: JobchartError) => told.push(error.code)),
        attempt === 1 ? Promise.reject(new Error('no')) : null,
      ])
    }),
  )
  await at.clock.advance('5m')
  expect((await handle.record()).state).toBe('done')
  expect(told).toEqual(['slow of 1', 'no', 'NOT_ACCEPTED', 'slow of 2', false])
})

test('the timer of one that waits goes with it, also if it was restored and had not started yet', async () => {
  const at = world()
  let broken = true
  const machine = setup({
    types: { events: {} as { type: 'NOTE' | 'LEAVE' } },
    actors: { work: durable(() => Promise.reject(new Error('no')), { retry: { backoff: constant('1m') } }) },
    actions: {
      note: () => {
        if (broken) throw new Error('broken')
      },
    },
  }).createMachine({
    initial: 'at',
    states: {
      at: { invoke: { src: 'work', onError: 'left' }, on: { NOTE: { actions: 'note' }, LEAVE: 'left' } },
      left: { after: { 600_000: 'end' } },
      end: { type: 'final' },
    },
  })
  const job = defineJob({ type: 'noting', machine, retry: { backoff: constant('1s') } })
  const handle = await (await at.runtime({ jobs: [job] })).enqueue(job, undefined)
  await at.clock.advance('30s')
  // What the checkpoint holds to be executed fails once. So the next attempt executes it first, and then reads LEAVE.
  await handle.send({ type: 'NOTE' })
  await at.clock.advance(0)
  broken = false
  await handle.send({ type: 'LEAVE' })
  await at.clock.advance('2s')
  expect((await handle.snapshot()).value).toBe('left')
  expect((await handle.record()).dueAt).toBe(at.clock.now() + 599_000)
})
