/** Many machines that are due at once: how fast they wake, go on and end. */
import { createRuntime, defineJob } from '../../src/index.ts'
import { NotVerified } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { sleeper } from './charts.ts'

export interface HerdParams {
  readonly machines: number
  /** Their deadlines lie evenly in so many ms. */
  readonly overMs: number
  readonly slots: number
  readonly location: StoreLocation
}

export interface HerdResult {
  /** From the first deadline to the last action after one. */
  readonly wokenPerSecond: number
  /** ms between the deadline and the action after it. */
  readonly late: Spread
  /** CPU time of the process from the first deadline on, all threads. */
  readonly cpuMicrosPerJob: number
}

const batch = 1_000
/** Deadlines of the machines that are parked first, to see how long that takes. */
const farMs = 86_400_000

/** @throws NotVerified unless all are parked before the first deadline, and each wakes once */
export async function measure({ machines, overMs, slots, location }: HerdParams): Promise<HerdResult> {
  const lateMs: number[] = []
  const over = Promise.withResolvers<void>()
  const job = defineJob({
    type: 'sleeper',
    machine: sleeper((at) => {
      lateMs.push(Date.now() - at)
      if (lateMs.length === machines) over.resolve()
    }),
  })
  const runtime = createRuntime({ jobs: [job], store: await storeAt(location), concurrency: slots })
  await runtime.start()
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  const parked = async (count: number, first: number): Promise<void> => {
    while ((await runtime.counts()).waiting < count) {
      if (Date.now() >= first) throw new NotVerified('not all machines were parked before the first was due')
      await sleep(100)
    }
  }
  const startedAt = Date.now()
  await runtime.enqueueMany(
    job,
    Array.from({ length: batch }, () => ({ at: startedAt + farMs })),
  )
  await parked(batch, startedAt + farMs)
  // Twice the time that the parking of the others takes at this rate.
  const first = Date.now() + 5_000 + 2 * (Date.now() - startedAt) * (machines / batch)
  for (let begin = 0; begin < machines; begin += batch) {
    const inputs = Array.from({ length: Math.min(batch, machines - begin) }, (_, i) => ({
      at: Math.round(first + ((begin + i) / machines) * overMs),
    }))
    await runtime.enqueueMany(job, inputs)
  }
  await parked(batch + machines, first)
  await sleep(first - Date.now())
  const cpu = process.cpuUsage()
  await over.promise
  const { user, system } = process.cpuUsage(cpu)
  const wokenPerSecond = (machines / (Date.now() - first)) * 1_000
  await runtime.stop()
  if (lateMs.length !== machines) throw new NotVerified(`${lateMs.length} wakes of ${machines} machines`)
  return { wokenPerSecond, late: spread(lateMs), cpuMicrosPerJob: (user + system) / machines }
}
