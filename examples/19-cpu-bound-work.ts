// Work that computes runs in a thread: a large file is hashed while the event loop goes on. A handler that does not
// listen to its cancel is ended with its thread, and its slot is free for the next job.
//
// prints:
//   the event loop went on: true
//   checked in: { percent: 100 }
//   64 MiB of zeros: 3b6a07d0d404fab4…
//   cancelled; its thread has ended, the next job runs
//   sha256 of nothing: e3b0c44298fc1c14…
import { open, truncate } from 'node:fs/promises'
import { createRuntime, defineJob, JobCancelledError, thread } from 'jobchart'
import type * as handler from './hash-in-thread.ts'

// The types of input and output come from the module of the handler, which is loaded in the thread alone.
const hash = defineJob({
  type: 'hash',
  thread: thread<typeof handler>(new URL('./hash-in-thread.ts', import.meta.url), { memoryMb: 64 }),
  retry: { maxAttempts: 2 },
})

const runtime = createRuntime({ jobs: [hash], concurrency: 1 })
await runtime.start()

const file = await open('zeros.bin', 'w')
await file.close()
await truncate('zeros.bin', 64 * 1024 * 1024)

let turns = 0
const ticking = setInterval(() => turns++, 1)
const large = await runtime.enqueue(hash, { path: 'zeros.bin' })
const { digest } = await large.result()
clearInterval(ticking)
console.log('the event loop went on:', turns > 5)
console.log('checked in:', (await large.record()).checkin?.value)
console.log(`64 MiB of zeros: ${digest.slice(0, 16)}…`)

const endless = await runtime.enqueue(hash, { path: '/dev/zero' })
for await (const { event } of endless.events()) if (event === 'CHECKIN') break // it runs
await endless.cancel({ grace: 50 })
await endless.result().catch((error: unknown) => {
  if (error instanceof JobCancelledError) console.log('cancelled; its thread has ended, the next job runs')
})
await truncate('zeros.bin', 0)
console.log(`sha256 of nothing: ${(await runtime.run(hash, { path: 'zeros.bin' })).digest.slice(0, 16)}…`)
await runtime.stop()
