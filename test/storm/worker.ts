/** A worker process of the storm: a runtime like any other, which is not asked how it feels about dying. */
import { createRuntime, JobchartError } from 'jobchart'
import { recordRuns } from 'jobchart/store-testing'
import { definitions } from './jobs.ts'
import { machineJobs } from './machines/jobs.ts'
import { ledgerFile } from './machines/ledger.ts'
import { graceMs, member, unavailableCode, type Order } from './member.ts'

const { assignment, store, sink, logger, tell } = member()
const { folder, options } = assignment
const { leaseMs, jobs, machines } = options

const keepAll = { age: '1d', count: jobs + 5 * machines + 10_000 } as const
const runtime = createRuntime({
  jobs: machines === 0 ? definitions : [...definitions, ...machineJobs(ledgerFile(folder, assignment.name)).all],
  store,
  logger,
  name: assignment.name,
  concurrency: 10,
  lease: leaseMs,
  grace: graceMs,
  middleware: [recordRuns(sink)],
  retention: { done: keepAll, dead: keepAll, cancelled: keepAll },
})
runtime.stopOn(['SIGTERM'], { mode: 'abort', grace: graceMs, timeout: graceMs })

process.on('message', ({ block }: Order) => {
  if (block !== undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, block)
})

try {
  await runtime.start()
  tell({ ready: runtime.id })
} catch (error) {
  const code = error instanceof JobchartError ? error.code : null
  // A stopped process may hold the store; whoever starts services tries again.
  if (code === 'STORE_UNAVAILABLE') process.exit(unavailableCode)
  // It was terminated while it started: the stop goes on, and ends the process.
  if (code !== 'STOPPED') throw error
}
// A runtime that has stopped ends its process; the line to the storm must not keep it.
process.channel?.unref()
