/**
 * What a deployment means for jobs that sleep: they are listed by the new states, shown by every process, and reported
 * if they cannot go on.
 */
import { createClient, defineJob, type JobDefinition, type Migrate } from 'jobchart'
import { createMachine, fromPromise, setup, spawnChild, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { fileStore } from '../support/file-store.ts'
import { stopInTime, world, type World } from '../support/leaks.ts'

const waitsIn = (state: string, tags: string[] = []) =>
  createMachine({
    id: 'order',
    context: { lines: ['tea'], failure: new RangeError('too much') },
    initial: state,
    states: { [state]: { tags, on: { GO: 'end' }, after: { '90d': 'end' } }, end: { type: 'final' } },
  })

const define = (machine: AnyStateMachine, version: string, migrate?: Migrate): JobDefinition =>
  defineJob({ type: 'order', machine, version, ...(migrate && { migrate }) })

const old = define(waitsIn('review', ['person']), '1')

const renamed: Migrate = (snapshot, _, { timers }) => ({
  snapshot: { ...(snapshot as object), value: 'approval' },
  timers: timers.map((timer) => ({ ...timer, state: 'order.approval' })),
})

/** Jobs that wait in a definition; their runtime is gone. */
async function parked(at: World, job: JobDefinition, count = 1): Promise<string[]> {
  const runtime = await at.runtime({ jobs: [job] })
  const handles = await runtime.enqueueMany(job, Array.from({ length: count }))
  await at.clock.settle()
  await runtime.stop()
  return handles.map(({ id }) => id)
}

async function recordOf({ store }: World, id = '') {
  const [record] = await store.get([id])
  if (!record) throw new Error(`job ${id} is not there`)
  return record
}

const idsOf = (page: readonly { readonly id: string }[]): string[] => page.map(({ id }) => id)

test('jobs that sleep in a version that nobody knows any more are found at the start, listed and logged', async () => {
  const at = world()
  const ids = await parked(at, old, 3)
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '2')] })
  await at.clock.settle()
  expect(idsOf(await runtime.list({ unsupported: true }))).toEqual(ids)
  const { state, unsupported, dueAt, history } = await recordOf(at, ids[0])
  expect({ state, dueAt }).toMatchObject({ state: 'waiting', dueAt: expect.any(Number) as number })
  expect(unsupported).toMatchObject({ version: '1', tries: 0, since: at.clock.now() })
  expect(unsupported?.reason).toContain('this process knows version 2')
  expect(history.at(-1)?.event).toBe('PARK')
  const errors = at.logged.filter(({ level }) => level === 'error')
  expect(errors).toMatchObject([{ fields: { type: 'order', version: '1', count: 3, id: ids[0] } }])
  await at.clock.advance('3m')
  expect(at.expectLogged('error')).toHaveLength(1)
})

test('so are those for which migrate throws', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const incomplete = define(waitsIn('approval'), '2', () => {
    throw new SyntaxError('nobody has thought of this')
  })
  const runtime = await at.runtime({ jobs: [incomplete] })
  await at.clock.settle()
  expect((await recordOf(at, id)).unsupported?.reason).toBe('migrate threw for version 1: nobody has thought of this')
  at.expectLogged('error')
  const cause = expect.any(SyntaxError) as SyntaxError
  const job = await runtime.job(id ?? '')
  await expect(job?.send({ type: 'GO' })).rejects.toMatchObject({ code: 'UNSUPPORTED', cause })
  await expect(job?.can({ type: 'GO' })).rejects.toMatchObject({ code: 'UNSUPPORTED', cause })
  expect(await job?.snapshot()).toMatchObject({ value: 'review', version: '1' })
})

test('so are those whose state migrate leaves as it was, and which is gone', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '2', (snapshot) => snapshot)] })
  await at.clock.settle()
  expect(idsOf(await runtime.list({ unsupported: true }))).toEqual([id])
  expect((await recordOf(at, id)).unsupported?.reason).toContain('state order.review is gone')
  expect(at.expectLogged('error')).toHaveLength(1)
})

