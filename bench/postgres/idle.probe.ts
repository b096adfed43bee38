/** What a runtime costs that has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../src/stores/postgres/store.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import type { Input } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import { fill } from '../memory/fill.ts'

export interface IdleParams {
  readonly url: string
  readonly forMs: number
}

export interface IdleResult {
  /** CPU time of all threads of the process, in % of one core. */
  readonly cpuPercent: number
  /** Queries to the server. */
  readonly perSecond: number
}

const jobsBefore = 1_000
/** For what goes on a while after the last job. */
const settleMs = 3_000

/** Counts the queries here: the server counts what it does by itself, too. */
function countingStore(url: string, schema: string) {
  const queries = { count: 0 }
  const target = targetOf({ url })
  const connect = async () => {
    const link = await target.connect()
    const query = link.query.bind(link)
    link.query = (statement) => {
      queries.count++
      return query(statement)
    }
    return link
  }
  return { store: postgresStoreOn(postgresPort({ ...target, connect, schema, transitionsMax: 100_000 })), queries }
}

/** @throws NotVerified unless the jobs before have run once each */
export async function measure({ url, forMs }: IdleParams): Promise<IdleResult> {
  const ledger = new Ledger(jobsBefore)
  const jobs = ['a', 'b', 'c'].map((type) => defineJob<Input, void>({ type, run: async ({ i }) => ledger.mark(i) }))
  const { store, queries } = countingStore(url, `idle_${process.pid}`)
  const runtime = createRuntime({ jobs, store })
  await runtime.start()
  await fill(runtime, jobs, { count: jobsBefore })
  await runtime.drain()
  ledger.verify()
  await collectGarbage()
  await pause(settleMs)
  queries.count = 0
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await pause(forMs)
  const { user, system } = process.cpuUsage(cpuBefore)
  const tookMs = performance.now() - startedAt
  const { count } = queries
  await runtime.stop()
  return {
    cpuPercent: ((user + system) / 1_000 / tookMs) * 100,
    perSecond: count / (tookMs / 1_000),
  }
}
