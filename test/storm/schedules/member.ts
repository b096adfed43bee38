/** A process of a schedule storm: a runtime that declares the schedules and fires them: `path ledger`. Ends on SIGTERM. */
import { createRuntime } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { schedulesOf, tickJob } from './plan.ts'

const [path = '', ledger = ''] = process.argv.slice(2)
const job = tickJob(ledger)
const runtime = createRuntime({
  jobs: [job],
  schedules: schedulesOf(job),
  store: sqliteStore({ path }),
  lease: '2s',
})
runtime.stopOn('SIGTERM', { timeout: '5s' })
await runtime.start()
process.send?.('ready')
process.disconnect()
