/** What the events of a run say of its job beside what happened. */
import type { JobEvent } from '../core/record.ts'
import type { ClaimedJob } from '../store.ts'

/** The data of its enqueuer, if there is any. */
export function withMeta(claimed: ClaimedJob): Pick<JobEvent, 'meta'> {
  const { meta } = claimed
  return meta === null ? {} : { meta }
}