test.each<[what: string, snapshot: object, reason: string]>([
  ['was stopped', { value: 'approval', status: 'stopped' }, 'migrate returned the status "stopped"'],
  ['has no known status', { value: 'approval', status: 'open' }, 'migrate returned the status "open"'],
  ['is in no state', { value: {}, status: 'active' }, 'state order has 0 active child states'],
  [
    'is in two states',
    { value: { approval: {}, later: {} }, status: 'active' },
    'state order has 2 active child states',
  ],
  ['ends without an end', { value: 'end', status: 'active' }, 'state order.end is final, and the machine is not done'],
  [
    'cannot be stored',
    { value: 'approval', status: 'active', context: { at: new Date(0) } },
    'migrate returned what cannot be stored: state of the machine at snapshot.context.at',
  ],
])(
  'so are those of which migrate makes a machine that %s, and they wait when they are woken',
  async (_, snapshot, reason) => {
    const at = world()
    const [id] = await parked(at, old)
    const chart = createMachine({
      id: 'order',
      initial: 'approval',
      states: { approval: { on: { GO: 'end' } }, later: {}, end: { type: 'final' } },
    })
    const runtime = await at.runtime({ jobs: [define(chart, '2', () => ({ snapshot, timers: [] }))] })
    await at.clock.settle()
    expect((await recordOf(at, id)).unsupported?.reason).toContain(reason)
    await runtime.send(id ?? '', { type: 'GO' }, { accept: 'always' })
    await at.clock.settle()
    expect(await recordOf(at, id)).toMatchObject({ state: 'scheduled', checkpoint: { number: 1 } })
    at.expectLogged('error')
  },
)

test('a process that knows their version takes the mark back, and they go on', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const stranger = await at.runtime({ jobs: [define(waitsIn('approval'), '2')] })
  await at.clock.settle()
  at.expectLogged('error')
  await stranger.stop()
  const runtime = await at.runtime({ jobs: [old] })
  await at.clock.settle()
  expect((await recordOf(at, id)).unsupported).toBe(null)
  await runtime.send(id ?? '', { type: 'GO' })
  await at.clock.settle()
  expect((await recordOf(at, id)).state).toBe('done')
})

test('while a worker still runs their version nothing is said, and when it has gone, within a minute', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const before = await at.runtime({ jobs: [old] })
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '2')] })
  await at.clock.advance('5m')
  expect((await recordOf(at, id)).unsupported).toBe(null)
  await before.stop()
  await at.clock.advance('1m')
  expect(idsOf(await runtime.list({ unsupported: true }))).toEqual([id])
  at.expectLogged('error')
})

test.each([
  ['a machine that has it in its id', 'my 1 order', '2'],
  ['a version that begins with it', 'order', '1 beta'],
  ['another machine of that version', 'orders', '1'],
])('a worker of %s does not count as one of their version', async (_, id, version) => {
  const at = world()
  const [job] = await parked(at, old)
  const before = await at.runtime({ jobs: [old] })
  const machine = createMachine({ id, initial: 'open', states: { open: {} } })
  await at.runtime({ jobs: [define(machine, version)] })
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '1 alpha')] })
  await at.clock.settle()
  await before.stop()
  await at.clock.advance('1m')
  expect(idsOf(await runtime.list({ unsupported: true }))).toEqual([job])
  at.expectLogged('error')
})

test('a process that has run alone looks for jobs of an older one that comes later, when that has gone', async () => {
  const at = world({ store: fileStore() })
  await at.store.open({ clock: at.clock })
  await at.runtime({ jobs: [define(waitsIn('approval'), '2', renamed)], concurrency: 0 })
  await at.clock.advance('3m')
  const before = await at.runtime({ jobs: [old] })
  const { id } = await before.enqueue(old)
  await at.clock.advance('3m')
  expect((await recordOf(at, id)).machineStates).toEqual(['review'])
  await stopInTime(before, at.clock)
  await at.clock.advance('1m')
  expect((await recordOf(at, id)).machineStates).toEqual(['approval'])
})

test('a worker is not gone while its own lease lasts, though a shorter one would be over', async () => {
  const at = world()
  const before = await at.runtime({ jobs: [old], lease: '10m' })
  const { id } = await before.enqueue(old)
  await at.clock.advance('2m')
  await at.runtime({ jobs: [define(waitsIn('approval'), '2')], lease: '1s' })
  await at.clock.advance('5m')
  expect((await recordOf(at, id)).unsupported).toBe(null)
})

