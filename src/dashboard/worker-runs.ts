/** The attempts that have ended last, by worker: what its slots ran before what they run now. */
import type { Client, JobState } from '../index.ts'

/** Jobs that are read. */
const endedMax = 300

export interface EndedRun {
  readonly id: string
  readonly type: string
  /** Of the worker. */
  readonly worker: string
  readonly state: JobState
  readonly startedAt: number
  readonly finishedAt: number
}

/** The last attempts of the jobs that have ended last. */
export async function endedRuns({ store }: Client): Promise<readonly EndedRun[]> {
  const jobs = await store.list({
    orderBy: 'finished',
    order: 'newest',
    limit: endedMax,
    fields: ['id', 'type', 'worker', 'state', 'startedAt', 'finishedAt'],
  })
  return jobs.flatMap(({ id, type, worker, state, startedAt, finishedAt }) =>
    worker === null || startedAt === null || finishedAt === null
      ? []
      : [{ id, type, worker, state, startedAt, finishedAt }],
  )
}
