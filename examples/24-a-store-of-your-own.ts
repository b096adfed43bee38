// A store of one's own, written from docs/stores.md: two runtimes share the jobs on a server of keys and values, while
// every twentieth call of it fails.
//
// prints:
//   100 jobs done, each with its own result
//   calls failed before they were carried out, and after
import assert from 'node:assert/strict'
import { createRuntime, defineJob } from 'jobchart'
import { KeyValueServer, type Fault } from './store/server.ts'
import { keyValueStore } from './store/store.ts'

const server = new KeyValueServer(() => Date.now())
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const square = defineJob<number, number>({ type: 'square', retry: { maxAttempts: 20 }, run: async (n) => n * n })
// As in two processes, each has a store of its own. A claim whose reply was lost is free when its lease has run out.
const options = { jobs: [square], concurrency: 5, lease: 1_000, logger }
const one = createRuntime({ ...options, store: keyValueStore(server) })
const two = createRuntime({ ...options, store: keyValueStore(server) })
await Promise.all([one.start(), two.start()])

const failed = new Set<Fault>()
server.faultOf = (call) => {
  const fault = call % 20 > 0 ? null : call % 40 === 0 ? 'before' : 'after'
  if (fault !== null) failed.add(fault)
  return fault
}
const numbers = Array.from({ length: 100 }, (_, n) => n)
const results = numbers.map(async (n) => (await (n % 2 === 0 ? one : two).enqueue(square, n)).result())
const squares = numbers.map((n) => n * n)
assert.deepEqual(await Promise.all(results), squares)
console.log(`${results.length} jobs done, each with its own result`)
if (failed.size === 2) console.log('calls failed before they were carried out, and after')
server.faultOf = () => null
await Promise.all([one.stop(), two.stop()])
