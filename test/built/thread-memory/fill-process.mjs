/** Runs a handler that fills the memory of its thread, and prints the code of the error of its attempt. */
import { createRuntime, defineJob, thread } from 'jobchart'

const [what] = process.argv.slice(2)
const fill = defineJob({
  type: 'fill',
  thread: thread(new URL('fill.mjs', import.meta.url), { memoryMb: 64 }),
  retry: { maxAttempts: 1 },
})

const runtime = createRuntime({ jobs: [fill] })
await runtime.start()
// Nothing but the thread keeps the process alive.
const { cause } = await runtime.run(fill, what).catch((error) => error)
console.log(cause.code)
await runtime.stop()
