/** Machines per second: five states each, as durable jobs, or as live XState actors, which are not stored. */
import { join } from 'node:path'
import { createActor, waitFor } from 'xstate'
import { createRuntime, defineJob } from '../../src/index.ts'
import { removeDatabase } from '../harness/disk.ts'
import { Ledger } from '../harness/ledger.ts'
import { storeIn } from '../harness/stores.ts'
import { timed, type Timed } from '../harness/timed.ts'
import { warmUp } from '../harness/warm-up.ts'
import { fiveStates } from './charts.ts'

export interface MachinesParams {
  /** Live actors, or jobs in memory or in a file of this folder. */
  readonly as: 'actors' | 'jobs'
  readonly folder?: string
  readonly slots: number
  readonly jobs: number
}

export interface MachinesResult extends Timed {
  readonly passes: number
}

const warmUpPart = 5

/** @throws NotVerified unless each machine has come to its end once, with its own output */
export async function measure(params: MachinesParams): Promise<MachinesResult> {
  const once = params.as === 'actors' ? actors : jobs
  const less = { ...params, jobs: Math.ceil(params.jobs / warmUpPart) }
  const passes = await warmUp(async () => (await once(less)).cpuMicrosPerJob)
  return { ...(await once(params)), passes }
}

async function actors({ jobs: count, slots }: MachinesParams): Promise<Timed> {
  const machine = fiveStates()
  const ledger = new Ledger(count)
  let next = 0
  const slot = async (): Promise<void> => {
    while (next < count) {
      const actor = createActor(machine, { input: { i: next++ } }).start()
      const { output } = await waitFor(actor, ({ status }) => status === 'done')
      ledger.mark((output as { readonly i: number }).i)
    }
  }
  const figures = await timed(count, () => Promise.all(Array.from({ length: slots }, slot)))
  ledger.verify()
  return figures
}

async function jobs({ jobs: count, slots, folder }: MachinesParams): Promise<Timed> {
  const path = folder === undefined ? undefined : join(folder, `${process.pid}.db`)
  const job = defineJob({ type: 'five', machine: fiveStates() })
  const runtime = createRuntime({
    jobs: [job],
    ...(await storeIn(path)),
    concurrency: 0,
    retention: { done: { count: 1_000_000 } },
  })
  await runtime.start()
  const inputs = Array.from({ length: count }, (_, i) => ({ i }))
  const ledger = new Ledger(count)
  for (let first = 0; first < count; first += 1_000) {
    await runtime.enqueueMany(job, inputs.slice(first, first + 1_000))
  }
  const figures = await timed(count, async () => {
    runtime.concurrency = slots
    await runtime.drain()
  })
  for (let after: string | undefined; ;) {
    const page = await runtime.list({ state: 'done', limit: 1_000, ...(after !== undefined && { after }) })
    for (const { output } of page) ledger.mark((output as { readonly i: number }).i)
    after = page.next
    if (after === undefined) break
  }
  ledger.verify()
  await runtime.stop()
  if (path !== undefined) await removeDatabase(path)
  return figures
}
