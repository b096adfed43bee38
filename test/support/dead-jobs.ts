/** Dead jobs without runs: inserted, claimed and failed in three calls of a store. */
import type { Store } from 'jobchart'
import { boom, lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'

/** @returns the ids, oldest first */
export async function putDeadJobs(store: Store, count: number, type = 'mail'): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `dead ${i + 1}`)
  await put(store, ...ids.map((id) => newJob(id, { type, maxAttempts: 1 })))
  const jobs = await take(store, { type, max: count })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom })))
  return ids
}
