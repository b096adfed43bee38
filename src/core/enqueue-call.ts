/** An enqueue as `enqueueMiddleware` sees it. */
import type { EnqueueOptions } from './call-options.ts'

/** The options that middleware may change: not the id, not how long the caller waits, and not its
 * transaction. */
export type EnqueueCallOptions = Omit<EnqueueOptions, 'id' | 'signal' | 'timeout' | 'tx'>

/** One job that is about to be enqueued. */
export interface EnqueueCall {
  /** The id that the job will have, unless the call gets an existing job. */
  readonly id: string
  readonly type: string
  /**
   * As the caller passed it, not validated yet. The copy that is stored was made before: to change this value changes
   * nothing.
   */
  readonly input: unknown
  /**
   * What enqueues: `call`, code that calls a method of the runtime or client; `job`, a running job, by `ctx.enqueue` or
   * as the parent of a child; `schedule`, a tick or `trigger()`.
   */
  readonly from: 'call' | 'job' | 'schedule'
  /**
   * The options of the call, with what is inherited from a parent. They are frozen: assign others. A `schedule` has
   * `priority`, `tags` and `meta`, and takes no `delay`, `runAt` and `unique`, because the schedule says when its jobs
   * run, and how often.
   */
  options: EnqueueCallOptions
}

/**
 * Called for every job that a runtime or client enqueues, the first one outermost, in the turn of the call. `next()`
 * calls the next middleware; it must be called once, before the return. If a middleware throws, the call is refused
 * with ENQUEUE_REFUSED, and nothing is inserted.
 * @example (call, next) => { call.options = { ...call.options, meta: { ...call.options.meta, tenant: currentTenant() }
 * }; next() }
 */
export type EnqueueMiddleware = (call: EnqueueCall, next: () => void) => void
