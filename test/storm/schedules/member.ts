/**
 * A process of a schedule storm: a runtime that declares the schedules and fires them: `store folder ledger`. Ends on
 * SIGTERM.
 */
import { createRuntime } from 'jobchart'
import { storeNamed } from '../stores.ts'
import { schedulesOf, tickJob } from './plan.ts'

const [store = '', folder = '', ledger = ''] = process.argv.slice(2)
const job = tickJob(ledger)
const runtime = createRuntime({
  jobs: [job],
  schedules: schedulesOf(job),
  store: storeNamed(store)(folder),
  lease: '2s',
})
runtime.stopOn('SIGTERM', { timeout: '5s' })
await runtime.start()
process.send?.('ready')
process.disconnect()
