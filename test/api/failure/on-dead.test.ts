/** `onDead`: the hook of a type whose jobs die. */
import {
  constant,
  createClient,
  createRuntime,
  defineJob,
  fatal,
  memoryStore,
  type DeadJob,
  type JobEvent,
  type JobRecord,
  type RunContext,
  type Runtime,
} from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

interface Mail {
  readonly to: string
}

/** A job that fails, and what its hook is called with. */
function failing(onDead?: (job: DeadJob<Mail>, context: RunContext) => unknown) {
  const called: DeadJob<Mail>[] = []
  const mail = defineJob<Mail, void>({
    type: 'mail',
    retry: { maxAttempts: 2, backoff: constant('1s') },
    run: ({ to }) => {
      throw to === 'nobody' ? fatal('no such address') : new Error('refused')
    },
    onDead: (job, context) => {
      called.push(job)
      return onDead?.(job, context)
    },
  })
  return { mail, called }
}

async function recordOf(runtime: Runtime, id: string): Promise<JobRecord> {
  const handle = await runtime.job(id)
  if (handle === null) throw new Error(`there is no job ${id}`)
  return handle.record()
}

test('the hook is called once, when no attempt is left, with the job as it died', async () => {
  const { clock, runtime } = world()
  const { mail, called } = failing()
  const worker = await runtime({ jobs: [mail] })
  await worker.enqueue(mail, { to: 'ada' }, { id: 'm1', tags: ['red'], meta: { tenant: 'a' } })
  await clock.advance('500ms')
  expect(called).toEqual([])
  await clock.advance('1m')
  expect(called).toMatchObject([
    { id: 'm1', type: 'mail', generation: 1, attempt: 2, maxAttempts: 2, input: { to: 'ada' }, key: null },
  ])
  const [job] = called
  expect(job).toMatchObject({ error: { message: 'refused' }, tags: ['red'], meta: { tenant: 'a' } })
  expect((await recordOf(worker, 'm1')).finishedAt).toBe(job?.diedAt)
  const hook = await recordOf(worker, 'm1/dead/1')
  expect(hook).toMatchObject({ type: 'mail:dead', state: 'done', tags: ['red'], meta: { tenant: 'a' } })
})

test('a fatal error calls it at once; a job that is done or cancelled does not', async () => {
  const { clock, runtime } = world()
  const { mail, called } = failing()
  const worker = await runtime({ jobs: [mail] })
  await worker.enqueue(mail, { to: 'nobody' })
  await worker.cancel((await worker.enqueue(mail, { to: 'ada' }, { delay: '1h' })).id)
  await clock.advance('1ms')
  expect(called.map(({ attempt, error }) => [attempt, error.message])).toEqual([[1, 'no such address']])
})

test('a hook that fails is retried, and its own death calls nothing', async () => {
  const { clock, runtime, expectLogged } = world()
  let tries = 0
  const { mail } = failing(() => {
    tries++
    throw new Error('the pager is down')
  })
  const worker = await runtime({ jobs: [mail] })
  await worker.enqueue(mail, { to: 'nobody' }, { id: 'm1' })
  await clock.advance('1d')
  expect(tries).toBe(10)
  expect(await recordOf(worker, 'm1/dead/1')).toMatchObject({ state: 'dead', error: { message: 'the pager is down' } })
  expect((await worker.counts()).dead).toBe(2)
  expectLogged('error')
})

test('a dead job that is retried and dies again calls it again', async () => {
  const { clock, runtime } = world()
  const { mail, called } = failing()
  const worker = await runtime({ jobs: [mail] })
  await worker.enqueue(mail, { to: 'nobody' }, { id: 'm1' })
  await clock.advance('1ms')
  await worker.retry('m1')
  await clock.advance('1ms')
  expect(called.map(({ generation }) => generation)).toEqual([1, 2])
})

test('it is called for a dead job that is not kept', async () => {
  const { clock, runtime } = world()
  const called: string[] = []
  const mail = defineJob<Mail>({
    type: 'mail',
    keepDead: 0,
    run: () => {
      throw fatal('no')
    },
    onDead: ({ id, input }, { step }) => step('call', async () => void called.push(`${id} to ${input.to}`)),
  })
  const worker = await runtime({ jobs: [mail], retention: { dead: { count: 0 } } })
  await worker.enqueue(mail, { to: 'ada' }, { id: 'm1' })
  await clock.advance('3s')
  expect(await worker.job('m1')).toBeNull()
  expect(called).toEqual(['m1 to ada'])
})

test('a job that was enqueued before its definition had the hook has it once a process with the hook has claimed it', async () => {
  const { clock, store, runtime } = world()
  const old = defineJob<Mail>({ type: 'mail', run: () => {} })
  const before = await runtime({ jobs: [old], concurrency: 0 })
  await before.enqueue(old, { to: 'nobody' })
  const { mail, called } = failing()
  await runtime({ jobs: [mail], store })
  await clock.advance('1ms')
  expect(called).toHaveLength(1)
})

