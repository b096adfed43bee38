// The same in every process: the jobs, and where they are kept.
import { defineJob, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'

/** Two thumbnails at once over all processes. */
export const thumbnail = defineJob<{ image: number }, number>({
  type: 'thumbnail',
  concurrency: 2,
  async run({ image }) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return image
  },
})

/** The address of the server and the prefix of the keys are handed to each process. */
export function store(): Store {
  const [url = '', prefix = ''] = process.argv.slice(2)
  return redisStore({ url, prefix })
}
