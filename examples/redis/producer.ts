// A producer enqueues, and waits for the results: it runs nothing itself.
import { createClient } from 'jobchart'
import { store, thumbnail } from './jobs.ts'

const client = createClient({ jobs: [thumbnail], store: store() })
const jobs = await client.enqueueMany(
  thumbnail,
  Array.from({ length: 20 }, (_, image) => ({ image })),
)
const results = await Promise.all(jobs.map((job) => job.result()))
console.log(`producer: ${results.length} thumbnails`)

const claims = (await client.list({ fields: ['attempt'] })).map(({ attempt }) => attempt)
console.log(`producer: each in one attempt: ${claims.every((attempt) => attempt === 1)}`)
await client.close()
