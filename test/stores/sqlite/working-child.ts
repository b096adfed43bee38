/** A runtime that works on the queue of a file until it is empty, and tells its history: `path`. */
import { once } from 'node:events'
import { createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { recordingStore, recordRuns, type HistoryLine } from 'jobchart/store-testing'

const lines: HistoryLine[] = []
const sink = (line: HistoryLine): void => void lines.push(line)
const store = recordingStore(sqliteStore({ path: process.argv[2] ?? '' }), sink)
// The jobs bring their keys with them.
const concurrencyKey = (): null => null
const runtime = createRuntime({
  jobs: [
    defineJob({ type: 'mail', concurrency: 12, concurrencyKey, perKey: 3, run: async () => new Promise(setImmediate) }),
  ],
  store,
  concurrency: 10,
  middleware: [recordRuns(sink)],
})
process.send?.('ready')
await once(process, 'message')
await runtime.start()
for (;;) {
  const { queued, running } = await store.counts()
  if (queued + running === 0) break
  await new Promise((resolve) => setTimeout(resolve, 20))
}
await runtime.stop()
process.send?.({ lines }, () => process.disconnect())
