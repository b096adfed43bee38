/**
 * A process of its own that works on a store: `sqlite PATH`, or `redis URL PREFIX`. Its job reports what it is told to.
 */
import { once } from 'node:events'
import { createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'

/** `at` is when it was reported; ms of the clock of this computer. */
export interface Report {
  readonly at: number
}

const [kind, place = '', prefix = ''] = process.argv.slice(2)
const store = kind === 'sqlite' ? sqliteStore({ path: place }) : redisStore({ url: place, prefix })

const reporting = defineJob<null>({
  type: 'reporting',
  run: async (_, { checkin, log, signal }) => {
    process.on('message', (told) => {
      if (told === 'checkin') checkin({ at: Date.now() })
      else log(`reported at ${Date.now()}`)
    })
    await once(signal, 'abort')
  },
})
const runtime = createRuntime({ jobs: [reporting], store })
await runtime.start()
await runtime.enqueue(reporting, null, { id: 'reporting-1' })
process.on('disconnect', () => void runtime.stop({ mode: 'abort' }).then(() => process.exit(0)))
