// A cancel reaches a job wherever it is: what waits never starts, what runs sees its signal abort.
//
// prints:
//   frame 1 starts
//   frame 1 ends early: CANCELLED
//   cancelled 3, asked 1 to end
//   frame 1: cancelled after 1 attempts, the film was dropped
//   frame 2: cancelled after 0 attempts, the film was dropped
//   the result of frame 2: JobCancelledError, the film was dropped
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob, JobCancelledError } from 'jobchart'

const started = Promise.withResolvers<void>()

const render = defineJob<{ frame: number }, void>({
  type: 'render',
  run: async ({ frame }, { signal }) => {
    console.log(`frame ${frame} starts`)
    started.resolve()
    signal.addEventListener('abort', () => console.log(`frame ${frame} ends early: ${signal.reason.code}`))
    await sleep(60_000, undefined, { signal }) // hand the signal on to whatever you wait for
  },
})

const runtime = createRuntime({ jobs: [render], concurrency: 1 })
await runtime.start()

const first = await runtime.enqueue(render, { frame: 1 }, { tags: ['film-7'] })
const second = await runtime.enqueue(render, { frame: 2 }, { tags: ['film-7'] })
await runtime.enqueueMany(render, [{ frame: 3 }, { frame: 4 }], { tags: ['film-7'] })
await started.promise

// By id, by ids, or by what they have in common. Once this has resolved, none of them starts.
const { cancelled, cancelling } = await runtime.cancel({ tag: 'film-7' }, { reason: 'the film was dropped' })
console.log(`cancelled ${cancelled.length}, asked ${cancelling.length} to end`)

await Promise.allSettled([first.result(), second.result()])
for (const job of [first, second]) {
  const { input, state, attempt, cancelReason } = await job.record()
  const { frame } = input as { frame: number }
  console.log(`frame ${frame}: ${state} after ${attempt} attempts, ${cancelReason}`)
}

await second.result().catch((error) => {
  if (error instanceof JobCancelledError) console.log(`the result of frame 2: ${error.name}, ${error.reason}`)
})

await runtime.stop()
