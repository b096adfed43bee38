// A deploy sends SIGTERM: no new jobs are taken, all that is queued still runs, and the process ends by itself.
//
// prints:
//   idle
//   starting
//   running
//   draining
//   page 6 is refused: STOPPED
//   printed page 1
//   printed page 2
//   printed page 3
//   printed page 4
//   printed page 5
//   stopping
//   stopped
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob, JobchartError } from 'jobchart'

const print = defineJob<{ page: number }, void>({
  type: 'print',
  run: async ({ page }) => {
    await sleep(20)
    console.log(`printed page ${page}`)
  },
})

const runtime = createRuntime({ jobs: [print], concurrency: 1 })

// `drain` runs all that is queued · `finish` only what runs already · a second signal aborts.
runtime.stopOn(['SIGTERM', 'SIGINT'], { mode: 'drain', timeout: '30s' })

runtime.state$.subscribe((state) => {
  console.log(state)
  if (state === 'draining') tooLate()
})

function tooLate(): void {
  runtime.enqueue(print, { page: 6 }).catch((error) => {
    if (error instanceof JobchartError) console.log(`page 6 is refused: ${error.code}`)
  })
}

await runtime.start()
await runtime.enqueueMany(
  print,
  [1, 2, 3, 4, 5].map((page) => ({ page })),
)

// What the process manager does.
process.kill(process.pid, 'SIGTERM')
