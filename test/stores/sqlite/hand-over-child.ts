/** A runtime with one slot in a process of its own, whose runs end when it is told so: `path`. */
import { createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'

const ends: (() => void)[] = []
const job = defineJob<number, void>({
  type: 'handed',
  capacity: 0,
  run: (n) => {
    process.send?.(n)
    return new Promise((resolve) => void ends.push(resolve))
  },
})
const runtime = createRuntime({ jobs: [job], store: sqliteStore({ path: process.argv[2] ?? '' }), concurrency: 1 })
process.on('message', (word) => {
  if (word === 'end') ends.shift()?.()
  else void runtime.stop().then(() => process.disconnect())
})
await runtime.start()
process.send?.('ready')
