/** Jobs whose definition changes under way: timers are carried, moved or dropped, and what is new in a state begins. */
import { defineJob, type JobDefinition, type Migrate } from 'jobchart'
import { assign, createMachine, setup, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

const define = (machine: AnyStateMachine, version = '1', migrate?: Migrate): JobDefinition =>
  defineJob({ type: 'order', machine, version, ...(migrate && { migrate }) })

/** `waiting` has these delays and goes to a final state of the name that each gives. */
const waits = (after: object, { state = 'waiting', delays = {} }: { state?: string; delays?: object } = {}) =>
  createMachine(
    {
      id: 'order',
      initial: state,
      states: {
        [state]: { after: after as never, on: { GO: 'went' } },
        early: { type: 'final' },
        late: { type: 'final' },
        went: { type: 'final' },
      },
      output: ({ event }: { event: { type: string } }) => event.type,
    },
    { delays: delays as never },
  )

/** A job that waits in a definition; its runtime is gone. */
async function begun(at: World, job: JobDefinition): Promise<string> {
  const runtime = await at.runtime({ jobs: [job] })
  const { id } = await runtime.enqueue(job, undefined)
  await at.clock.advance('1s')
  await runtime.stop()
  return id
}

async function valueOf(at: World, job: JobDefinition, id: string): Promise<unknown> {
  const [record] = await at.store.get([id])
  return job.machine?.viewAt(record?.checkpoint?.state ?? null).value
}

test('a changed delay of the same state keeps the deadline of the jobs that wait, with no new version', async () => {
  const at = world()
  const id = await begun(at, define(waits({ 5_000: 'late' })))
  const now = define(waits({ 50_000: 'late' }))
  await at.runtime({ jobs: [now] })
  await at.clock.advance('3s')
  expect(await valueOf(at, now, id)).toBe('waiting')
  await at.clock.advance('2s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test('of several delays each keeps its timer: the same delay first, the others by their order', async () => {
  const at = world()
  const id = await begun(at, define(waits({ 5_000: 'early', 60_000: 'late' })))
  const now = define(waits({ 7_000: 'early', 60_000: 'late' }))
  await at.runtime({ jobs: [now] })
  await at.clock.advance('5s')
  expect(await valueOf(at, now, id)).toBe('early')
})

test('a state that waits is renamed: migrate moves its timer, whose deadline stays', async () => {
  const at = world()
  const id = await begun(at, define(waits({ 10_000: 'late' })))
  const seen: unknown[] = []
  const now = define(waits({ 20_000: 'late' }, { state: 'pending' }), '2', (snapshot, from, { timers }) => {
    seen.push(from.version, timers)
    return {
      snapshot: { ...(snapshot as object), value: 'pending' },
      timers: timers.map((timer) => ({ ...timer, state: 'order.pending' })),
    }
  })
  await at.runtime({ jobs: [now] })
  expect(seen[0]).toBe('1')
  expect(seen[1]).toMatchObject([{ machine: '', state: 'order.waiting', delay: '10000' }])
  await at.clock.advance('8s')
  expect(await valueOf(at, now, id)).toBe('pending')
  await at.clock.advance('2s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test('migrate drops a timer that the new machine has no use for', async () => {
  const at = world()
  const id = await begun(at, define(waits({ 10_000: 'late' })))
  const now = define(waits({}), '2', (snapshot) => ({ snapshot, timers: [] }))
  const runtime = await at.runtime({ jobs: [now] })
  await at.clock.advance('1m')
  expect(await valueOf(at, now, id)).toBe('waiting')
  await runtime.send(id, { type: 'GO' })
  await at.clock.settle()
  expect(await valueOf(at, now, id)).toBe('went')
})

test.each<[what: string, migrate: Migrate, message: string, hint: string]>([
  ['a timer that nobody waits for', (snapshot) => snapshot, 'the timer after 10000 of order.waiting', 'timers'],
  ['no snapshot', () => null, 'migrate returned null', 'snapshot'],
  [
    'a timer of a state that is not there',
    (snapshot, _, { timers }) => ({ snapshot, timers: timers.map((timer) => ({ ...timer, state: 'order.x' })) }),
    'the timer after 10000 of order.x',
    'timers',
  ],
  [
    'a timer without a time',
    (snapshot, _, { timers }) => ({ snapshot, timers: timers.map((timer) => ({ ...timer, at: Number.NaN })) }),
    'timers[0].at',
    'timers',
  ],
])('migrate that gives %s is told so, and the job waits', async (_, migrate, message, hint) => {
  const at = world()
  const id = await begun(at, define(waits({ 10_000: 'late' })))
  const runtime = await at.runtime({ jobs: [define(waits({}), '2', migrate)] })
  await at.clock.advance('10s')
  await expect(runtime.send(id, { type: 'GO' })).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining(message) as string,
    hint: expect.stringContaining(hint) as string,
  })
  at.expectLogged('error')
})

const family = (kid: AnyStateMachine) =>
  setup({ actors: { kid } }).createMachine({
    id: 'order',
    initial: 'on',
    states: { on: { invoke: { src: 'kid', id: 'kid', onDone: 'late' } }, late: { type: 'final' } },
  })

test('timers of child machines are carried, and an orphaned one is noticed', async () => {
  const at = world()
  const kid = (after: object, state = 'waiting') =>
    createMachine({
      id: 'kid',
      initial: state,
      states: { [state]: { after: after as never }, late: { type: 'final' } },
    })
  const id = await begun(at, define(family(kid({ 5_000: 'late' }))))
  const without = await at.runtime({ jobs: [define(family(kid({})))] })
  await at.clock.settle()
  const { unsupported } = (await (await without.job(id))?.record()) ?? {}
  expect(unsupported?.reason).toContain('the timer after 5000 of kid.waiting')
  at.expectLogged('error')
  await without.stop()
  const now = define(family(kid({ 50_000: 'late' })))
  await at.runtime({ jobs: [now] })
  // The job keeps the deadline that it had.
  await at.clock.advance('6s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test.each<[what: string, machine: AnyStateMachine]>([
  ['milliseconds', waits({ 5_000: 'late' })],
  ['text', waits({ '5s': 'late' })],
  ['a name', waits({ due: 'late' }, { delays: { due: 5_000 } })],
  ['a function', waits({ due: 'late' }, { delays: { due: () => 5_000 } })],
])('a delay that a deployment adds (%s) counts from when the job goes on with it', async (_, machine) => {
  const at = world()
  const id = await begun(at, define(waits({})))
  await at.clock.advance('1h')
  const now = define(machine)
  await at.runtime({ jobs: [now] })
  await at.clock.advance('4s')
  expect(await valueOf(at, now, id)).toBe('waiting')
  await at.clock.advance('2s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test('a delay that a deployment adds to a child machine counts as well', async () => {
  const at = world()
  const kid = (after: object) =>
    createMachine({
      id: 'kid',
      initial: 'waiting',
      states: { waiting: { after: after as never }, late: { type: 'final' } },
    })
  const id = await begun(at, define(family(kid({}))))
  const now = define(family(kid({ 5_000: 'late' })))
  await at.runtime({ jobs: [now] })
  await at.clock.advance('6s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test('a delay that has passed is not taken for a new one, also when it was changed', async () => {
  const at = world()
  const reminds = (delay: number, tags: string[] = []) =>
    createMachine({
      id: 'order',
      context: { reminded: 0 },
      initial: 'waiting',
      states: {
        waiting: {
          tags,
          after: {
            [delay]: {
              actions: assign({
                reminded: ({ context }: { context: { reminded: number } }) => context.reminded + 1,
              }) as never,
            },
          },
          on: { GO: 'went', NEW: 'went' },
        },
        went: { type: 'final' },
        ...(delay === 500 ? {} : { other: {} }),
      },
    })
  const id = await begun(at, define(reminds(500)))
  for (const delay of [500, 700]) {
    const now = define(reminds(delay, ['changed']))
    const runtime = await at.runtime({ jobs: [now] })
    await at.clock.advance('1h')
    expect((await (await runtime.job(id))?.snapshot())?.context).toEqual({ reminded: 1 })
    await runtime.stop()
  }
})

test('a job that another process parks in the old definition goes on with the new one when that has gone', async () => {
  const at = world()
  const old = define(waits({}))
  const oldRuntime = await at.runtime({ jobs: [old] })
  const now = define(waits({ 5_000: 'late' }))
  const newRuntime = at.idle({ jobs: [now], concurrency: 0 })
  await newRuntime.start()
  const { id } = await oldRuntime.enqueue(old, undefined)
  await at.clock.advance('3m')
  await oldRuntime.stop()
  newRuntime.concurrency = 10
  await at.clock.advance('70s')
  expect(await valueOf(at, now, id)).toBe('late')
})

test.each<[what: string, from: AnyStateMachine, to: AnyStateMachine, message: string]>([
  [
    'an invoke that is new',
    waits({}),
    setup({ actors: { kid: createMachine({ id: 'kid' }) } }).createMachine({
      id: 'order',
      initial: 'waiting',
      states: { waiting: { invoke: { src: 'kid' } } },
    }),
    'is new',
  ],
  [
    'states in a state that had none',
    waits({}),
    createMachine({
      id: 'order',
      initial: 'waiting',
      states: { waiting: { initial: 'inner', states: { inner: {} } } },
    }),
    'has child states now',
  ],
])('%s is told though nobody asks for the job', async (_, from, to, message) => {
  const at = world()
  const id = await begun(at, define(from))
  const runtime = await at.runtime({ jobs: [define(to)] })
  await at.clock.advance('1m')
  const { unsupported } = (await (await runtime.job(id))?.record()) ?? {}
  expect(unsupported?.reason).toContain(message)
  at.expectLogged('error')
})
