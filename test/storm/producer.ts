/**
 * A producer process of the storm. It does its share of the tasks, a handful at a time and evenly over the run; one
 * that was killed is followed by one that does the last handful again, as anybody would who does not know what became
 * of it.
 */
import { createClient, type Client } from 'jobchart'
import { sleep } from '../harness/sleep.ts'
import { definitions, pausable } from './jobs.ts'
import { member } from './member.ts'
import { Driver } from './machines/drive.ts'
import { machineJobs } from './machines/jobs.ts'
import { noLedger } from './machines/ledger.ts'
import { machineTaskOf } from './machines/plan.ts'
import { productionMs, taskOf, tasksOf, turnOf, type Task } from './plan.ts'

/** Machines take longer: they are told one thing after the other. */
const [handful, handfulOfMachines] = [10, 30]
const pauseMs = 300

const { assignment, store, logger, tell } = member()
const { options, from, startedAt } = assignment
const machineTypes = machineJobs(noLedger)
const client = createClient({ jobs: [...definitions, ...machineTypes.all], store, logger })
const driver = new Driver(client, machineTypes.byKind, surely, logger)
const byType = new Map(definitions.map((job) => [job.type, job]))

/** Until it is done: every call is safe to repeat. */
async function surely(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      logger.warn('a call failed; again', { error })
      await sleep(100)
    }
  }
}

async function enqueue({ type, input, options: how }: Task): Promise<void> {
  const job = byType.get(type)
  if (job === undefined) throw new TypeError(`there is no job ${type}`)
  await surely(() => client.enqueue(job, input, how))
}

async function act(on: Client, { act: what }: Task): Promise<void> {
  if (what === null) return
  if (what.kind === 'cancel') return surely(() => on.cancel(what.ids, { reason: 'storm' }))
  if (what.kind === 'retry') return surely(() => on.retry(what.ids))
  await surely(() => on.queue(pausable).pause())
  await sleep(pauseMs)
  await surely(() => on.queue(pausable).resume())
}

// The process before this one may have died in the middle of a pause.
await surely(() => client.queue(pausable).resume())
tell({ ready: assignment.name })
const all = tasksOf(options)
const share = (options.machines > 0 ? handfulOfMachines : handful) * options.producers
for (let n = from; n < all; n += share) {
  const numbers = Array.from({ length: share / options.producers }, (_, i) => n + i * options.producers)
  await sleep(Math.max(0, startedAt + (productionMs(options) * n) / all - Date.now()))
  const turns = numbers.filter((each) => each < all).map((each) => turnOf(each, options))
  const tasks = turns.filter(({ kind }) => kind === 'job').map(({ number }) => taskOf(number, options))
  const machines = turns.filter(({ kind }) => kind === 'machine').map(({ number }) => machineTaskOf(number, options))
  const driven = Promise.all(machines.map((task) => driver.drive(task)))
  await Promise.all(tasks.map(enqueue))
  await Promise.all(tasks.map((task) => act(client, task)))
  await driven
  tell({ doneBelow: n + share })
}
tell({ doneBelow: all })
await client.close()
// The line to the storm must not keep the process.
process.channel?.unref()
