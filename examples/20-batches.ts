// Rows are inserted in bulk, while each of them stays a job: with its own result, its own retries, and a cancel of its
// own.
//
// prints:
//   a full batch at once: ada, bob, cyd
//   after 50 ms: dan, eve
//   a minute later: bob
//   ada: row 1, bob: row 6, cyd: row 3, dan: row 4
//   eve is dead after 1 attempt: there is an eve already
import { constant, defineJob, fatal } from 'jobchart'
import { createTestRuntime } from 'jobchart/testing'

interface Row {
  readonly id: number
  readonly error?: 'busy' | 'duplicate'
}

let rows = 0
let when = 'a full batch at once'

/** A bulk insert that answers row by row, as those of databases and search engines do. */
async function insertAll(names: readonly string[]): Promise<Row[]> {
  console.log(`${when}: ${names.join(', ')}`)
  return names.map((name) => {
    const id = ++rows
    if (name === 'eve') return { id, error: 'duplicate' }
    return name === 'bob' && names.length > 1 ? { id, error: 'busy' } : { id }
  })
}

const insert = defineJob<string, string>({
  type: 'insert',
  retry: { maxAttempts: 3, backoff: constant('1m') },
  batch: {
    size: 3,
    wait: '50ms',
    // For each item its output, or the error with which it has failed.
    run: async (items) =>
      (await insertAll(items.map(({ input }) => input))).map(({ id, error }, i) => {
        if (error === 'duplicate') return fatal(`there is an ${items[i]?.input} already`)
        return error === undefined ? `row ${id}` : new Error(error)
      }),
  },
})

const { runtime, clock } = await createTestRuntime({ jobs: [insert], concurrency: 3 })
const jobs = await runtime.enqueueMany(insert, ['ada', 'bob', 'cyd'])
await clock.settle()
when = 'after 50 ms'
jobs.push(...(await runtime.enqueueMany(insert, ['dan', 'eve'])))
await clock.advance(50)
when = 'a minute later'
await clock.advance('2m')

const [ada, bob, cyd, dan] = await Promise.all(jobs.slice(0, 4).map((job) => job.result()))
console.log(`ada: ${ada}, bob: ${bob}, cyd: ${cyd}, dan: ${dan}`)
const eve = await jobs[4]?.record()
console.log(`eve is ${eve?.state} after ${eve?.attempt} attempt: ${eve?.error?.message}`)
await runtime.stop()
