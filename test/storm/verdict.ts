/** The verdict on a storm: what the histories prove, and what only a storm can know. */
import { join } from 'node:path'
import type { JobRecord, Store } from 'jobchart'
import {
  checkHistory,
  finalState,
  invariants,
  readHistory,
  type HistoryFigures,
  type HistoryLine,
  type Loss,
  type Violation,
} from 'jobchart/store-testing'
import type { NewJob, RetentionPolicy, StateCounts } from '../../src/store.ts'
import { backMs, judgeBack, type Back } from './back.ts'
import { promiseRows, type Broken, type PromiseRow } from '../harness/report.ts'
import type { StormOptions } from './command.ts'
import type { Fleet } from './fleet.ts'
import type { Tally } from './tally.ts'
import { definitions, poisonAttempts, poisonType } from './jobs.ts'
import { machinePromises } from './machines/promises.ts'
import { judgeMachines, type MachineFigures } from './machines/verdict.ts'
import { graceMs } from './member.ts'
import { uniqueKeys, uniqueTypes } from './plan.ts'

export interface Verdict {
  readonly options: StormOptions
  /** Each promise with how often it was broken. */
  readonly promises: readonly PromiseRow[]
  /** What was broken, with the evidence; not all of many. */
  readonly broken: readonly Broken[]
  readonly figures: HistoryFigures &
    Tally & { readonly durationMs: number; readonly drainMs: number; readonly dead: number; readonly poison: number }
  /** null: the server of the store was not killed. */
  readonly back: Back | null
  /** null: there were none. */
  readonly machines: MachineFigures | null
  readonly folder: string
}

export interface Storm {
  readonly options: StormOptions
  readonly folder: string
  /** Recorded, like everybody's. */
  readonly store: Store
  readonly fleet: Fleet
  /** When its server has lost what it had acknowledged. */
  readonly losses: readonly Loss[]
  readonly durationMs: number
  /** Of it, how long everything took to drain when nothing befell anybody any more. */
  readonly drainMs: number
}

/** What was promised of the jobs of a dead worker: to start again within their lease and this. */
const promisedMs = 5_000

/**
 * How late a handler may start after the answer to a cancel or a pause: the window of the file, and a moment without a
 * turn.
 */
const startMs = 500

/**
 * What is still to come when nobody is killed any more: a poison's three lives beside a job, and timers one after the
 * other.
 */
const livesMax = 3
const backoffMsMax = 500
const timersMsMax = 3_000

const own = {
  poison: 'poison is dead at exactly maxAttempts',
  stop: `SIGTERM ends a process within ${graceMs} ms + 1 s, and costs no attempt`,
  end: 'no process ends by itself',
  drain: 'afterwards all machines drain in the time of leases, rescues, backoffs and timers',
} as const

/** Of a store whose server is killed. */
const ofServer = {
  back: `all workers have an answer again within ${backMs / 1_000} s of the return of their server`,
  listed: 'all workers are listed in the end',
} as const

export async function judge({ options, folder, store, fleet, losses, durationMs, drainMs }: Storm): Promise<Verdict> {
  const all = options.machines === 0 ? null : (await finalState(store)).records
  const machines = all && (await judgeMachines(store, options, folder, all))
  await freeKeys(store)
  await pruneSome(store)
  const final = await finalState(store)
  const limits = Object.fromEntries(definitions.map((job) => [job.type, job.limits]))
  // A stopped process may hold the store, and nobody can take anything back; nor can a machine that was paused.
  const isFree = options.zombies === 0 && options.restarts === 0 && fleet.tally.pauses === 0
  const rescueMs = promisedMs + fleet.tally.unattendedMs
  const lines = readHistory(join(folder, 'history'))
  const asked = { final, limits, losses, ...(isFree && { rescueMs, startMs }) }
  const { violations, counts, figures } = checkHistory(lines, asked)
  const broken: Broken[] = violations.map(({ invariant, ...found }: Violation) => ({ promise: invariant, ...found }))
  broken.push(...(machines?.broken ?? []))
  const back = options.restarts === 0 ? null : judgeBack(fleet.witnesses, join(folder, 'history'))
  broken.push(...(back?.broken ?? []))
  for (const id of fleet.unlisted) broken.push({ promise: 'listed', message: `${id} is not listed`, evidence: [] })
  for (const problem of fleet.problems) {
    const promise = problem.includes('by itself') ? 'end' : 'stop'
    broken.push({ promise, message: problem, evidence: [] })
  }
  const drainMsMax = rescueMs + livesMax * (options.leaseMs + backoffMsMax) + timersMsMax
  // Plain jobs may be many, and limited.
  if (isFree && options.jobs === 0 && drainMs > drainMsMax) {
    broken.push({ promise: 'drain', message: `it took ${drainMs} ms, of ${drainMsMax}`, evidence: [] })
  }
  const poison = final.records.filter(({ type }) => poisonTypes.has(type))
  // A runtime that stops while the server is away cannot give its jobs back: their leases run out.
  const stoppedWell = options.restarts === 0 ? fleet.stoppedWell : new Map<string, number>()
  const lost = lostByThemselves(readHistory(join(folder, 'history')))
  for (const record of final.records) broken.push(...checkStopped(record, stoppedWell, lost, options))
  for (const record of poison) broken.push(...checkPoison(record))
  const dead = final.records.filter(({ state }) => state === 'dead').length
  return {
    options,
    folder,
    broken,
    promises: [
      ...Object.entries(invariants).map(([name, says]) => {
        return [name, says, counts[name as keyof typeof counts] ?? 0] as const
      }),
      ...promiseRows({ ...own, ...(back && ofServer), ...(machines && machinePromises) }, broken),
    ],
    back,
    machines: machines?.figures ?? null,
    figures: { ...figures, ...fleet.tally, durationMs, drainMs, dead, poison: poison.length },
  }
}

