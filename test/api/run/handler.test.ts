import { defineJob, type RunContext } from 'jobchart'
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

test('a handler may be async or not, and its output is what it returns', async () => {
  const { runtime } = world()
  const later = defineJob<number, number>({ type: 'later', run: async (n) => n + 1 })
  const now = defineJob<number, number>({ type: 'now', run: (n) => n + 1 })
  const nothing = defineJob<undefined, void>({ type: 'nothing', run: async () => {} })
  const thenable = defineJob<undefined, number>({
    type: 'thenable',
    // oxlint-disable-next-line unicorn/no-thenable -- a promise of somebody else's making
    run: () => ({ then: (resolve: (value: number) => void) => resolve(7) }) as PromiseLike<number>,
  })
  const worker = await runtime({ jobs: [later, now, nothing, thenable] })
  expect(await worker.run(later, 1)).toBe(2)
  expect(await worker.run(now, 1)).toBe(2)
  expect(await worker.run(nothing)).toBe(undefined)
  expect(await worker.run(thenable)).toBe(7)
})

test('ctx says which job, which attempt of how many, and until when', async () => {
  const { clock, runtime } = world()
  const seen: unknown[] = []
  const job = defineJob<number, void>({
    type: 'job',
    attemptTimeout: '1m',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: async (_input, { id, type, attempt, maxAttempts, deadline, signal }) => {
      seen.push({ id, type, attempt, maxAttempts, deadline, aborted: signal.aborted })
      if (attempt === 1) throw new Error('again')
    },
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 1, { id: 'a' })
  await clock.advance('1s')
  const always = { id: 'a', type: 'job', maxAttempts: 2, aborted: false }
  expect(seen).toEqual([
    { ...always, attempt: 1, deadline: start + 60_000 },
    { ...always, attempt: 2, deadline: start + 61_000 },
  ])
})

test('ctx.job is the record as it is while it runs, with the errors of earlier attempts', async () => {
  const { clock, runtime } = world()
  const records: RunContext['job'][] = []
  const job = defineJob<number, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, context) => {
      records.push(context.job)
      if (context.attempt < 3) throw new Error(`no ${context.attempt}`)
    },
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 5, { tags: ['x'] })
  await clock.advance('10s')
  expect(records[0]).toMatchObject({ state: 'running', input: 5, tags: ['x'], worker: worker.id, errors: [] })
  expect(records[2]?.errors.map(({ attempt, error }) => [attempt, error.message])).toEqual([
    [1, 'no 1'],
    [2, 'no 2'],
  ])
})

test('members of ctx may be destructured, and used after an await', async () => {
  const { runtime } = world()
  const child = defineJob<number, number>({ type: 'child', run: async (n) => n })
  const job = defineJob<undefined, string>({
    type: 'job',
    run: async (_input, { checkin, log, step, enqueue }) => {
      await null
      checkin(1)
      log('line')
      await step('one', () => 1)
      return (await enqueue(child, 3)).id
    },
  })
  const worker = await runtime({ jobs: [job, child] })
  const handle = await worker.enqueue(job)
  expect(await (await worker.job(await handle.result()))?.result()).toBe(3)
  expect(await handle.record()).toMatchObject({ checkin: { value: 1 }, logs: [{ message: 'line' }] })
})

test('a run that is over enqueues no more', async () => {
  const { clock, store, runtime } = world()
  const child = defineJob({ type: 'child', run: async () => {} })
  const late: Promise<unknown>[] = []
  const job = defineJob({
    type: 'job',
    run: async (_input, { enqueue }) => {
      late.push(
        clock
          .sleep('1s')
          .then(() => enqueue(child))
          .catch((error: unknown) => error),
      )
    },
  })
  const worker = await runtime({ jobs: [job, child] })
  await worker.run(job)
  await clock.advance('1s')
  expect(await late[0]).toMatchObject({ code: 'NOT_ACCEPTED', hint: expect.any(String) })
  expect((await store.counts()).types['child']).toBe(undefined)
})

test('what a handler does after its end leaves no trace', async () => {
  const { clock, runtime } = world()
  const contexts: RunContext[] = []
  const job = defineJob({ type: 'job', run: (_input, context) => void contexts.push(context) })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await handle.result()
  const [context] = contexts
  context?.checkin('late')
  context?.log('late')
  await expect(context?.step('late', () => 1)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await clock.advance('1m')
  expect(await handle.record()).toMatchObject({ state: 'done', checkin: null, logs: [] })
})

test('a runtime knows nothing of another one in the same process', async () => {
  const one = world()
  const two = world()
  const job = defineJob<number, number>({ type: 'job', run: async (n) => n })
  const first = await one.runtime({ jobs: [job] })
  const second = await two.runtime({ jobs: [job] })
  const handle = await first.enqueue(job, 1)
  expect(await handle.result()).toBe(1)
  expect(await second.job(handle.id)).toBe(null)
  expect(first.id).not.toBe(second.id)
})

test('what a runtime calls by itself is in the asynchronous context in which it was made, not in that of a request', async () => {
  const request = new AsyncLocalStorage<string>()
  const { clock, runtime } = world()
  const seen: [string, string | undefined][] = []
  const see = (name: string): void => void seen.push([name, request.getStore()])
  const job = defineJob<string, void>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    async run(name, { attempt }) {
      see(`${name} ${attempt}`)
      if (attempt === 1 && name === 'fails') throw new Error('again')
    },
  })
  const batch = defineJob<number, void>({
    type: 'batch',
    batch: { size: 2, wait: '1h', run: () => see('batch') },
  })
  const made = await request.run('maker', () => runtime({ jobs: [job, batch] }))
  const calls = ['a', 'b', 'fails'].map((name) => request.run(`request ${name}`, () => made.enqueue(job, name)))
  await Promise.all([...calls, request.run('request', () => made.enqueue(batch, 1))])
  await request.run('request', async () => {
    await made.pause()
    await made.resume()
    await made.schedule('ticks', '* * * * *', job, () => {
      see('tick')
      return 'of tick'
    })
  })
  await clock.advance('1m')
  expect(seen.map(([name]) => name)).toEqual(['a 1', 'b 1', 'fails 1', 'batch', 'fails 2', 'tick', 'of tick 1'])
  expect(new Set(seen.map(([, context]) => context))).toEqual(new Set(['maker']))
})
