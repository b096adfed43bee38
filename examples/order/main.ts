/**
 * Orders as machine jobs: any number of processes on one SQLite file, each of which may be killed at any instant and
 * started again. What they do to the world outside they write into a ledger.
 *
 *   node --conditions=@jobchart/source examples/order/main.ts --db path --ledger path --orders N [--work] [--lease ms]
 *
 * Every process enqueues the orders `order-1` … `order-N` (those that are there stay), approves those that are to be
 * approved by an event, waits until all have ended, prints one line and exits with 0:
 *
 *   12 orders have ended: 12 done, 0 dead, 0 cancelled; 10 shipped, 2 refunded; 6 approved, 6 by their timer
 *
 * With `--work` it also does the work. Even orders are approved by an event, odd ones by a timer of 300 to 1,200 ms;
 * every fifth has no address, and is charged, and refunded. Each ledger line is JSON: { at, order, key, what, pid, … },
 * see ledger.ts. The lease (default 2,000 ms) says how soon the work of a killed process is taken up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createClient, createRuntime, JobchartError, type Client } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { Effects } from './effects.ts'
import { Ledger } from './ledger.ts'
import { orderJobs } from './machine.ts'
import type { Order } from './order.ts'

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: 'orders.db' },
    ledger: { type: 'string', default: 'ledger.jsonl' },
    orders: { type: 'string', default: '12' },
    work: { type: 'boolean', default: false },
    lease: { type: 'string', default: '2000' },
  },
})
const orderCount = Number(values.orders)
const ledger = new Ledger(values.ledger)
const { order, email } = orderJobs(new Effects(ledger))
const jobs = [order, email]
const store = sqliteStore({ path: values.db })

const orderOf = (n: number): Order => ({
  id: `order-${n}`,
  pounds: n,
  address: n % 5 === 0 ? '' : `${n} Main Street`,
  approvedBy: n % 2 === 0 ? 'event' : 'timer',
  patienceMs: n % 2 === 0 ? 3_600_000 : 300 + 100 * (n % 10),
})

/** Their ids are their own, so that whoever comes later adds none. */
async function enqueueAll(client: Client): Promise<void> {
  const all = Array.from({ length: orderCount }, (_, i) => orderOf(i + 1))
  while (all.length > 0)
    await Promise.all(all.splice(0, 100).map((each) => client.enqueue(order, each, { id: each.id })))
}

/** Each is approved once: the key says that it is the same event, whichever process sends it. */
async function approve(client: Client): Promise<void> {
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const page = await client.list({
      type: order.type,
      state: 'waiting',
      limit: 1_000,
      ...(after !== undefined && { after }),
    })
    for (const { id, input } of page) {
      if ((input as unknown as Order).approvedBy === 'event') await approveOne(client, id)
    }
    after = page.next ?? undefined
  }
}

async function approveOne(client: Client, id: string): Promise<void> {
  try {
    await client.send(id, { type: 'APPROVE' }, { key: 'approval' })
  } catch (error) {
    // It has gone on, or is on its way to where it waits: the next look tells.
    if (!(error instanceof JobchartError) || error.code !== 'NOT_ACCEPTED') throw error
  }
}

async function untilAllHaveEnded(client: Client): Promise<string> {
  for (;;) {
    const { done = 0, dead = 0, cancelled = 0 } = (await client.counts()).types[order.type] ?? {}
    if (done + dead + cancelled >= orderCount) return `${done} done, ${dead} dead, ${cancelled} cancelled`
    await approve(client)
    await sleep(50)
  }
}

const kept = { age: '365d', count: 1_000_000 } as const
const retention = { done: kept, dead: kept, cancelled: kept }
const settings = { jobs, store, lease: Number(values.lease), retention }
const runtime = values.work ? createRuntime(settings) : null
const client = runtime ?? createClient({ jobs, store })
await runtime?.start()
await enqueueAll(client)
const ends = await untilAllHaveEnded(client)
const shipped = ledger.count(({ state }) => state === 'shipped')
const refunded = ledger.count(({ state }) => state === 'refunded')
const approved = ledger.count(({ what }) => what === 'approved')
const fired = ledger.count(({ what }) => what === 'fired')
console.log(
  `${orderCount} orders have ended: ${ends}; ${shipped} shipped, ${refunded} refunded; ${approved} approved, ${fired} by their timer`,
)
await client[Symbol.asyncDispose]()
