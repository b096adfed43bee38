/** The `meta` of a job in the events of its run. */
import type { AnyJobEvent } from '../core/record.ts'
import type { ClaimedJob } from '../store.ts'

export function withMeta(claimed: ClaimedJob): Pick<AnyJobEvent, 'meta'> {
  const { meta } = claimed
  return meta === null ? {} : { meta }
}
