/** Producers that await each enqueue, workers, timers and I/O share the event loop. */
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'

test('a loop that awaits each enqueue lets timers fire and jobs run', async () => {
  let started = 0
  let fired = 0
  const job = defineJob<number, void>({ type: 'job', run: async () => void started++ })
  const runtime = createRuntime({ jobs: [job], store: memoryStore(), concurrency: 100 })
  await runtime.start()
  const timer = setInterval(() => fired++, 1)
  const before = performance.now()
  let longestMs = 0
  let turnAt = before
  const turns = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - turnAt)
    turnAt = performance.now()
  }, 0)
  let enqueued = 0
  for (; performance.now() - before < 500; enqueued++) await runtime.enqueue(job, enqueued)
  const startedMeanwhile = started
  clearInterval(timer)
  clearInterval(turns)
  expect(fired).toBeGreaterThan(5)
  expect(startedMeanwhile).toBeGreaterThan(enqueued / 20)
  expect(longestMs).toBeLessThan(400)
  await runtime.stop({ mode: 'finish' })
})
