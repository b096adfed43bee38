/** A worker that runs jobs of a type until it is killed: `url prefix slots jobMs`. Tells which jobs have started. */
import { createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'

const [url = '', prefix = '', slots = '', jobMs = ''] = process.argv.slice(2)
const started: string[] = []
const mail = defineJob<null>({
  type: 'mail',
  run: async (_, { job }) => {
    started.push(job.id)
    await new Promise((resolve) => setTimeout(resolve, Number(jobMs)))
  },
})
const runtime = createRuntime({ jobs: [mail], store: redisStore({ url, prefix }), concurrency: Number(slots) })
process.on('message', (message) => {
  if (message === 'started?') process.send?.(started)
})
process.once('disconnect', () => process.exit())
await runtime.start()
process.send?.('runs')
