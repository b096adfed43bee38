import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { world } from '../../support/leaks.ts'

/** A Standard Schema by hand: what `check` gives back, or its text as the only issue. */
function schema<T>(check: (value: unknown) => T | string | Promise<T | string>): StandardSchemaV1<T, T> {
  const result = (checked: T | string): StandardSchemaV1.Result<T> =>
    typeof checked === 'string' ? { issues: [{ message: checked }] } : { value: checked }
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate(value) {
        const checked = check(value)
        return checked instanceof Promise ? checked.then(result) : result(checked)
      },
    },
  }
}

test('an input that the schema refuses is refused at the door with every issue, and nothing is stored', async () => {
  const { store, runtime } = world()
  const mail = defineJob({
    type: 'mail',
    input: z.object({ to: z.email(), copies: z.array(z.object({ to: z.string() })) }),
    run: async () => {},
  })
  const worker = await runtime({ jobs: [mail] })
  const bad = { to: 'nobody', copies: [{ to: 'a' }, {}] } as unknown as { to: string; copies: { to: string }[] }
  const refused = await worker.enqueue(mail, bad).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'INVALID_INPUT', hint: expect.any(String), cause: [{}, {}] })
  expect((refused as Error).message).toMatch(/mail.*to: .*copies\.1\.to: /)
  await expect(worker.tryEnqueue(mail, bad)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(worker.enqueueMany(mail, [{ to: 'ada@example.com', copies: [] }, bad])).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: `inputs[1]: ${(refused as Error).message}`,
    hint: expect.any(String),
    cause: [{}, {}],
  })
  await expect(worker.run(mail, bad)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await store.list({})).toHaveLength(0)
})

test('the input is validated again before each run, and the handler gets what the schema makes of it', async () => {
  const { clock, store, idle } = world()
  const validate = vi.fn((value: unknown) => value as { at: string })
  const seen: unknown[] = []
  const visit = defineJob({
    type: 'visit',
    input: z
      .object({ at: z.string().transform((text) => new Date(text)), guests: z.number().default(2) })
      .refine((value) => {
        validate(value)
        return true
      }),
    retry: { maxAttempts: 2, backoff: () => 1 },
    run: async (input, { attempt }) => {
      seen.push(input)
      if (attempt === 1) throw new Error('again')
    },
  })
  const worker = idle({ jobs: [visit] })
  const job = await worker.enqueue(visit, { at: '2026-02-03T04:05:06Z' })
  expect(validate).toHaveBeenCalledTimes(1)
  await worker.start()
  await clock.advance(10)
  await job.result()
  expect(validate).toHaveBeenCalledTimes(3)
  const made = { at: new Date('2026-02-03T04:05:06Z'), guests: 2 }
  expect(seen).toEqual([made, made])
  // What is kept is what was given, so that a schema that transforms can be asked again.
  expect((await store.get([job.id]))[0]?.input).toEqual({ at: '2026-02-03T04:05:06Z' })
})

test('an input that a later version of the schema refuses makes the job dead at once', async () => {
  const { clock, store, runtime } = world()
  const run = vi.fn(async () => {})
  const before = defineJob({ type: 'pay', input: z.object({ sum: z.number() }), run })
  const after = defineJob({ type: 'pay', input: z.object({ sum: z.number(), currency: z.string() }), run })
  const old = await runtime({ jobs: [before], concurrency: 0 })
  const { id } = await old.enqueue(before, { sum: 1 })
  await runtime({ jobs: [after] })
  await clock.settle()
  const [record] = await store.get([id])
  expect(record).toMatchObject({ state: 'dead', attempt: 1, error: { code: 'INVALID_INPUT' } })
  expect(run).not.toHaveBeenCalled()
})

test('a schema may take its time', async () => {
  const { clock, runtime } = world()
  const slow = schema<{ n: number }>(async (value) => {
    await clock.sleep('1s')
    return (value as { n: number }).n > 0 ? (value as { n: number }) : 'n: must be positive'
  })
  const job = defineJob({ type: 'slow', input: slow, run: async ({ n }) => n * 2 })
  const worker = await runtime({ jobs: [job] })
  const good = worker.run(job, { n: 2 })
  const bad = worker.enqueue(job, { n: -1 })
  await Promise.all([
    clock.advance('3s'),
    expect(bad).rejects.toMatchObject({ code: 'INVALID_INPUT', message: 'input of job slow: n: must be positive' }),
  ])
  expect(await good).toBe(4)
})

test('a job that is cancelled while its schema takes its time does not start', async () => {
  const { clock, runtime } = world()
  const run = vi.fn(async () => {})
  const slow = schema<object>((value) => clock.sleep('1s').then(() => value as object))
  const job = defineJob({ type: 'slow', input: slow, run })
  const worker = await runtime({ jobs: [job] })
  const enqueued = worker.enqueue(job, {})
  await clock.advance(1_500)
  const handle = await enqueued
  expect((await handle.record()).state).toBe('running')
  await handle.cancel({ grace: '1m' })
  await clock.advance('2s')
  expect((await handle.record()).state).toBe('cancelled')
  expect(run).not.toHaveBeenCalled()
})

test('a schema that throws refuses the input and says so', async () => {
  const { runtime } = world()
  for (const check of [
    () => {
      throw new Error('oops')
    },
    () => Promise.reject(new Error('oops')),
  ]) {
    const job = defineJob({ type: 'broken', input: schema<object>(check), run: async () => {} })
    const worker = await runtime({ jobs: [job] })
    await expect(worker.enqueue(job, {})).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'the schema of the input of job broken threw: oops',
      cause: new Error('oops'),
    })
  }
})

test('a schema that answers nothing refuses the input and says so', async () => {
  const { runtime } = world()
  const input: StandardSchemaV1<object, object> = {
    '~standard': { version: 1, vendor: 'test', validate: () => undefined as never },
  }
  const job = defineJob({ type: 'broken', input, run: async () => {} })
  const worker = await runtime({ jobs: [job] })
  const message: unknown = expect.stringContaining('the schema of the input of job broken threw')
  await expect(worker.enqueue(job, {})).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
})

test('what is no Standard Schema is refused at definition', () => {
  const define = (input: unknown) => () =>
    defineJob({ type: 'a', input: input as StandardSchemaV1<object, object>, run: async () => {} })
  for (const bad of [{}, 'text', null, { '~standard': {} }, () => true]) {
    expect(define(bad)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', hint: expect.any(String) }))
  }
})

test('a refused input rejects its call and nothing else while the store is still being opened', async () => {
  const inner = memoryStore()
  let opened = (): void => {}
  const store: Store = {
    ...inner,
    async open(host) {
      await new Promise<void>((resolve) => (opened = resolve))
      return inner.open(host)
    },
  }
  const { clock, idle } = world({ store })
  const mail = defineJob({ type: 'mail', input: z.string(), run: async () => {} })
  const call = idle({ jobs: [mail] }).enqueue(mail, 5 as unknown as string)
  // The runner reports a rejection that nobody handles in this turn.
  const refused = expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await clock.settle()
  opened()
  await refused
})
