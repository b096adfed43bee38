/**
 * A producer process of the storm. It does its share of the tasks, a handful at a time and evenly over the run; one that was
 * killed is followed by one that does the last handful again, as anybody would who does not know what became of it.
 */
import { createClient, type Client } from 'jobchart'
import { definitions, pausable, sleep } from './jobs.ts'
import { member } from './member.ts'
import { productionMs, taskOf, type Task } from './plan.ts'

const handful = 10
const pauseMs = 300

const { assignment, store, logger, tell } = member()
const { options, from, startedAt } = assignment
const client = createClient({ jobs: definitions, store, logger })
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
for (let n = from; n < options.jobs; n += handful * options.producers) {
  const numbers = Array.from({ length: handful }, (_, i) => n + i * options.producers)
  const tasks = numbers.filter((each) => each < options.jobs).map((each) => taskOf(each, options))
  await sleep(Math.max(0, startedAt + (productionMs(options) * n) / options.jobs - Date.now()))
  await Promise.all(tasks.map(enqueue))
  await Promise.all(tasks.map((task) => act(client, task)))
  tell({ doneBelow: n + handful * options.producers })
}
tell({ doneBelow: options.jobs })
await client.close()
// The line to the storm must not keep the process.
process.channel?.unref()
