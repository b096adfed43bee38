/** A stop while enqueues wait for room: every caller is answered at once, on every kind of store. */
import { defineJob, memoryStore, type JobchartError, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, void>({ type: 'job', run: async () => {} })
const checked = defineJob({ type: 'checked', input: z.number(), run: async () => {} })

/** Answers each insert in a later turn, as a store on a wire does. */
function slowInserts(): Store {
  const inner = memoryStore()
  return {
    ...inner,
    async insert(requests) {
      await new Promise((resolve) => setImmediate(resolve))
      return inner.insert(requests)
    },
  }
}

const stores: Record<string, () => Store> = {
  memory: () => memoryStore(),
  'slow inserts': slowInserts,
  sqlite: fileStore,
}
const turns: Record<string, (settle: () => Promise<void>) => Promise<void> | void> = {
  'in the same turn': () => {},
  'a microtask later': () => Promise.resolve(),
  'when they wait': (settle) => settle(),
}
const modes = ['drain', 'finish', 'abort'] as const
const cases = Object.keys(stores).flatMap((store) =>
  Object.keys(turns).flatMap((turn) => modes.map((mode) => [store, turn, mode] as const)),
)

test.each(cases)('%s: a stop %s (%s) answers enqueues that wait for room at once', async (name, turn, mode) => {
  const { clock, store, idle } = world({ store: stores[name]?.() as Store })
  // Open until the test is over, so that it can look into it.
  await store.open({ clock })
  const runtime = idle({ jobs: [job, checked], capacity: 1, concurrency: 0 })
  await runtime.enqueue(job, 0)
  await runtime.start()
  const answers: string[] = []
  const calls = [
    ...Array.from({ length: 20 }, (_, n) => runtime.enqueue(job, n)),
    runtime.enqueueMany(job, [1]),
    runtime.enqueue(checked, 1),
  ]
  for (const call of calls) call.then(() => answers.push('stored')).catch((e: JobchartError) => answers.push(e.code))
  await turns[turn]?.(() => clock.settle())
  const askedAt = clock.monotonic()
  let tookMs = Infinity
  // Nothing runs here: a drain would wait for the first job.
  void runtime.stop({ mode, timeout: '20s' }).then(() => (tookMs = clock.monotonic() - askedAt))
  await clock.settle()
  await clock.settle()
  await clock.settle()
  expect(answers).toEqual(calls.map(() => 'STOPPED'))
  await clock.advance('1m')
  if (mode !== 'drain') expect(tookMs).toBeLessThanOrEqual(200)
  expect((await store.counts()).queued).toBe(1)
})

test('what was enqueued before the stop and finds room is stored', async () => {
  const { clock, store, idle } = world()
  const runtime = idle({ jobs: [job], capacity: 10, concurrency: 0 })
  await runtime.start()
  const call = runtime.enqueue(job, 1)
  const stopping = runtime.stop()
  expect(await call).toMatchObject({ type: 'job' })
  await clock.advance('1s')
  expect(await stopping).toEqual({ completed: true, running: 0, dropped: 1 })
  expect((await store.counts()).queued).toBe(1)
})
