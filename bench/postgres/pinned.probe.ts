/** Jobs enqueued and processed, part by part, beside a transaction that is open all the time, or without one. */
import { Client } from 'pg'
import { collectGarbage } from '../harness/heap.ts'
import { PostgresView } from '../harness/postgres.ts'
import { workThrough } from '../harness/queue-work.ts'
import { warmUp } from '../harness/warm-up.ts'
import { contender } from '../contenders/jobchart-postgres.ts'

export interface PinnedParams {
  readonly url: string
  readonly parts: number
  readonly jobsPerPart: number
  /** Is a transaction open? */
  readonly pinned: boolean
}

/** Jobs per second of each part. */
export type PinnedResult = readonly number[]

/** @throws NotVerified unless each job was stored and has run once */
export async function measure({ url, parts, jobsPerPart, pinned }: PinnedParams): Promise<PinnedResult> {
  const server = await PostgresView.at(url)
  const part = async (schema: string, jobs: number): Promise<number> => {
    const work = { timed: 'process', mode: { by: 'batch', size: 100 }, slots: 100, jobs, types: 5 } as const
    const startedAt = performance.now()
    await workThrough(
      (options) => contender.open({ url, schema, ...options }),
      work,
      () => server.counters(),
    )
    return (jobs / (performance.now() - startedAt)) * 1_000
  }
  let passes = 0
  await warmUp(async () => {
    const schema = `warm_${++passes}`
    const perSecond = await part(schema, Math.ceil(jobsPerPart / 10))
    await server.drop(schema)
    return 1_000_000 / perSecond
  })
  await collectGarbage()
  const pinning = new Client({ connectionString: url })
  await pinning.connect()
  if (pinned) {
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await pinning.query('SELECT pg_current_xact_id()')
  }
  const perSecond: number[] = []
  for (let i = 0; i < parts; i++) perSecond.push(await part('measured', jobsPerPart))
  await server.drop('measured')
  await pinning.end()
  await server.close()
  return perSecond
}
