// Tenants share a type: by weight, and each within a rate of its own, whoever enqueued first.
//
// prints:
//   the first nine: acme globex acme acme globex acme acme globex acme
//   mails at once: acme acme globex globex
//   a minute later: acme
import { createRuntime, defineJob } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'

interface Task {
  readonly tenant: string
}

const tasks = (tenant: string, count: number): Task[] => Array.from({ length: count }, () => ({ tenant }))

const reports: string[] = []
const report = defineJob<Task, void>({
  type: 'report',
  concurrencyKey: ({ tenant }) => tenant,
  keyWeight: (tenant) => (tenant === 'acme' ? 2 : 1), // two starts of acme to one of any other tenant
  run: async ({ tenant }) => void reports.push(tenant),
})

const mails: string[] = []
const mail = defineJob<Task, void>({
  type: 'mail',
  concurrencyKey: ({ tenant }) => tenant,
  keyRateLimit: { limit: 2, per: '1m' }, // two starts of each tenant in any minute
  run: async ({ tenant }) => void mails.push(tenant),
})

const clock = new VirtualClock()
const runtime = createRuntime({ jobs: [report, mail], concurrency: 1, clock })
await runtime.enqueueMany(report, tasks('globex', 10))
await runtime.enqueueMany(report, tasks('acme', 10))
await runtime.enqueueMany(mail, [...tasks('acme', 3), ...tasks('globex', 2)])
await runtime.start()

await clock.advance('1s')
console.log('the first nine:', reports.slice(0, 9).join(' '))
console.log('mails at once:', mails.join(' '))

await clock.advance('1m')
console.log('a minute later:', mails.slice(4).join(' '))
await runtime.stop()