test('an event wakes a job that nobody can run: it is put off as any other, from the time at which it was found', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '2')] })
  await at.clock.settle()
  const since = at.clock.now()
  await at.clock.advance('1h')
  await runtime.store.send([
    { id: id ?? '', message: { kind: 'event', event: { type: 'GO' } }, key: 'k', expect: null },
  ])
  await at.clock.advance('300ms')
  const { state, unsupported, history } = await recordOf(at, id)
  expect({ state, unsupported }).toMatchObject({ state: 'scheduled', unsupported: { tries: 2, since } })
  expect(history.slice(-4).map(({ event }) => event)).toEqual(['PARK', 'WAKE', 'CLAIM', 'SNOOZE'])
  at.expectLogged('error')
})

test('jobs that sleep are listed and counted under the states that migrate gives them, and are not woken', async () => {
  const at = world()
  const ids = await parked(at, old, 2)
  const before = await recordOf(at, ids[0])
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval', ['later']), '2', renamed)] })
  await at.clock.settle()
  expect(idsOf(await runtime.list({ machineState: 'approval', machineTag: 'later' }))).toEqual(ids)
  expect(idsOf(await runtime.list({ machineState: 'review' }))).toEqual([])
  const counts = await at.store.machineCounts('order')
  expect({ ...counts.states }).toEqual({ approval: 2 })
  const after = await recordOf(at, ids[0])
  expect(after).toEqual({ ...before, machineStates: ['approval'], machineTags: ['later'] })
})

/** Makes good when it is cancelled, if its state names the event. */
const cancellable = (takesCancel: boolean, guard = () => true) =>
  define(
    createMachine({
      id: 'order',
      initial: 'review',
      states: {
        review: { on: { GO: 'end', ...(takesCancel && { 'job.cancel': { guard, target: 'released' } }) } },
        end: { type: 'final' },
        released: { type: 'final' },
      },
    }),
    '1',
  )

test.each([
  ['is added to their state is handled there', cancellable(false), cancellable(true), ['released']],
  ['is taken away from it ends them at once', cancellable(true), cancellable(false), ['review']],
])('a cancel of jobs that sleep, after job.cancel %s', async (_, before, after, states) => {
  const at = world()
  const [id = ''] = await parked(at, before)
  const runtime = await at.runtime({ jobs: [after] })
  await at.clock.settle()
  const job = await runtime.job(id)
  expect([await job?.can({ type: 'job.cancel' }), (await job?.record())?.takesCancel]).toEqual(
    states[0] === 'released' ? [true, true] : [false, false],
  )
  await job?.cancel()
  await at.clock.settle()
  expect(await job?.record()).toMatchObject({ state: 'cancelled', machineStates: states })
})

test('a guard of job.cancel that throws leaves a job that sleeps as it is', async () => {
  const at = world()
  const [id] = await parked(at, cancellable(true))
  const throws = (): never => {
    throw new Error('no')
  }
  await at.runtime({ jobs: [cancellable(true, throws)] })
  await at.clock.settle()
  expect(await recordOf(at, id)).toMatchObject({ takesCancel: true, unsupported: null })
})

test('while workers of both versions run, each lists what it has parked by its own states', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const before = await at.runtime({ jobs: [old] })
  await at.runtime({ jobs: [define(waitsIn('approval'), '2', renamed)] })
  await at.clock.advance('5m')
  expect((await recordOf(at, id)).machineStates).toEqual(['review'])
  await before.stop()
  await at.clock.advance('1m')
  expect((await recordOf(at, id)).machineStates).toEqual(['approval'])
})

test('after a rollback they are listed under the old states again', async () => {
  const at = world()
  const [id] = await parked(at, old)
  const next = await at.runtime({ jobs: [define(waitsIn('approval'), '2', renamed)] })
  await at.clock.settle()
  await next.stop()
  await at.runtime({ jobs: [old] })
  await at.clock.settle()
  const { machineStates, machineTags } = await recordOf(at, id)
  expect({ machineStates, machineTags }).toEqual({ machineStates: ['review'], machineTags: ['person'] })
})