const poisonTypes = new Set(poisonAttempts.map(poisonType))

/** All jobs have ended: each unique key must be free for a new one. The history tells if one was not. */
async function freeKeys(store: Store): Promise<void> {
  const fresh = { input: null, priority: 0, maxAttempts: 1, tags: [], concurrencyKey: null, runAt: null, delayMs: 0 }
  const jobs = uniqueTypes.flatMap((type) =>
    uniqueKeys.map((key): NewJob => ({ ...fresh, id: `probe-${type}-${key}`, type, key, onConflict: 'keep' })),
  )
  await store.insert(jobs.map((job) => ({ jobs: [job], capacity: null })))
  await store.cancel([{ ids: jobs.map(({ id }) => id), reason: null, graceMs: 0 }])
}

/** Lets a few go, to see that the bounds of retention are kept; all the others are needed as evidence. */
async function pruneSome(store: Store): Promise<void> {
  const counts = await store.counts()
  const keep = (count: number) => ({ ageMs: 86_400_000, count })
  const most = (count: number): number => Math.floor(count * 0.99)
  const policyOf = ({ done, cancelled, dead }: StateCounts): RetentionPolicy => ({
    done: keep(most(done)),
    cancelled: keep(most(cancelled)),
    dead: keep(dead),
  })
  const types = Object.entries(counts.types).map(([type, each]) => [type, policyOf(each)] as const)
  await store.retain({ types: new Map(types), others: policyOf(counts) })
  while ((await store.prune(500)).more);
}

function checkPoison(record: JobRecord): Broken[] {
  const { id, state, attempt, maxAttempts, history } = record
  if (state === 'cancelled' || (state === 'dead' && attempt === maxAttempts)) return []
  const message = `poison ${id} is ${state} after ${attempt} of ${maxAttempts} attempts`
  return [{ promise: 'poison', message, evidence: history.map((entry) => JSON.stringify(entry)) }]
}

/**
 * The numbers of claims whose runs were given up by their own process: it had no answer for the time of a lease. The
 * store may have extended the lease meanwhile.
 */
function lostByThemselves(lines: Iterable<HistoryLine>): ReadonlySet<number> {
  const claims = new Map<string, number | null>()
  const lost = new Set<number>()
  for (const line of lines) {
    if (line.op !== 'run') continue
    if ('invoke' in line) claims.set(line.call, line.invoke.seq)
    const claim = claims.get(line.call)
    if ('fail' in line && line.fail === 'LEASE_LOST' && typeof claim === 'number') lost.add(claim)
  }
  return lost
}

/** Of a runtime that was asked to stop and did, no job is left behind, and no stop may count as a failure. */
function checkStopped(
  { id, history, errors }: JobRecord,
  stoppedWell: ReadonlyMap<string, number>,
  lost: ReadonlySet<number>,
  { leaseMs }: StormOptions,
): Broken[] {
  const broken: Broken[] = []
  const evidence = history.map((entry) => JSON.stringify(entry))
  let claim = 0
  for (const { event, worker, seq, at } of history) {
    if (event === 'CLAIM') claim = seq
    // Leases are extended three times over: what was left behind runs out no sooner, what was lost before no later.
    const stoppedAt = stoppedWell.get(worker ?? '') ?? Infinity
    if (event !== 'EXPIRE' || at < stoppedAt + leaseMs / 2 || lost.has(claim)) continue
    broken.push({ promise: 'stop', message: `job ${id} was left behind by ${worker} (${seq})`, evidence })
  }
  for (const { attempt, error } of errors) {
    if (error.code !== 'STOPPED') continue
    broken.push({ promise: 'stop', message: `attempt ${attempt} of job ${id} failed because of a stop`, evidence })
  }
  return broken
}
