/**
 * `enqueueMiddleware`: every way to enqueue goes through it, it changes options and nothing else, and what it throws
 * refuses the call.
 */
import {
  createClient,
  defineJob,
  fromJob,
  memoryStore,
  schedule,
  type EnqueueCall,
  type EnqueueMiddleware,
  type JobRecord,
  type Runtime,
} from 'jobchart'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setup } from 'xstate'
import { describe, expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const mail = defineJob<{ to: string }>({ type: 'mail', run: async () => {} })

const sends = defineJob<undefined>({
  type: 'sends',
  retry: { maxAttempts: 1 },
  run: async (_input, { enqueue }) => {
    await enqueue(mail, { to: 'ann' })
  },
})

const machine = setup({ actors: { mail: fromJob(mail) } }).createMachine({
  initial: 'mailing',
  states: {
    mailing: { invoke: { src: 'mail', input: { to: 'ann' }, onDone: 'mailed', onError: 'failed' } },
    mailed: { type: 'final' },
    failed: { type: 'final' },
  },
})

const invokes = defineJob({ type: 'invokes', retry: { maxAttempts: 1 }, machine })

/** Each way to enqueue a mail to ann by a call. */
const ways: Record<string, (worker: Runtime) => Promise<unknown>> = {
  enqueue: (worker) => worker.enqueue(mail, { to: 'ann' }),
  tryEnqueue: (worker) => worker.tryEnqueue(mail, { to: 'ann' }),
  enqueueMany: (worker) => worker.enqueueMany(mail, [{ to: 'ann' }]),
  'enqueueByName, listed': (worker) => worker.enqueueByName('mail', { to: 'ann' }),
  'trigger of a schedule': async (worker) => (await worker.schedule('s', '@daily', mail, { to: 'ann' })).trigger(),
}

/** Ways in which a job of the runtime enqueues the mail. */
const within = { 'ctx.enqueue': sends, 'a child of a machine': invokes }

const adds: EnqueueMiddleware = (call, next) => {
  const { meta, tags = [] } = call.options
  call.options = {
    ...call.options,
    meta: { ...meta, tenant: 'a' },
    tags: [...tags, 'added'],
    priority: 3,
    maxAttempts: 8,
  }
  next()
}

const added = { meta: { tenant: 'a' }, priority: 3, maxAttempts: 8 }

const refuses: EnqueueMiddleware = ({ type }, next) => {
  if (type === 'mail') throw new Error('no tenant')
  next()
}

const mailsOf = (worker: Pick<Runtime, 'list'>): Promise<readonly JobRecord[]> => worker.list({ type: 'mail' })

async function working(enqueueMiddleware: readonly EnqueueMiddleware[]) {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [mail, sends, invokes], enqueueMiddleware })
  return { clock, worker }
}

describe('every way goes through it', () => {
  test.each(Object.entries(ways))('%s', async (_, enqueue) => {
    const { clock, worker } = await working([adds])
    await enqueue(worker)
    await clock.advance('1s')
    expect(await mailsOf(worker)).toMatchObject([{ ...added, tags: ['added'], input: { to: 'ann' }, state: 'done' }])
  })

  test.each(Object.entries(within))('%s', async (_, job) => {
    const { clock, worker } = await working([adds])
    await worker.enqueue(job)
    await clock.advance('1s')
    // Inherited from the parent, and added again.
    expect(await mailsOf(worker)).toMatchObject([{ ...added, tags: ['added', 'added'] }])
  })

  test('a client, also by a name that it does not know', async () => {
    const client = createClient({ store: memoryStore(), enqueueMiddleware: [adds] })
    await client.enqueueByName('mail', { to: 'ann' }, { tags: ['own'] })
    expect(await mailsOf(client as never)).toMatchObject([{ ...added, tags: ['own', 'added'] }])
    await client.close()
  })
})

