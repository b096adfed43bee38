/**
 * A storm around the example of orders, which is run as it is: kills, then the verdict on its ledger, its store and its
 * history.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'jobchart/sqlite'
import { checkHistory, finalState, invariants, readHistory, type HistoryFigures } from 'jobchart/store-testing'
import { systemClock, type Clock } from '../../../src/core/clock.ts'
import type { FinalState } from '../../../src/store-testing/history/facts.ts'
import { readLedger } from '../../harness/ledger.ts'
import { promiseRows, spreadOf, type Broken, type PromiseRow, type Spread } from '../../harness/report.ts'
import { Crowd, type OrderOptions } from './crowd.ts'
import { checkLedger, ledgerPromises, type Entry } from './ledger.ts'

/** What was promised of the work of a dead process: to begin again within its lease and this. */
const promisedMs = 5_000

export interface OrderVerdict {
  readonly broken: readonly Broken[]
  readonly promises: readonly PromiseRow[]
  readonly figures: HistoryFigures &
    Pick<Crowd, 'killed' | 'started' | 'waves' | 'orders' | 'pauses' | 'unattendedMs'> & {
      readonly durationMs: number
      readonly effects: number
      /** Effects that were begun again, under the same key. */
      readonly again: number
      readonly timers: number
      readonly lateMs: Spread
      readonly lateMsMax: number
    }
  readonly folder: string
}

const own = {
  ends: 'each process that lives on sees all orders end, and counts them rightly',
  ...ledgerPromises,
} as const

export async function stormOrders(options: OrderOptions, say: (line: string) => void): Promise<OrderVerdict> {
  const folder = mkdtempSync(join(tmpdir(), 'jobchart-orders-'))
  mkdirSync(join(folder, 'history'))
  const crowd = new Crowd(options, folder)
  const startedAt = Date.now()
  await crowd.rage(say)
  const durationMs = Date.now() - startedAt
  const final = await finalOf(folder)
  const verdict = judge(options, crowd, folder, final, durationMs)
  if (verdict.broken.length === 0) rmSync(folder, { recursive: true })
  return verdict
}

async function finalOf(folder: string): Promise<FinalState> {
  const store = sqliteStore({ path: join(folder, 'jobs.db') })
  await store.open({ clock: systemClock satisfies Clock })
  try {
    return await finalState(store)
  } finally {
    await store.close()
  }
}

function judge(
  { leaseMs }: OrderOptions,
  crowd: Crowd,
  folder: string,
  final: FinalState,
  durationMs: number,
): OrderVerdict {
  const broken: Broken[] = []
  const tell = (promise: string, message: string, evidence: readonly string[] = []): void =>
    void broken.push({ promise, message, evidence })
  const rescueMs = promisedMs + crowd.unattendedMs
  const history = checkHistory(readHistory(join(folder, 'history')), {
    final,
    ...(crowd.pauses === 0 && { rescueMs }),
  })
  for (const { invariant, message, evidence } of history.violations) tell(invariant, message, evidence)
  const entries = readLedger<Entry>(join(folder, 'ledger.jsonl'))
  const lateMsMax = leaseMs + rescueMs
  // Each kill in between may have hit the process that was at it, and then costs as much again.
  const kills = (from: number, until: number): number => crowd.killedAt.filter((at) => at > from && at < until).length
  const lates = checkLedger(entries, crowd.orders, (due, fired) => (1 + kills(due, fired)) * lateMsMax, tell)
  checkEnds(crowd, final, tell)
  const begun = entries.filter(({ what }) => what === 'begun').map(({ key }) => key)
  const { killed, started, waves, orders, pauses, unattendedMs } = crowd
  const effects = new Set(begun).size
  return {
    broken,
    folder,
    promises: [
      ...Object.entries(invariants).map(([name, says]) => {
        return [name, says, history.counts[name as keyof typeof invariants] ?? 0] as const
      }),
      ...promiseRows(own, broken),
    ],
    figures: {
      ...history.figures,
      ...{ killed, started, waves, orders, pauses, unattendedMs, durationMs, effects },
      again: begun.length - effects,
      timers: lates.length,
      lateMs: spreadOf(lates),
      lateMsMax,
    },
  }
}

/** What the example itself says, and what is in its file. */
function checkEnds(crowd: Crowd, { records }: FinalState, tell: (promise: string, message: string) => void): void {
  const { orders, problems } = crowd
  for (const problem of problems) tell('ends', problem)
  const lines = crowd.lines()
  const last = lines.find((line) => line.startsWith(`${orders} orders`))
  const [back, approved] = [Math.floor(orders / 5), Math.floor(orders / 2)]
  const ends = `${orders} orders have ended: ${orders} done, 0 dead, 0 cancelled`
  const line = `${ends}; ${orders - back} shipped, ${back} refunded; ${approved} approved, ${orders - approved} by their timer`
  if (last !== line) tell('ends', `it says: ${last ?? lines.at(-1)}, not: ${line}`)
  const families = Map.groupBy(records, ({ id, parent }) => parent?.id ?? id)
  for (const [id, family] of families) {
    const states = family.map(({ type, state }) => `${type} ${state}`).toSorted()
    if (states.join(', ') !== 'email done, order done') tell('ends', `${id}: ${states.join(', ')}`)
  }
}
