// A job at each tick of a schedule: cron texts, intervals, time zones, overlaps and what was missed.
//
// prints:
//   zurich: 2026-01-01T02:00:00.000Z 2026-01-02T02:00:00.000Z
//   reports: nightly@2026-01-01T02:00:00Z
//   backups: 4, left out: 4
//   the process is gone for three days
//   nightly: 2 missed, last 2026-01-04T02:00:00.000Z
//   triggered: done
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'

const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
const store = memoryStore()
const report = defineJob<{ kind: string }>({ type: 'report', run: async () => {} })
const backup = defineJob<void>({ type: 'backup', run: (_, { signal }) => clock.sleep('4h', signal) })

const options = { jobs: [report, backup], store, clock }
const runtime = createRuntime(options)
await runtime.start()

// Every day at 3 in the morning in Zurich. Seconds come first when there are six fields.
const zone = { timezone: 'Europe/Zurich' }
const nightly = await runtime.schedule('nightly', '0 0 3 * * *', report, { kind: 'sales' }, zone)
console.log('zurich:', (await nightly.nextRuns(2)).map((date) => date.toISOString()).join(' '))

// A backup takes four hours: every second tick finds one that has not ended, and is left out.
const backups = await runtime.schedule('backup', '@every 3h', backup, undefined, { overlap: 'skip' })

await clock.advance('1d')
const reports = await runtime.list({ type: 'report' })
console.log('reports:', reports.map(({ id }) => id).join(' '))
const { fired, skipped } = await backups.record()
console.log(`backups: ${fired}, left out: ${skipped}`)
await backups.remove()

console.log('the process is gone for three days')
const stopped = runtime.stop({ mode: 'abort' })
await clock.advance('3d')
await stopped

// What was missed meanwhile is counted, and the last of it is caught up with.
const later = createRuntime(options)
await later.start()
await clock.advance('1s')
const again = await later.schedule('nightly', '0 0 3 * * *', report, { kind: 'sales' }, zone)
const { missed, last } = await again.record()
console.log(`nightly: ${missed} missed, last ${new Date(last?.at ?? 0).toISOString()}`)

const job = await again.trigger()
await job.result()
console.log('triggered:', (await job.record()).state)
await later.stop({ mode: 'abort' })