describe('what it throws refuses the call, and nothing is inserted', () => {
  test.each(Object.entries(ways))('%s', async (_, enqueue) => {
    const { worker } = await working([adds, refuses])
    await expect(enqueue(worker)).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED', cause: { message: 'no tenant' } })
    expect(await mailsOf(worker)).toEqual([])
  })

  test.each(Object.entries(within))('%s: the attempt fails', async (_, job) => {
    const { clock, worker } = await working([refuses])
    const handle = await worker.enqueue(job as typeof sends)
    await clock.advance('1s')
    expect(await handle.record()).toMatchObject({ state: 'dead', error: { code: 'ENQUEUE_REFUSED' } })
    expect(await mailsOf(worker)).toEqual([])
  })

  test('of many, none is inserted', async () => {
    const picky: EnqueueMiddleware = ({ input }, next) => {
      if ((input as { to: string }).to === 'bob') throw new Error('not bob')
      next()
    }
    const { worker } = await working([picky])
    const many = worker.enqueueMany(mail, [{ to: 'ann' }, { to: 'bob' }])
    await expect(many).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED' })
    expect(await mailsOf(worker)).toEqual([])
  })

  test('also if an outer one catches the error of next()', async () => {
    const catches: EnqueueMiddleware = (_, next) => {
      try {
        next()
      } catch {
        // The refusal stays.
      }
    }
    const { worker } = await working([catches, refuses])
    await expect(worker.enqueue(mail, { to: 'ann' })).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED' })
  })
})

test('a machine whose child was refused goes on when the middleware does not refuse it any more', async () => {
  const { clock, runtime } = world()
  let refusing = true
  const patient = defineJob({ type: 'patient', machine, retry: { maxAttempts: 3, backoff: () => 1_000 } })
  const worker = await runtime({
    jobs: [mail, patient],
    enqueueMiddleware: [(call, next) => (refusing ? refuses(call, next) : next())],
  })
  const handle = await worker.enqueue(patient)
  await clock.advance('500ms')
  expect((await handle.record()).state).toBe('retrying')
  refusing = false
  await clock.advance('5s')
  expect(await handle.record()).toMatchObject({ state: 'done', machineStates: ['mailed'] })
})

