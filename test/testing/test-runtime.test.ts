/** The test runtime of users: real work is waited for, and a test repeats exactly, ids included. */
import { readFile } from 'node:fs/promises'
import { setTimeout as realSleep } from 'node:timers/promises'
import { createClient, defineJob, memoryStore } from 'jobchart'
import { createTestRuntime } from 'jobchart/testing'
import { describe, expect, test, vi } from 'vitest'

test('time passes when a handler has read its files, not before', async () => {
  const read = defineJob<number, number>({
    type: 'read',
    attemptTimeout: '1m',
    run: async (files) => {
      let length = 0
      for (let i = 0; i < files; i++) length += (await readFile(new URL(import.meta.url))).length
      return length
    },
  })
  const { runtime, clock } = await createTestRuntime({ jobs: [read], realWait: '1m' })
  const job = await runtime.enqueue(read, 20)
  await clock.advance('1h')
  expect(await job.record()).toMatchObject({ state: 'done', attempt: 1, output: expect.any(Number) })
  await runtime.stop()
})

test('a handler that waits for virtual time is not waited for', async () => {
  const warn = vi.fn()
  const sleep = defineJob({ type: 'sleep', run: async (_input, { signal }) => clock.sleep('1h', signal) })
  const { runtime, clock } = await createTestRuntime({ jobs: [sleep], realWait: '1h', logger: { warn } })
  const job = await runtime.enqueue(sleep)
  await clock.advance('1h')
  expect((await job.record()).state).toBe('done')
  expect(warn).not.toHaveBeenCalled()
  await runtime.stop()
})

test('a handler that takes longer than the limit is named once, and time passes without it', async () => {
  const warn = vi.fn()
  const end = new AbortController()
  const slow = defineJob({
    type: 'slow',
    run: async () => realSleep(3_600_000, undefined, { signal: end.signal }).catch(() => 'ended'),
  })
  const { runtime, clock } = await createTestRuntime({ jobs: [slow], realWait: 5, logger: { warn } })
  const job = await runtime.enqueue(slow, undefined, { id: 'a' })
  await clock.advance('10s')
  await clock.advance('10s')
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/job a \(slow\), attempt 1: .* longer than 5 ms$/)]])
  end.abort()
  expect(await job.result()).toBe('ended')
  await runtime.stop()
})

describe('stop with abort', () => {
  const cleanup = 300

  /** A test runtime with a handler that sleeps, and ends so long after the abort; null = it ignores its signal. */
  async function sleeping(endsAfter: number | null) {
    const sleep = defineJob({
      type: 'sleep',
      run: async (_input, { signal }) => {
        await clock.sleep('1h', endsAfter === null ? undefined : signal).catch(() => {})
        if (endsAfter !== null) await clock.sleep(endsAfter)
      },
    })
    const { runtime, clock } = await createTestRuntime({ jobs: [sleep], logger: { warn: vi.fn() } })
    await runtime.enqueue(sleep)
    await clock.settle()
    return { runtime, clock, passed: () => clock.monotonic() }
  }

  test.each([
    ['obeys at once', 0, { completed: true, running: 0 }, 0],
    ['ends in its grace', cleanup, { completed: true, running: 0 }, cleanup],
    ['ignores its signal', null, { completed: false, running: 1 }, 1_000],
  ])('of a handler that %s ends though nobody advances the clock', async (_, endsAfter, report, passedMs) => {
    const { runtime, passed } = await sleeping(endsAfter)
    expect(await runtime.stop({ mode: 'abort', grace: '1s' })).toMatchObject(report)
    expect(passed()).toBe(passedMs)
  })

  test('leaves the time to a test that advances the clock', async () => {
    const { runtime, clock, passed } = await sleeping(null)
    const stopping = runtime.stop({ mode: 'abort', grace: '1s' })
    await clock.advance(400)
    expect(passed()).toBe(400)
    await clock.settle()
    expect(passed()).toBe(400)
    await clock.advance('5s')
    expect(await stopping).toMatchObject({ completed: false })
    expect(passed()).toBe(5_400)
  })
})

test('errors count and name the middleware that the caller gave', async () => {
  const forgets = (): void => {}
  const greet = defineJob({ type: 'greet', retry: { maxAttempts: 1 }, run: async () => 'hello' })
  const { runtime } = await createTestRuntime({ jobs: [greet], middleware: [forgets] })
  await expect(runtime.run(greet, undefined)).rejects.toThrow(/middleware 1 \(forgets\) of job/)
  await runtime.stop()
  for (const [middleware, message] of [
    [[(): void => {}, 5], /middleware\[1\]/],
    [[5], /middleware\[0\]/],
    [5, /middleware/],
  ] as const) {
    await expect(createTestRuntime({ jobs: [greet], middleware: middleware as never })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    })
  }
})

test('a seed gives the ids, and another seed others', async () => {
  const nothing = defineJob({ type: 'nothing', run: () => {} })
  const idsOf = async (seed: number): Promise<string[]> => {
    const { runtime } = await createTestRuntime({ jobs: [nothing], seed })
    const handles = await runtime.enqueueMany(nothing, [undefined, undefined])
    await runtime.stop()
    return [runtime.id, ...handles.map(({ id }) => id)]
  }
  const ids = await idsOf(7)
  expect(new Set(ids).size).toBe(3)
  expect(await idsOf(7)).toEqual(ids)
  expect(await idsOf(8)).not.toEqual(ids)
})

test('newId gives the ids of jobs that are enqueued without one, and what is no id is refused', async () => {
  const nothing = defineJob({ type: 'nothing', run: () => {} })
  const given: unknown[] = ['first', '', 7]
  const client = createClient({ jobs: [nothing], store: memoryStore(), newId: () => given.shift() as string })
  expect((await client.enqueue(nothing)).id).toBe('first')
  expect((await client.enqueue(nothing, undefined, { id: 'own' })).id).toBe('own')
  for (let i = 0; i < 2; i++) await expect(client.enqueue(nothing)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(() => createClient({ newId: 7 as never })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  await client.close()
})
