// Jobs in a SQLite file: one process enqueues and is killed, one is killed in the middle of a job, the last one goes
// on.
//
// prints:
//   the shop took 3 orders
//   the shop was killed
//   worker 1 charged order 1
//   worker 1 shipped order 1, attempt 1
//   worker 1 charged order 2
//   worker 1 was killed
//   worker 2 charged order 3
//   worker 2 shipped order 3, attempt 1
//   worker 2 shipped order 2, attempt 2
//   3 orders are done
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'

const who = process.argv[2] ?? 'worker 2'
const store = sqliteStore({ path: 'orders.db' })
const die = (): boolean => process.kill(process.pid, 'SIGKILL')

const ship = defineJob<{ order: number }, void>({
  type: 'ship',
  run: async ({ order }, { step, attempt }) => {
    // The result of a step is kept with the job: the next attempt does not charge again.
    await step('charge', () => console.log(`${who} charged order ${order}`))
    if (who === 'worker 1' && order === 2) die()
    console.log(`${who} shipped order ${order}, attempt ${attempt}`)
  },
})

async function inAProcessOfItsOwn(name: string): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, name], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  if (signal === 'SIGKILL') console.log(`${name} was killed`)
}

if (who === 'the shop') {
  // A client enqueues and looks; it runs nothing.
  const client = createClient({ jobs: [ship], store })
  for (const order of [1, 2, 3]) await client.enqueue(ship, { order }, { id: `order-${order}` })
  console.log('the shop took 3 orders')
  die()
}
if (who === 'worker 2') {
  await inAProcessOfItsOwn('the shop')
  await inAProcessOfItsOwn('worker 1')
}
// Nobody takes a job from a living worker: order 2 is free again when the lease of worker 1 has run out (default 30s).
const runtime = createRuntime({ jobs: [ship], store, concurrency: 1, lease: '2s' })
await runtime.start()
await runtime.drain()
console.log(`${(await runtime.counts()).done} orders are done`)
await runtime.stop()
rmSync('orders.db')
