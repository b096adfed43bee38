/** What the jobs that a job enqueues take over from it: `meta`, tags and priority. */
import { defineJob, fromJob, type FromJobOptions, type JobRecord } from 'jobchart'
import { createActor, setup, toPromise } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const mail = defineJob<{ to: string }>({ type: 'mail', run: async () => {} })

type Options = FromJobOptions | ((input: { to: string }) => FromJobOptions)

/** A machine that mails once, and ends in `failed` if that fails. */
const mailer = (options?: Options) =>
  defineJob({
    type: 'mailer',
    retry: { maxAttempts: 1 },
    machine: setup({ actors: { mail: fromJob(mail, undefined, options) } }).createMachine({
      initial: 'mailing',
      states: {
        mailing: { invoke: { src: 'mail', input: { to: 'ann' }, onDone: 'mailed', onError: 'failed' } },
        mailed: { type: 'final' },
        failed: { type: 'final' },
      },
    }),
  })

const given = { meta: { tenant: 'a', trace: '1' }, tags: ['x', 'y'], priority: 7 }

const passedOn = ({ meta, tags, priority }: JobRecord) => ({ meta, tags, priority })

async function childOf(options?: Options): Promise<JobRecord | undefined> {
  const { clock, runtime } = world()
  const parent = mailer(options)
  const worker = await runtime({ jobs: [parent, mail] })
  const handle = await worker.enqueue(parent, undefined, given)
  await clock.advance('1m')
  expect(await handle.record()).toMatchObject({ state: 'done', machineStates: ['mailed'] })
  return (await worker.list({ type: 'mail' }))[0]
}

const mailed = async (options?: Options) => passedOn((await childOf(options)) as JobRecord)

test('a child of a machine inherits meta, tags and priority of its parent', async () => {
  expect(await mailed()).toEqual(given)
})

test('own tags and an own priority replace the inherited ones, also by none, and meta is merged by member', async () => {
  const own = { meta: { trace: '2', n: 1 }, tags: ['z'], priority: -1 }
  expect(await mailed(own)).toEqual({ ...own, meta: { tenant: 'a', trace: '2', n: 1 } })
  expect(await mailed({ tags: [], priority: 0, meta: {} })).toEqual({ meta: given.meta, tags: [], priority: 0 })
})

test('options of fromJob may be a function of the input', async () => {
  expect(await mailed(({ to }) => ({ tags: [`to:${to}`] }))).toEqual({ ...given, tags: ['to:ann'] })
  // @ts-expect-error the input has no `from`
  fromJob(mail, undefined, ({ from }) => ({ tags: [from] }))
})

test('a job of ctx.enqueue inherits them, with a key, an id or neither', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined>({
    type: 'job',
    run: async (_input, { enqueue }) => {
      await enqueue(mail, { to: 'a' })
      await enqueue(mail, { to: 'b' }, { key: 'b', tags: ['z'] })
      await enqueue(mail, { to: 'c' }, { id: 'c', meta: { trace: '2' }, priority: 1 })
    },
  })
  const worker = await runtime({ jobs: [job, mail] })
  await worker.enqueue(job, undefined, given)
  await clock.advance('1m')
  const of = async (to: string) =>
    (await worker.list({ type: 'mail' })).filter(({ input }) => (input as { to: string }).to === to).map(passedOn)
  expect(await of('a')).toEqual([given])
  expect(await of('b')).toEqual([{ ...given, tags: ['z'] }])
  expect(await of('c')).toEqual([{ ...given, meta: { tenant: 'a', trace: '2' }, priority: 1 }])
})

test('meta that is no plain object is refused beside inherited meta, too', async () => {
  const { clock, runtime } = world()
  const codes: unknown[] = []
  const job = defineJob<undefined>({
    type: 'job',
    run: async (_input, { enqueue }) => {
      for (const meta of [[1], new Date(), null]) {
        await enqueue(mail, { to: 'a' }, { meta: meta as never }).catch((error) => codes.push(error.code))
      }
    },
  })
  const worker = await runtime({ jobs: [job, mail] })
  await worker.enqueue(job, undefined, given)
  await clock.advance('1m')
  expect(codes).toEqual(['INVALID_OPTION', 'INVALID_OPTION', 'INVALID_OPTION'])
})

test('a function of the input that throws refuses the child, and no options fail the attempt', async () => {
  const { clock, runtime } = world()
  const throwing = mailer(() => {
    throw new Error('no options')
  })
  const worker = await runtime({ jobs: [throwing, mail] })
  const refused = await worker.enqueue(throwing)
  await clock.advance('1m')
  expect(await refused.record()).toMatchObject({ state: 'done', machineStates: ['failed'] })

  const none = mailer(() => ({ tagss: [] }) as never)
  const other = await world().runtime({ jobs: [none, mail] })
  const failed = await other.enqueue(none)
  await expect(failed.result()).rejects.toMatchObject({ code: 'DEAD' })
  expect((await failed.record()).error).toMatchObject({ code: 'INVALID_OPTION' })
  expect(() => fromJob(mail, undefined, (async () => ({})) as never)).toThrow('not async')
})

test('outside of a machine job the actor of a function that throws fails', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [mail] })
  const logic = fromJob(mail, worker, () => {
    throw new Error('no options')
  })
  const actor = createActor(logic, { input: { to: 'ann' } })
  actor.subscribe({ error: () => {} })
  const ended = toPromise(actor)
  actor.start()
  await expect(ended).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await worker.list({ type: 'mail' })).toEqual([])
})