test.each<[what: string, jobs: readonly JobDefinition[]]>([
  ['another version', [define(waitsIn('approval'), '2')]],
  ['no definition', []],
])('a process with %s shows what is stored, and says which version wrote it', async (_, jobs) => {
  const at = world()
  const [id = ''] = await parked(at, old)
  const client = createClient({ jobs, store: at.store, clock: at.clock, logger: at.logger })
  const job = await client.job(id)
  const view = await job?.snapshot()
  expect(view).toMatchObject({ value: 'review', tags: ['person'], status: 'active', version: '1' })
  expect(view?.unsupported).toEqual(expect.stringContaining('order'))
  expect(view?.context).toMatchObject({ lines: ['tea'], failure: { name: 'RangeError', message: 'too much' } })
  expect(view?.timers).toHaveLength(1)
  expect([view?.matches('review'), view?.matches('approval'), view?.hasTag('person')]).toEqual([true, false, true])
  expect(() => view?.can({ type: 'GO' })).toThrow()
  const [checkpoint] = (await job?.checkpoints()) ?? []
  expect((await job?.snapshotAt(checkpoint?.seq ?? 0))?.value).toBe('review')
  await client.close()
})

test('a process that can run it says so', async () => {
  const at = world()
  const [id = ''] = await parked(at, old)
  const runtime = await at.runtime({ jobs: [define(waitsIn('approval'), '2', renamed)] })
  expect(await (await runtime.job(id))?.snapshot()).toMatchObject({
    value: 'approval',
    version: '2',
    unsupported: null,
  })
})

const withHistory = (inner: string) =>
  createMachine({
    id: 'order',
    initial: 'on',
    states: {
      on: {
        initial: 'a',
        states: { a: { on: { NEXT: inner } }, [inner]: {}, back: { type: 'history' } },
        on: { OFF: 'off' },
      },
      off: { on: { ON: 'on.back' } },
    },
  })

test('a history that remembers a state that is gone is found out', async () => {
  const at = world()
  const before = define(withHistory('b'), '1')
  const runtime = await at.runtime({ jobs: [before] })
  const job = await runtime.enqueue(before, undefined)
  for (const type of ['NEXT', 'OFF']) await job.send({ type })
  await at.clock.settle()
  await runtime.stop()
  await at.runtime({ jobs: [define(withHistory('c'), '1')] })
  await at.clock.settle()
  const { unsupported } = await recordOf(at, job.id)
  expect(unsupported?.reason).toContain('the history order.on.back remembers the state order.on.b, which is gone')
  at.expectLogged('error')
})

const work = fromPromise(async () => {})

test.each<[what: string, machine: () => AnyStateMachine, place: string]>([
  [
    'spawned by one list of actions',
    () =>
      setup({ actors: { work } }).createMachine({
        id: 'order',
        entry: [spawnChild('work', { id: 'a' }), spawnChild('work', { id: 'a' })],
      }),
    'order, entry: it spawns two actors with the id a',
  ],
  [
    'spawned beside one that is invoked',
    () =>
      setup({ actors: { work } }).createMachine({
        id: 'order',
        entry: spawnChild('work', { id: 'a' }),
        initial: 'on',
        states: { on: { invoke: { id: 'a', src: 'work' } } },
      }),
    'order, entry: it spawns an actor with the id a, which one that order.on invokes has',
  ],
])('two actors of one id, %s, are refused when the job is defined', (_, machine, message) => {
  expect(() => defineJob({ type: 'order', machine: machine() })).toThrow(message)
})

test('an actor that takes the id of one that is active is told in the log of the job', async () => {
  const at = world()
  const machine = setup({ actors: { work: fromPromise(() => new Promise<never>(() => {})) } }).createMachine({
    id: 'order',
    initial: 'on',
    states: { on: { on: { MORE: { actions: spawnChild('work', { id: 'a' }) } } } },
  })
  const job = defineJob({ type: 'order', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  for (let i = 0; i < 2; i++) {
    await handle.send({ type: 'MORE' })
    await at.clock.advance('1s')
  }
  await handle.cancel()
  await at.clock.advance('1s')
  expect((await handle.record()).logs.map(({ message }) => message)).toEqual([
    'the actor a was started while another actor of this id is active: after a restart only the later one goes on',
  ])
})
