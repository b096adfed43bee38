/** Slot deadlocks: handlers that hold all slots and await jobs that need one. */
import { createRuntime, defineJob, memoryStore, type JobDefinition, type Runtime } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'
import { expect, test, vi } from 'vitest'

const child = defineJob<number, number>({ type: 'child', run: (n) => n * 2 })

const named = { type: 'parent', awaits: [{ id: 'c', type: 'child' }] }

function parentOf(runtime: () => Runtime, concurrency?: number) {
  return defineJob<string, number>({
    type: 'parent',
    ...(concurrency !== undefined && { concurrency }),
    run: async (id, { signal }) => {
      await Promise.resolve()
      return (await runtime().enqueue(child, 1, { id })).result({ signal })
    },
  })
}

test('handlers that hold all slots of the worker and await queued jobs are warned of once, with the names', async () => {
  const warn = vi.fn()
  const parent = parentOf(() => runtime)
  const { runtime, clock } = await createTestRuntime({ jobs: [parent, child], concurrency: 2, logger: { warn } })
  await Promise.all(['a', 'b'].map((id) => runtime.enqueue(parent, 'c', { id })))
  await clock.advance(900)
  expect(warn).not.toHaveBeenCalled()
  await clock.advance(200)
  await clock.advance('10s')
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining('all slots of this worker wait'),
      expect.objectContaining({
        jobs: 2,
        waiting: [
          { id: 'a', ...named },
          { id: 'b', ...named },
        ],
        hint: expect.stringContaining('fromJob'),
      }),
    ],
  ])
  runtime.concurrency = 3
  expect(await (await runtime.job(parent, 'a'))?.result()).toBe(2)
  await runtime.stop()
})

test('all slots of a type count, though the worker has free ones', async () => {
  const warn = vi.fn()
  const clock = new VirtualClock()
  const self = defineJob<number>({
    type: 'self',
    concurrency: 1,
    run: async (n, { signal }) => {
      if (n > 0) await (await runtime.enqueue(self, n - 1, { id: 'inner' })).result({ signal })
    },
  })
  const runtime = createRuntime({ jobs: [self], clock, concurrency: 5, logger: { warn } })
  await runtime.start()
  await runtime.enqueue(self, 1, { id: 'outer' })
  await clock.advance('2s')
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining('all slots of a type wait'),
      expect.objectContaining({
        waiting: [{ id: 'outer', type: 'self', awaits: [{ id: 'inner', type: 'self' }] }],
      }),
    ],
  ])
  await runtime.stop({ mode: 'abort' })
})

test('a wait outside of handlers, a slot that works and a job that runs are no deadlock', async () => {
  const warn = vi.fn()
  const work = defineJob<string>({ type: 'work', run: (time, { signal }) => clock.sleep(time as '5s', signal) })
  const parent = defineJob({
    type: 'parent',
    run: async (_input, { signal }) => (await runtime.enqueue(work, '1s')).result({ signal }),
  })
  const { runtime, clock } = await createTestRuntime({ jobs: [work, parent], concurrency: 2, logger: { warn } })
  await runtime.enqueue(work, '5s')
  const done = runtime.run(parent)
  await clock.advance('4s')
  const other = runtime.run(work, '1s')
  await clock.advance('10s')
  await Promise.all([done, other])
  expect(warn).not.toHaveBeenCalled()
  await runtime.stop()
})

test('in virtual time, run within a handler of the same type fails at once', async () => {
  const self: JobDefinition<number, void> = defineJob<number, void>({
    type: 'self',
    retry: { maxAttempts: 1 },
    run: (n) => runtime.run(self, n + 1),
  })
  const { runtime } = await createTestRuntime({ jobs: [self] })
  await expect(runtime.run(self, 0)).rejects.toMatchObject({
    code: 'DEAD',
    cause: { code: 'NOT_ACCEPTED', message: expect.stringContaining('runs a job of its own type') },
  })
  expect(await runtime.list()).toHaveLength(1)
  await runtime.stop()
})

test('handlers that hold all slots and wait for room are warned of; ctx.enqueue needs none', async () => {
  const warn = vi.fn()
  const fan = defineJob<boolean>({
    type: 'fan',
    run: async (isOwn, { enqueue, signal }) => {
      for (let n = 0; n < 3; n++) await (isOwn ? enqueue(child, n) : runtime.enqueue(child, n, { signal }))
    },
  })
  const options = { jobs: [fan, child], concurrency: 1, capacity: 2, logger: { warn } }
  const { runtime, clock } = await createTestRuntime(options)
  await runtime.run(fan, true)
  await runtime.drain()
  const stuck = await runtime.enqueue(fan, false, { id: 'stuck' })
  await clock.advance('10s')
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining('all slots of this worker wait for room'),
      expect.objectContaining({
        waiting: [{ id: 'stuck', type: 'fan', awaits: ['room'] }],
        hint: expect.stringContaining('ctx.enqueue'),
      }),
    ],
  ])
  runtime.concurrency = 2
  await stuck.result()
  await runtime.stop()
})

test('a handler that waits for room which another worker makes is not warned of', async () => {
  const warn = vi.fn()
  const clock = new VirtualClock()
  const store = memoryStore()
  const slow = defineJob<number>({ type: 'slow', run: (_, { signal }) => clock.sleep('20s', signal) })
  const fan = defineJob({
    type: 'fan',
    run: async (_, { signal }) => {
      await clock.sleep('1s', signal)
      await runtime.enqueue(slow, 2, { signal })
    },
  })
  const options = { store, clock, concurrency: 1, capacity: 1, logger: { warn } }
  const runtime = createRuntime({ ...options, jobs: [fan, slow] })
  const other = createRuntime({ ...options, jobs: [slow] })
  await runtime.start()
  const fanned = await runtime.enqueue(fan, undefined)
  await clock.settle()
  await other.start()
  await other.enqueue(slow, 0)
  await other.enqueue(slow, 1)
  await clock.advance('10s')
  expect((await fanned.record()).state).toBe('running')
  await clock.advance('1m')
  expect((await fanned.record()).state).toBe('done')
  expect(warn).not.toHaveBeenCalled()
  await runtime.stop()
  await other.stop()
})
