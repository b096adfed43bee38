/**
 * A worker that runs a job until SIGTERM: `url`. Tells when it starts, when the job runs, and how long the stop took.
 */
import { once } from 'node:events'
import { createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'

const [url = ''] = process.argv.slice(2)
const endless = defineJob<null>({
  type: 'endless',
  run: async (_, { signal }) => {
    process.send?.('runs')
    await once(signal, 'abort')
  },
})
const runtime = createRuntime({ jobs: [endless], store: redisStore({ url }), logger: {}, lease: '2s' })
async function stop(): Promise<void> {
  const startedAt = performance.now()
  await runtime.stop({ mode: 'abort', grace: 500, timeout: 500 })
  process.send?.({ tookMs: performance.now() - startedAt })
  process.disconnect()
}
process.once('SIGTERM', () => void stop())
process.send?.('starts')
try {
  await runtime.start()
  await runtime.enqueue(endless, null)
} catch {
  // It was stopped while it started.
}
