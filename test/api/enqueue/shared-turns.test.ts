/** Producers that await each enqueue, workers, timers and I/O share the event loop. */
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import { longestTurn } from '../../support/loop-probe.ts'

test('a loop that awaits each enqueue lets timers fire and jobs run', async () => {
  let started = 0
  let fired = 0
  const job = defineJob<number, void>({ type: 'job', run: async () => void started++ })
  const runtime = createRuntime({ jobs: [job], store: memoryStore(), concurrency: 100 })
  await runtime.start()
  const timer = setInterval(() => fired++, 1)
  const begin = process.threadCpuUsage()
  // Processor time of this thread: on a busy machine it gets little of the time that passes.
  const workedMs = (): number => {
    const { user, system } = process.threadCpuUsage(begin)
    return (user + system) / 1_000
  }
  let enqueued = 0
  const longestMs = await longestTurn(async () => {
    for (; workedMs() < 500; enqueued++) await runtime.enqueue(job, enqueued)
  })
  const startedMeanwhile = started
  clearInterval(timer)
  expect(fired).toBeGreaterThan(5)
  expect(startedMeanwhile).toBeGreaterThan(enqueued / 20)
  expect(longestMs).toBeLessThan(250)
  await runtime.stop({ mode: 'finish' })
})
