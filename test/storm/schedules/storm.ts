/**
 * Several processes fire the same schedules on one store, and some are killed. In the end each tick between the first
 * and the last must have made one job, and each job must have run: once, unless the process that ran it was killed.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { sleep } from '../../harness/sleep.ts'
import { createClient, type JobRecord, type ScheduleRecord, type Store } from 'jobchart'
import { seededRandom } from '../../../src/core/clock.ts'
import { readLedger } from '../../harness/ledger.ts'
import { forkProgram } from '../../harness/processes.ts'
import { promiseRows, spreadOf, type Broken, type PromiseRow, type Spread } from '../../harness/report.ts'
import { StormServer } from '../server.ts'
import { storeNamed } from '../stores.ts'
import { everySeconds, tickJob, type Run } from './plan.ts'

export interface ScheduleStormOptions {
  /** Of the stores of storms; redis is on a server of its own. */
  readonly store: string
  readonly folder: string
  readonly processes: number
  readonly seconds: number
  /** 0 = nobody is killed. */
  readonly killEverySeconds: number
  readonly seed: number
}

export interface ScheduleStormReport {
  readonly ticks: Readonly<Record<string, number>>
  readonly killed: number
  readonly runs: number
  /** From the tick to the ENQUEUE, ms. */
  readonly lateMs: Spread
  readonly broken: readonly Broken[]
  readonly promises: readonly PromiseRow[]
}

const promises = {
  tick: 'each tick from the first to the last has made one job',
  run: 'each job has run, once unless its process was killed',
} as const

export async function stormSchedules(options: ScheduleStormOptions): Promise<ScheduleStormReport> {
  const server = isServer(options.store) ? await StormServer.start(options.folder, options.store) : null
  try {
    return await storm(options)
  } finally {
    await server?.end()
  }
}

const isServer = (store: string): boolean => store === 'redis' || store === 'postgres'

async function storm(options: ScheduleStormOptions): Promise<ScheduleStormReport> {
  const { store, folder, processes, seconds, killEverySeconds, seed } = options
  const ledgers: string[] = []
  const start = async (): Promise<ChildProcess> => {
    const ledger = join(folder, `ledger-${ledgers.length}.txt`)
    ledgers.push(ledger)
    const child = forkProgram(new URL('member.ts', import.meta.url), [store, folder, ledger])
    await once(child, 'message')
    return child
  }
  const random = seededRandom(seed)
  const fleet = await Promise.all(Array.from({ length: processes }, start))
  let killed = 0
  const until = performance.now() + seconds * 1_000
  const stepMs = killEverySeconds === 0 ? seconds * 1_000 : killEverySeconds * 1_000
  for (let next = performance.now() + stepMs; next < until; next += stepMs) {
    await sleep(next - performance.now())
    const place = Math.floor(random() * fleet.length)
    fleet[place]?.kill('SIGKILL')
    killed++
    fleet[place] = await start()
  }
  await sleep(Math.max(0, until - performance.now()))
  await Promise.all(fleet.map(end))
  return { ...(await verdict(storeNamed(store)(folder), ledgers, killed)), killed }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function verdict(
  store: Store,
  ledgers: readonly string[],
  killed: number,
): Promise<Omit<ScheduleStormReport, 'killed'>> {
  const client = createClient({ jobs: [tickJob('')], store })
  const jobs: JobRecord[] = []
  for (let after: string | undefined, more = true; more;) {
    const page = await client.list({ limit: 1_000, ...(after !== undefined && { after }) })
    jobs.push(...page)
    after = page.next
    more = after !== undefined
  }
  const schedules = await client.schedules()
  await client.close()
  const runs = ledgers.flatMap((path) => readLedger<Run>(path))
  const brokenAs = (promise: keyof typeof promises, faults: readonly string[]): Broken[] =>
    faults.map((message) => ({ promise, message, evidence: [] }))
  const tickBroken = schedules.flatMap((each) => brokenAs('tick', tickFaults(each, jobs)))
  const broken = [...tickBroken, ...brokenAs('run', runFaults(jobs, runs, killed))]
  return {
    ticks: Object.fromEntries(schedules.map(({ name, fired }) => [name, fired])),
    runs: runs.length,
    lateMs: spreadOf(jobs.map(({ id, enqueuedAt }) => enqueuedAt - tickOf(id))),
    broken,
    promises: promiseRows(promises, broken),
  }
}

const tickOf = (id: string): number => Date.parse(id.slice(id.indexOf('@') + 1))

/** Each tick from the first to the last has one job, and the record counts as many. */
function tickFaults({ name, fired, missed, last }: ScheduleRecord, jobs: readonly JobRecord[]): string[] {
  const ticks = jobs.filter(({ id }) => id.startsWith(`${name}@`)).map(({ id }) => tickOf(id))
  const stepMs = (everySeconds[name] ?? 0) * 1_000
  const sorted = ticks.toSorted((a, b) => a - b)
  const faults = sorted.flatMap((tick, i) => {
    const before = sorted[i - 1] ?? tick - stepMs
    if (tick - before === stepMs) return []
    return [`${name}: from ${new Date(before).toISOString()} the next job is that of ${new Date(tick).toISOString()}`]
  })
  if (fired !== ticks.length) faults.push(`${name}: ${fired} fired, ${ticks.length} jobs`)
  if (missed !== 0) faults.push(`${name}: ${missed} missed`)
  if (last?.at !== sorted.at(-1))
    faults.push(`${name}: the last tick is ${last?.at}, that of the jobs ${sorted.at(-1)}`)
  return faults
}

/** Each job has run; more than once at most as often as a process was killed. */
function runFaults(jobs: readonly JobRecord[], runs: readonly Run[], killed: number): string[] {
  const ids = runs.map(({ id }) => id)
  const ran = new Set(ids)
  const faults = jobs.filter(({ id, state }) => state === 'done' && !ran.has(id)).map(({ id }) => `${id} did not run`)
  const again = ids.length - ran.size
  // A process runs ten jobs at once.
  if (again > 10 * killed) faults.push(`${again} runs were repeated, with ${killed} processes killed`)
  return faults
}
