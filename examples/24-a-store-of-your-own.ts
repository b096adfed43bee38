// A store that is not ours: two runtimes share jobs on a server of keys and values, while every twentieth call of it fails.
//
// prints:
//   100 jobs done, each with its own result
//   both runtimes have run jobs
//   calls failed before they were carried out, and after
import assert from 'node:assert/strict'
import { createRuntime, defineJob } from 'jobchart'
import { KeyValueServer } from './store/server.ts'
import { keyValueStore } from './store/store.ts'

const server = new KeyValueServer(() => Date.now())
const ranBy = new Map<number, string>()
// Each process of an application has a store of its own; here two stand for two processes.
const runtimes = ['one', 'two'].map((name) => {
  const square = defineJob<number, number>({
    type: 'square',
    retry: { maxAttempts: 20 },
    run: async (n) => {
      ranBy.set(n, name)
      return n * n
    },
  })
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  // A claim whose reply was lost is given back when its lease has run out.
  const runtime = createRuntime({ jobs: [square], store: keyValueStore(server), concurrency: 5, lease: '1s', logger })
  return { runtime, square }
})
for (const { runtime } of runtimes) await runtime.start()

server.faultOf = (call) => (call % 20 !== 0 ? null : call % 40 === 0 ? 'before' : 'after')
const numbers = Array.from({ length: 100 }, (_, n) => n)
const results = await Promise.all(
  numbers.map(async (n) => {
    const { runtime, square } = runtimes[n % 2] as (typeof runtimes)[0]
    const job = await runtime.enqueue(square, n)
    return job.result()
  }),
)
server.faultOf = () => null
assert.deepEqual(
  results,
  numbers.map((n) => n * n),
)
console.log(`${results.length} jobs done, each with its own result`)
if (new Set(ranBy.values()).size === 2) console.log('both runtimes have run jobs')
const { before, after } = server.failed
if (before > 0 && after > 0) console.log('calls failed before they were carried out, and after')
for (const { runtime } of runtimes) await runtime.stop()
