/** Starts a bulk retry on a file, and dies after some batches: `path batches`. */
import { createClient } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'

const [path = '', batches] = process.argv.slice(2)
const client = createClient({ store: sqliteStore({ path }) })
let count = 0
await client.bulk.run(
  { kind: 'retry', filter: { type: 'mail', state: 'dead' } },
  {
    onBatch() {
      if (++count === Number(batches)) process.kill(process.pid, 'SIGKILL')
    },
  },
)
