/** What a worker does beside open dashboards: served by its own process in memory, by another one in a file. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createRuntime, defineJob } from '../../src/index.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import type { Input } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { storeIn } from '../harness/stores.ts'
import { timed, type Timed } from '../harness/timed.ts'
import { fill } from '../memory/fill.ts'

export interface DashboardsParams {
  readonly readers: number
  readonly jobs: number
  readonly path?: string
}

const types = 5
/** Jobs that are enqueued before the next ones wait for their end. */
const wave = 10_000

/** The CPU time is that of the worker's process. @throws NotVerified unless each job has run once */
export async function measure({ readers, jobs: count, path }: DashboardsParams): Promise<Timed> {
  let ledger = new Ledger(0)
  const jobs = Array.from({ length: types }, (_, i) =>
    defineJob<Input, void>({ type: `t${i}`, run: async ({ i: job }) => ledger.mark(job) }),
  )
  const runtime = createRuntime({ jobs, ...(await storeIn(path)), concurrency: 100 })
  await runtime.start()
  const children: ChildProcess[] = []
  const child = async (module: string, ...args: string[]): Promise<string> => {
    const started = fork(fileURLToPath(new URL(module, import.meta.url)), args)
    children.push(started)
    const [answer] = (await once(started, 'message')) as [string]
    return answer
  }
  const own = path === undefined ? await createDashboard({ runtime }).listen() : null
  const url = own?.url ?? (await child('dashboard.ts', path ?? ''))
  if (readers > 0) await child('readers.ts', `${url}api/v1/events`, String(readers))
  const work = async (amount: number): Promise<void> => {
    for (let done = 0; done < amount; done += ledger.jobs) {
      ledger = new Ledger(Math.min(wave, amount - done))
      await fill(runtime, jobs, { count: ledger.jobs })
      await runtime.drain()
      ledger.verify()
    }
  }
  await work(Math.ceil(count / 2))
  const took = await timed(count, () => work(count))
  for (const each of children) each.kill()
  await own?.close()
  await runtime.stop()
  return took
}
