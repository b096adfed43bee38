// Weights share the slots among the queues that have work; semaphores bound how much of a type, or of a key, runs at
// once.
//
// prints:
//   the first twelve: mail report import mail report mail mail report import mail report mail
//   exports at once: 2 in all, 1 of a tenant
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineJob } from 'jobchart'

const ran: string[] = []
const queueOf = (type: string, weight: number) =>
  defineJob<{ n: number }, void>({ type, weight, run: async () => void ran.push(type) })

const queues = [queueOf('mail', 3), queueOf('report', 2), queueOf('import', 1)]

// One slot, so that the order of the picks shows.
const oneSlot = createRuntime({ jobs: queues, concurrency: 1 })
const tasks = Array.from({ length: 10 }, (_, n) => ({ n }))
for (const queue of queues) await oneSlot.enqueueMany(queue, tasks)
await oneSlot.start()
await oneSlot.stop({ mode: 'drain' })
console.log('the first twelve:', ran.slice(0, 12).join(' '))

const running: string[] = []
const most = { all: 0, ofOneTenant: 0 }

const exportRows = defineJob<{ tenant: string }, void>({
  type: 'export',
  concurrency: 2, // at once, in all processes together
  concurrencyKey: ({ tenant }) => tenant,
  perKey: 1, // one tenant cannot take both
  run: async ({ tenant }) => {
    running.push(tenant)
    most.all = Math.max(most.all, running.length)
    most.ofOneTenant = Math.max(most.ofOneTenant, running.filter((each) => each === tenant).length)
    await sleep(5)
    running.splice(running.indexOf(tenant), 1)
  },
})

const tenSlots = createRuntime({ jobs: [exportRows], concurrency: 10 })
const tenants = ['acme', 'acme', 'acme', 'globex', 'initech', 'globex']
await tenSlots.enqueueMany(
  exportRows,
  tenants.map((tenant) => ({ tenant })),
)
await tenSlots.start()
await tenSlots.stop({ mode: 'drain' })
console.log(`exports at once: ${most.all} in all, ${most.ofOneTenant} of a tenant`)
