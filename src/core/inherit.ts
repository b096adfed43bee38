/** What a job that a running job enqueues takes over from it: `meta`, tags and priority. */
import type { EnqueueOptions } from './call-options.ts'
import { isPlain } from './payload.ts'
import type { ClaimedJob } from './values.ts'

/**
 * Gives the options of an enqueue with those of the running job behind them: own tags and an own priority replace its,
 * `meta` is merged by member.
 */
export type Inherit = (options: EnqueueOptions) => EnqueueOptions

/** @param parent the running job; its record is read once */
export function inheritFrom(parent: Pick<ClaimedJob, 'meta' | 'priority' | 'record'>): Inherit {
  let tagsOfParent: readonly string[] | null = null
  return (options) => {
    const { meta = {}, priority = parent.priority, tags = (tagsOfParent ??= parent.record().tags) } = options
    // A `meta` that is no plain object is left as it is, so that the check of the options refuses it.
    const merges = parent.meta !== null && typeof meta === 'object' && meta !== null && isPlain(meta)
    return { ...options, priority, tags, ...(merges && { meta: { ...parent.meta, ...meta } }) }
  }
}
