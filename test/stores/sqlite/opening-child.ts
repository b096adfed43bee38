/** Opens a file when it is told to, puts a job into it, and closes it: `path id`. */
import { once } from 'node:events'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../../src/core/clock.ts'
import { newJob, put } from '../../../src/store-testing/conformance/acts.ts'

const [path = '', id = ''] = process.argv.slice(2)
process.send?.('ready')
await once(process, 'message')
const store = sqliteStore({ path })
await store.open({ clock: systemClock })
await put(store, newJob(id))
await store.close()
process.disconnect()
