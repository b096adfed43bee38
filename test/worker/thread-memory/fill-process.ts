/** Runs a handler that fills the memory of its thread, and prints the code of the error of its attempt. */
import { createRuntime, defineJob, thread, type JobDeadError } from 'jobchart'

const [what = ''] = process.argv.slice(2)
const fill = defineJob<string, never>({
  type: 'fill',
  thread: thread(new URL('fill.mjs', import.meta.url), { memoryMb: 64 }),
  retry: { maxAttempts: 1 },
})

const runtime = createRuntime({ jobs: [fill] })
await runtime.start()
// Nothing but the thread keeps the process alive.
const { cause } = (await runtime.run(fill, what).catch((error: unknown) => error)) as JobDeadError
console.log(cause.code)
await runtime.stop()