test('what is told of a death is followed by the enqueue of its hook', async () => {
  const { clock, runtime } = world()
  const { mail } = failing()
  const worker = await runtime({ jobs: [mail] })
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => void events.push(event))
  await worker.enqueue(mail, { to: 'nobody' }, { id: 'm1' })
  await clock.advance('1ms')
  const told = events.map(({ id, event }) => `${event} ${id}`)
  expect(told).toEqual([
    'ENQUEUE m1',
    'CLAIM m1',
    'FAIL m1',
    'ENQUEUE m1/dead/1',
    'CLAIM m1/dead/1',
    'COMPLETE m1/dead/1',
  ])
})

test.each([1, 2, 3, 4])(
  'writes that fail and answers that are lost call it once for each death (seed %i)',
  async (seed) => {
    const { clock, store, runtime, expectLogged } = world()
    const { mail, called } = failing()
    const faults = { settle: { before: 0.3, lostReply: 0.5 }, rescue: { lostReply: 0.5 } }
    const worker = await runtime({ jobs: [mail], store: faultyStore(store, { seed, clock, faults }) })
    for (const n of [1, 2, 3, 4, 5]) await worker.enqueue(mail, { to: n > 2 ? 'nobody' : 'ada' }, { id: `m${n}` })
    await clock.advance('5m')
    expect(called.map(({ id }) => id).toSorted()).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
    expectLogged('warn')
    expectLogged('error')
  },
)

test.each([
  ['memory', () => memoryStore()],
  ['sqlite', fileStore],
])(
  'on %s a job dies with its process: who takes it back need not know it, and another process runs the hook',
  async (_, create) => {
    const { clock, store, runtime } = world({ store: create() })
    await store.open({ clock })
    const { mail, called } = failing()
    await using client = createClient({ store, jobs: [mail], clock })
    await client.enqueue(mail, { to: 'ada' }, { id: 'm1' })
    // A process that claims and is never heard of again.
    const limits = { concurrency: null, perKey: null, rate: null }
    const demand = [{ type: 'mail', max: 1, limits, maxAttempts: 1, onDead: 'mail:dead' }]
    await store.claim({ worker: 'crashed', leaseMs: 30_000, token: 't', demand })
    const other = await runtime({ jobs: [defineJob({ type: 'other', run: () => {} })] })
    await clock.advance('2m')
    expect(await recordOf(other, 'm1')).toMatchObject({ state: 'dead', error: { code: 'LEASE_LOST' } })
    expect(await recordOf(other, 'm1/dead/1')).toMatchObject({ type: 'mail:dead', state: 'queued' })
    await runtime({ jobs: [mail] })
    await clock.advance('10s')
    expect(called).toMatchObject([{ id: 'm1', input: { to: 'ada' }, error: { code: 'LEASE_LOST' } }])
  },
)

test.each([
  ['a hook that is no function', { onDead: 'alert' as never }, 'onDead of job mail: expected a function'],
  ['a type whose hook would have too long a name', { type: 'x'.repeat(196), onDead: () => {} }, 'type: expected'],
])('%s is refused', (_, options, message) => {
  expect(() => defineJob({ type: 'mail', run: () => {}, ...options })).toThrow(message)
})

test('a definition of the type that runs the hook is refused', () => {
  const { mail } = failing()
  const other = defineJob({ type: 'mail:dead', run: () => {} })
  expect(() => createRuntime({ jobs: [mail, other] })).toThrow('no definition of the type mail:dead')
})

test('a hook may have attempts, a backoff and a timeout of its own', async () => {
  const { clock, runtime, expectLogged } = world()
  const times: number[] = []
  const mail = defineJob<Mail, void>({
    type: 'mail',
    retry: { maxAttempts: 1 },
    run: () => {
      throw new Error('refused')
    },
    onDead: {
      retry: { maxAttempts: 3, backoff: constant('1m') },
      attemptTimeout: '10s',
      run: ({ input }) => {
        times.push(clock.now())
        return times.length === 1 ? clock.sleep('1h') : Promise.reject(new Error(`no pager for ${input.to}`))
      },
    },
  })
  const worker = await runtime({ jobs: [mail] })
  const job = await worker.enqueue(mail, { to: 'ada' })
  await clock.advance('10m')
  expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 71_000, 131_000])
  const [hook] = await worker.list({ type: 'mail:dead' })
  expect(hook).toMatchObject({ id: `${job.id}/dead/1`, state: 'dead', attempt: 3, maxAttempts: 3 })
  expect(hook?.errors.map(({ error }) => error.message)).toEqual([
    expect.stringContaining('10000'),
    'no pager for ada',
    'no pager for ada',
  ])
  await clock.advance('1h')
  expectLogged('error')
})

test.each([{ run: 1 }, { retry: {} }, { run: () => {}, attempts: 1 }, { run: () => {}, retry: { maxAttempts: 0 } }])(
  'a hook of %j is refused',
  (onDead) => {
    expect(() => defineJob({ type: 'mail', run: () => {}, onDead: onDead as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  },
)
