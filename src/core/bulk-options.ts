/** Bulk operations as callers request and see them. */
import { cancelTerms, retrySettings, selectionOf, type CancelOptions, type RetryFrom } from './call-options.ts'
import type { BulkAnswer, BulkChange, BulkOperation } from './bulk-record.ts'
import {
  abortSignal,
  boolean,
  byDefault,
  fn,
  given,
  integer,
  oneOf,
  orNull,
  required,
  table,
  type RulesOf,
} from './checks.ts'
import { invalidOption, JobchartError } from './errors.ts'
import { limits } from './limits.ts'
import { byteLength } from './platform.ts'
import { countsText } from './report.ts'
import type { DropInbox, JobFilter } from './values.ts'

interface Filtered {
  /** The jobs to change: at least one field. */
  readonly filter: JobFilter<Date | number>
  /** How many jobs are expected to match, for a progress bar. */
  readonly expected?: number
}

/** What to do, to which jobs: the options of `client.retry`, `discard` and `cancel` with a filter. */
export type BulkRequest = Filtered &
  (
    | ({ readonly kind: 'retry'; readonly dropInbox?: number } & Pick<RetryFrom, 'from'>)
    | { readonly kind: 'discard' }
    | ({ readonly kind: 'cancel' } & Pick<CancelOptions, 'reason' | 'grace'>)
  )

export interface BulkRunOptions {
  /**
   * Ends the wait, not the operation: a runtime goes on with it, unless it is stopped. If it has aborted before the
   * call, `run` starts none.
   */
  readonly signal?: AbortSignal
  /** Called after each batch that this process has done, with the ids of its jobs. */
  readonly onBatch?: (answer: BulkAnswer) => void
  /** Called with the operation as it is now, also when another process carries it out. */
  readonly onProgress?: (operation: BulkOperation) => void
}

/**
 * Changes of all jobs that match a filter, as operations that the store keeps: they have a progress that every process
 * sees, and do not end with the process that has started them. If that dies, a runtime on the store goes on about ten
 * seconds later.
 */
export interface BulkOperations {
  /**
   * Starts an operation and does its first 100 jobs. This process goes on in the background; the answer does not wait
   * for it.
   * @param options `detach`: this process does not go on, a runtime does
   * @throws JobchartError INVALID_OPTION, CAPACITY if 100 operations run, STORE_UNAVAILABLE
   * @example const { id } = await client.bulk.start({ kind: 'retry', filter: { type: 'email.send', state: 'dead' } })
   */
  start(request: BulkRequest, options?: { readonly detach?: boolean }): Promise<BulkOperation>
  /** Starts an operation, carries it out, and resolves when it has ended. @throws as `start` and `resume` */
  run(request: BulkRequest, options?: BulkRunOptions): Promise<BulkOperation>
  /**
   * Takes over an operation that no process carries out, or waits for the process that does; resolves when it has
   * ended.
   * @throws JobchartError NOT_FOUND, ABORTED, STOPPED, STORE_UNAVAILABLE, and the error that makes the operation fail
   */
  resume(id: string, options?: BulkRunOptions): Promise<BulkOperation>
  /**
   * Stops an operation after its current batch; what it has done stays.
   * @throws JobchartError NOT_FOUND, STORE_UNAVAILABLE
   */
  stop(id: string): Promise<BulkOperation>
  /** The operations that run, and the last 100 that have ended; those that were requested last come first. */
  list(): Promise<BulkOperation[]>
}

const bulkKind = oneOf('retry', 'discard', 'cancel')
const bulkKindOnly = table({ kind: required(bulkKind) }, { open: true })
const filteredRules = { kind: required(bulkKind), filter: given, expected: orNull(integer(0, Number.MAX_SAFE_INTEGER)) }

/** The options of a change of their own are those of the call with the same name, which checks them. */
const bulkRequests = {
  retry: table({ ...filteredRules, from: given, dropInbox: given }),
  discard: table(filteredRules),
  cancel: table({ ...filteredRules, reason: given, grace: given }),
}

/** @throws JobchartError INVALID_OPTION */
export function bulkTerms(request: BulkRequest) {
  const { kind } = bulkKindOnly(request, 'request of a bulk operation')
  const { expected } = bulkRequests[kind](request, `a bulk ${kind}`)
  const selection = selectionOf(request.filter)
  if (!('filter' in selection)) throw invalidOption('filter', 'a filter', request.filter, 'For ids call client.retry.')
  const { filter } = selection
  const bytes = byteLength(JSON.stringify(filter))
  if (bytes > limits.bulkFilterBytesMax) {
    throw invalidOption('filter', `${limits.bulkFilterBytesMax} bytes of JSON at most`, `${bytes} bytes`)
  }
  return { change: changeOf(request), filter, expected }
}

function changeOf(request: BulkRequest): BulkChange {
  if (request.kind === 'discard') return { kind: 'discard' }
  if (request.kind === 'retry') {
    const { from } = request
    const dropInbox = dropInboxOfMany(request.dropInbox)
    const { fromStart } = retrySettings({
      ...(from !== undefined && { from }),
      ...(dropInbox !== undefined && { dropInbox }),
    })
    return { kind: 'retry', fromStart, dropInbox: dropInbox ?? 0 }
  }
  const { reason, grace } = request
  const options = { ...(reason !== undefined && { reason }), ...(grace !== undefined && { grace }) }
  return { kind: 'cancel', ...cancelTerms(options) }
}

/** How many messages of each of many jobs are removed. @throws JobchartError INVALID_OPTION for numbers of messages */
export function dropInboxOfMany(drop: DropInbox | undefined): number | undefined {
  if (drop === undefined || typeof drop === 'number') return drop
  throw invalidOption('dropInbox', 'a number: the messages of each job have numbers of their own', drop)
}

/** @throws JobchartError ABORTED for an operation that was stopped, STORE_REFUSED for one that has failed */
export function expectDone({ id, state, change, counts, error }: BulkOperation): void {
  if (state !== 'stopped' && state !== 'failed') return
  const hint = `What it has changed stays changed. A new ${change.kind} changes the remaining jobs.`
  const text = `bulk operation ${id} ${state === 'stopped' ? 'was stopped' : 'failed'} after ${countsText(counts)}`
  if (state === 'stopped') throw new JobchartError('ABORTED', text, { hint })
  throw new JobchartError('STORE_REFUSED', `${text}: ${error?.message}`, { hint })
}

export const bulkRunOptions = table({
  signal: abortSignal,
  onBatch: fn<NonNullable<BulkRunOptions['onBatch']>>(),
  onProgress: fn<NonNullable<BulkRunOptions['onProgress']>>(),
} satisfies RulesOf<BulkRunOptions>)

export const bulkStartOptions = table({ detach: byDefault(false, boolean) })