describe('ticks of schedules', () => {
  test.each([
    ['an input', { to: 'ann' }],
    ['an input function', () => ({ to: 'ann' })],
  ])('of %s: called for each, not for the declaration', async (_, input) => {
    const { clock, runtime } = world()
    const calls: string[] = []
    const worker = await runtime({
      jobs: [mail],
      schedules: [schedule('s', '*/5 * * * *', mail, input, { tags: ['cron'], meta: { kind: 's' } })],
      enqueueMiddleware: [
        ({ from, id }, next) => {
          calls.push(`${from} ${id}`)
          next()
        },
        adds,
      ],
    })
    await clock.advance('12m')
    expect(calls).toEqual(['schedule s@2026-01-01T00:05:00Z', 'schedule s@2026-01-01T00:10:00Z'])
    const jobs = await mailsOf(worker)
    expect(jobs).toHaveLength(2)
    for (const job of jobs) {
      expect(job).toMatchObject({
        ...added,
        meta: { kind: 's', tenant: 'a' },
        tags: ['cron', 'added'],
        input: { to: 'ann' },
      })
    }
    expect(await worker.schedules()).toMatchObject([{ tags: ['cron'], priority: 0 }])
  })

  test('a tick that is refused is missed', async () => {
    const { clock, runtime } = world()
    const worker = await runtime({ jobs: [mail], enqueueMiddleware: [refuses], logger: {} })
    const handle = await worker.schedule('s', '*/5 * * * *', mail, { to: 'ann' })
    await clock.advance('6m')
    expect(await mailsOf(worker)).toEqual([])
    expect(await handle.record()).toMatchObject({ fired: 0, missed: 1 })
  })

  test('when its jobs run is said by the schedule', async () => {
    const later: EnqueueMiddleware = (call, next) => {
      call.options = { ...call.options, delay: '1h' }
      next()
    }
    const { worker } = await working([later])
    const handle = await worker.schedule('s', '@daily', mail, { to: 'ann' })
    await expect(handle.trigger()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    const delayed = await worker.enqueue(mail, { to: 'ann' })
    expect((await delayed.record()).state).toBe('scheduled')
  })
})

test('the first one is the outermost, and each sees what those before it have changed', async () => {
  const order: string[] = []
  const named =
    (name: string): EnqueueMiddleware =>
    (call, next) => {
      order.push(`${name} in ${String(call.options.tags)}`)
      call.options = { ...call.options, tags: [...(call.options.tags ?? []), name] }
      next()
      order.push(`${name} out ${String(call.options.tags)}`)
    }
  const { worker } = await working([named('a'), named('b')])
  await worker.enqueue(mail, { to: 'ann' }, { tags: ['own'] })
  expect(order).toEqual(['a in own', 'b in own,a', 'b out own,a,b', 'a out own,a,b'])
})

test('it is told what is enqueued, by what, and with what is inherited; in the turn of the call', async () => {
  const { clock, runtime } = world()
  const request = new AsyncLocalStorage<string>()
  const calls: unknown[] = []
  const worker = await runtime({
    jobs: [mail, sends],
    enqueueMiddleware: [
      ({ type, input, from, options }, next) => {
        calls.push([type, input, from, options.meta, request.getStore()])
        next()
      },
    ],
  })
  const handle = await request.run('r', () => worker.enqueue(sends, undefined, { id: 'x', meta: { n: 1 } }))
  expect(handle.id).toBe('x')
  await clock.advance('1s')
  expect(calls.map((call) => (call as unknown[]).slice(0, 4))).toEqual([
    ['sends', undefined, 'call', { n: 1 }],
    ['mail', { to: 'ann' }, 'job', { n: 1 }],
  ])
  expect((calls[0] as unknown[])[4]).toBe('r')
})

test('the id, the type and the input stay, and so do the options of the caller', async () => {
  const changes: Record<string, (call: EnqueueCall) => void> = {
    id: (call) => Object.assign(call, { id: 'other' }),
    type: (call) => Object.assign(call, { type: 'other' }),
    input: (call) => Object.assign(call, { input: { to: 'bob' } }),
    from: (call) => Object.assign(call, { from: 'job' }),
    options: (call) => Object.assign(call.options, { priority: 9 }),
  }
  for (const [name, change] of Object.entries(changes)) {
    const { worker } = await working([
      (call, next) => {
        change(call)
        next()
      },
    ])
    const code = worker.enqueue(mail, { to: 'ann' })
    await expect(code, name).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED', cause: expect.any(TypeError) })
  }
  const { worker } = await working([
    ({ input }, next) => {
      Object.assign(input as object, { to: 'bob' })
      next()
    },
  ])
  const handle = await worker.enqueue(mail, { to: 'ann' })
  expect((await handle.record()).input).toEqual({ to: 'ann' })
})

test('one that does not call next() exactly once, at once, refuses the call', async () => {
  const wrong: readonly EnqueueMiddleware[] = [
    () => {},
    (_, next) => {
      next()
      next()
    },
    (_, next) => {
      next()
      return Promise.reject(new Error('later')) as never
    },
  ]
  for (const each of wrong) {
    const { worker } = await working([each])
    await expect(worker.enqueue(mail, { to: 'ann' })).rejects.toMatchObject({ code: 'INVALID_MIDDLEWARE' })
    expect(await mailsOf(worker)).toEqual([])
  }
})

test('the options that it leaves are checked, and those of the wait and the id are not among them', async () => {
  for (const options of [
    { id: 'x' },
    { timeout: 1 },
    { tagss: [] },
    { priority: 0.5 },
    { meta: [1] },
    { maxAttempts: 0 },
    null,
  ]) {
    const { worker } = await working([
      (call, next) => {
        call.options = options as never
        next()
      },
    ])
    const call = worker.enqueue(mail, { to: 'ann' })
    await expect(call, JSON.stringify(options)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
})

test('it is a list of functions that are not async', () => {
  for (const enqueueMiddleware of [adds, [1], [async () => {}]]) {
    expect(() => createClient({ enqueueMiddleware: enqueueMiddleware as never })).toThrow(/enqueueMiddleware/)
  }
})
