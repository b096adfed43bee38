/**
 * Calls `enqueueMiddleware` for a job that is about to be enqueued, the outermost first, and gives the options that it
 * leaves.
 */
import {
  middlewareOptions,
  middlewareOptionsOfTick,
  type CheckedEnqueueOptions,
  type EnqueueOptions,
} from '../core/call-options.ts'
import type { EnqueueCall, EnqueueCallOptions, EnqueueMiddleware } from '../core/enqueue-call.ts'
import { JobchartError } from '../core/errors.ts'

type CallFacts = Pick<EnqueueCall, 'id' | 'type' | 'input' | 'from'>

/**
 * The options of the call as middleware leaves them, checked; without the id.
 * @throws JobchartError ENQUEUE_REFUSED if one throws; INVALID_MIDDLEWARE if one does not call `next()` exactly once,
 * or is asynchronous;
 *   INVALID_OPTION for the options that it leaves
 */
export function throughEnqueueMiddleware(
  middleware: readonly EnqueueMiddleware[],
  facts: CallFacts,
  { id: _id, signal: _signal, timeout: _timeout, tx: _tx, ...given }: EnqueueOptions,
): CheckedEnqueueOptions {
  const call = new Call(facts, Object.freeze(given))
  pass(middleware, call, 0)
  const check = facts.from === 'schedule' ? middlewareOptionsOfTick : middlewareOptions
  return check(call.options, 'options set by enqueueMiddleware')
}

/** Its facts have no setters: to assign one throws. */
class Call implements EnqueueCall {
  options: EnqueueCallOptions
  private readonly facts: CallFacts

  constructor(facts: CallFacts, options: EnqueueCallOptions) {
    this.facts = facts
    this.options = options
  }

  get id(): string {
    return this.facts.id
  }

  get type(): string {
    return this.facts.type
  }

  get input(): unknown {
    return this.facts.input
  }

  get from(): EnqueueCall['from'] {
    return this.facts.from
  }
}

function pass(middleware: readonly EnqueueMiddleware[], call: Call, depth: number): void {
  const each = middleware[depth]
  if (each === undefined) return
  const named = `enqueueMiddleware ${depth + 1}${each.name === '' ? '' : ` (${each.name})`}`
  // The refusal is kept: a middleware that catches the error of `next()` does not undo it.
  const inner: { calls: number; refusal: JobchartError | null } = { calls: 0, refusal: null }
  const next = (): void => {
    try {
      if (++inner.calls > 1) throw misused(named, call, 'called next() more than once', 'Call next() once.')
      pass(middleware, call, depth + 1)
    } catch (error) {
      inner.refusal ??= error as JobchartError
      throw error
    }
  }
  let answer: unknown
  try {
    answer = each(call, next)
  } catch (error) {
    throw inner.refusal ?? refused(named, call, error)
  }
  if (answer instanceof Promise) {
    // Its error has no other reader.
    answer.catch(() => {})
    throw misused(named, call, 'returned a promise', 'It must be synchronous: get before the call what takes time.')
  }
  if (inner.refusal !== null) throw inner.refusal
  if (inner.calls === 0)
    throw misused(named, call, 'did not call next()', 'Call next() to enqueue the job, or throw to refuse it.')
}

const refused = (named: string, { type, id }: Call, cause: unknown): JobchartError =>
  new JobchartError('ENQUEUE_REFUSED', `${named} threw for job ${id} (${type})`, {
    hint: 'See `cause`. Nothing was enqueued by this call.',
    cause,
  })

const misused = (named: string, { type, id }: Call, fault: string, hint: string): JobchartError =>
  new JobchartError('INVALID_MIDDLEWARE', `${named} ${fault} for job ${id} (${type})`, { hint })
