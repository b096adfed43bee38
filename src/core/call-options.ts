/** What calls take and report: enqueue, cancel, retry, stop, drain. Everything is checked here, at the door. */
import type { StopMode } from '../../machines/runtime.machine.ts'
import { checkSignal, checkBoolean, checkKeys, checkEnum, checkText, checkInteger } from './checks.ts'
import { invalidOption } from './errors.ts'
import { caps } from './caps.ts'
import { filterKeys, filterOf } from './filter.ts'
import { durationMs, type Duration } from './duration.ts'
import { limits } from './limits.ts'
import type { JobMeta } from './record.ts'
import { storableBackoff, type BackoffPolicy } from './backoff.ts'
import type { CancelRequest, JobFilter, JobPins, Selection } from './values.ts'

// ── enqueue ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** At most one job that waits or runs: `true` per type and input. */
export type UniqueOption = boolean | UniqueSettings

/** How a job is unique. With every option, two jobs of one key never run at once: the later one waits for the end of the other. */
export interface UniqueSettings {
  /** Own key within the type, 1…500 characters. Default: one made of the input. */
  readonly key?: string
  /**
   * When the next job of the key is stored as a job of its own: `end` (default), when this one has ended; `start`, when its first
   * run has started, so that what is enqueued during a run leads to one more run.
   */
  readonly until?: 'end' | 'start'
  /**
   * What a duplicate does. `keep` (default): it gives the job that is there · `replace`: likewise, and that job gets the new
   * input and tags if it has not started; a `delay` or `runAt` in the future is its new one, if it waits for one · `supersede`:
   * that job is cancelled, and the new one takes its place · `follow`: as `replace` while that job has not started; afterwards
   * the new one is stored, runs after the end of that one, and gets the input of later duplicates.
   */
  readonly onConflict?: 'keep' | 'replace' | 'supersede' | 'follow'
}

export interface EnqueueOptions {
  /** Own id: enqueueing it twice is one job. 1…200 characters. Default: 21, the time first. */
  readonly id?: string
  /** Not before this long from now. */
  readonly delay?: Duration
  /** Not before this time: a Date, or ms (not seconds) since the epoch. One that has passed means now. A hundred years ahead at most. */
  readonly runAt?: Date | number
  /** Higher goes first in its queue; equal ones first in, first out. A 32-bit integer, default 0. */
  readonly priority?: number
  readonly unique?: UniqueOption
  /** Words to find it by: 20 at most. */
  readonly tags?: readonly string[]
  /**
   * Data of your own: kept with the job, seen as `record.meta`, `ctx.job.meta` and `event.meta`, and found by `list({ meta })`. A
   * plain object of JSON, 16 KiB at most. Unlike the input it is no part of a unique key, and no schema looks at it.
   */
  readonly meta?: JobMeta
  /** Attempts of this job at most. Default: as the definition of the worker says that claims it. 1…1,000,000. */
  readonly maxAttempts?: number
  /** Of this job: `constant()`, `linear()` or `exponential()`; a function cannot be stored. Default: as the worker's definition says. */
  readonly backoff?: BackoffPolicy
  /** How long an attempt of this job may take. Default: the `timeout` of the worker's definition. */
  readonly attemptTimeout?: Duration
  /** Gives up waiting for room. */
  readonly signal?: AbortSignal
  /** Waits this long for room at most. */
  readonly timeout?: Duration
}

/** What `ctx.enqueue` takes. */
export interface RunEnqueueOptions extends EnqueueOptions {
  /**
   * Names the new job within the job that enqueues it: a later attempt that passes the same key gets the job that is there,
   * whatever its input. 1…500 characters. Default: the type, the input, and how often this attempt has enqueued both.
   */
  readonly key?: string
}

/** `(input, options?)`, or `(input?, options?)` for jobs without an input. */
export type EnqueueArguments<Input, Options = EnqueueOptions> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options]

const pinKeys = ['maxAttempts', 'backoff', 'attemptTimeout'] as const
const enqueueKeys = [
  'id',
  'delay',
  'runAt',
  'priority',
  'unique',
  'tags',
  'meta',
  'signal',
  'timeout',
  ...pinKeys,
] as const
/** Those of `ctx.enqueue`. */
export const runEnqueueKeys = [...enqueueKeys, 'key'] as const

/**
 * @param without options that this call does not take
 * @throws JobchartError INVALID_OPTION for anything that is not as documented
 */
export function checkEnqueueOptions(
  options: EnqueueOptions,
  name = 'options of enqueue',
  without: readonly string[] = [],
): void {
  checkKeys(name, options, without.length === 0 ? enqueueKeys : enqueueKeys.filter((key) => !without.includes(key)))
  const { id, priority, tags, delay, runAt, signal } = options
  if (id !== undefined) checkText('id', id, limits.idCharsMax)
  if (priority !== undefined) checkInteger('priority', priority, -limits.priorityMax, limits.priorityMax)
  if (tags !== undefined) {
    if (!Array.isArray(tags) || tags.length > limits.tagsMax)
      throw invalidOption('tags', `a list of at most ${limits.tagsMax} tags`, tags)
    for (const tag of tags) checkText('tags', tag, limits.idCharsMax)
  }
  if (delay !== undefined && runAt !== undefined)
    throw invalidOption('delay', 'no delay beside runAt', delay, 'Pass one of the two.')
  checkSignal(signal)
  if (options.unique !== undefined) checkUnique(options.unique)
}

/** What a call fixes for its job; undefined if nothing. @throws JobchartError INVALID_OPTION */
export function pinsOf({ maxAttempts, backoff, attemptTimeout }: EnqueueOptions): JobPins | undefined {
  if (maxAttempts === undefined && backoff === undefined && attemptTimeout === undefined) return undefined
  return {
    ...(maxAttempts !== undefined && { maxAttempts: checkInteger('maxAttempts', maxAttempts, 1, limits.attemptsMax) }),
    ...(backoff !== undefined && { backoff: storableBackoff(backoff) }),
    ...(attemptTimeout !== undefined && { timeoutMs: durationMs(attemptTimeout, 'attemptTimeout') }),
  }
}

export function checkUnique(unique: UniqueOption): void {
  if (typeof unique === 'boolean') return
  checkKeys('unique', unique, ['key', 'until', 'onConflict'])
  if (unique.until !== undefined) checkEnum('unique.until', unique.until, ['end', 'start'])
  if (unique.key !== undefined) checkText('unique.key', unique.key, limits.keyCharsMax)
  if (unique.onConflict !== undefined)
    checkEnum('unique.onConflict', unique.onConflict, ['keep', 'replace', 'supersede', 'follow'])
}

// ── cancel, stop ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CancelOptions {
  /** Why, for people; kept with the job. */
  readonly reason?: string
  /** How long a running handler may take to end. Default: the runtime's `grace`. */
  readonly grace?: Duration
  /** Among cancels asked at the same time, higher goes first. Default 0. */
  readonly priority?: number
}

/**
 * What became of each job, by id, in the order in which they were cancelled: higher priority first. Of more than 100 jobs by
 * filter, the oldest 100 first, and so on. Each list has the first 10,000 ids.
 */
export interface CancelReport {
  /** How many jobs each list is of; only if one of them was cut. */
  readonly totals?: Readonly<Record<'cancelled' | 'cancelling' | 'notFound' | 'finished', number>>
  /** Ended: they had not started. */
  readonly cancelled: readonly string[]
  /** Running: asked to end. */
  readonly cancelling: readonly string[]
  readonly notFound: readonly string[]
  /** Had ended before. */
  readonly finished: readonly string[]
}

/** Jobs by one id, several, or what they have in common. */
export type JobSelector = string | readonly string[] | JobFilter<Date | number>

/** @throws JobchartError INVALID_OPTION for what cannot be the id of a job: 1…200 characters, without lone surrogates */
export const checkId = (id: string): string => checkText('id', id, limits.idCharsMax)

/** @throws JobchartError INVALID_OPTION for an empty filter: it would mean every job there is */
export function selectionOf(choice: JobSelector): Selection {
  if (typeof choice === 'string') return { ids: [checkId(choice)] }
  if (Array.isArray(choice)) return { ids: [...new Set((choice as readonly string[]).map(checkId))] }
  if (typeof choice !== 'object' || choice === null) throw invalidOption('jobs', 'an id, ids, or a filter', choice)
  const filter = filterOf(choice as JobFilter<Date | number>)
  if (Object.keys(filter).length === 0) {
    const hint = 'An empty filter would mean every job: say which. For all of a state: { state }.'
    throw invalidOption('filter', `at least one of ${filterKeys.join(', ')}`, choice, hint)
  }
  return { filter }
}

/** @throws JobchartError INVALID_OPTION */
export function cancelRequest(choice: JobSelector, options: CancelOptions, graceMs: number): CancelRequest {
  checkKeys('options of cancel', options, ['reason', 'grace', 'priority'])
  const { reason, grace, priority = 0 } = options
  checkInteger('priority', priority, -limits.priorityMax, limits.priorityMax)
  return {
    selection: selectionOf(choice),
    reason: reason === undefined ? null : checkText('reason', reason, limits.reasonCharsMax),
    graceMs: grace === undefined ? graceMs : durationMs(grace, 'grace'),
  }
}

/** Where a machine begins when it is sent through again: at its last checkpoint (default), or at its start. */
export interface RetryFrom {
  readonly from?: 'checkpoint' | 'start'
  /**
   * Drops so many messages from the inbox of a machine, the oldest first: events, and ends of child jobs. For one that the
   * machine fails at whenever it reads it. Default 0.
   */
  readonly dropInbox?: number
  /**
   * The input that the job has from now on, validated as at an enqueue if this process has the definition of its type. It begins
   * from the start: without its steps, and a machine at its initial state. Its unique key stays. For one id alone.
   */
  readonly input?: unknown
}

interface RetrySettings {
  readonly fromStart: boolean
  readonly dropInbox: number
}

export interface SendOptions {
  /** Own name of the event: sent twice by the same key, it is read once. */
  readonly key?: string
  /**
   * `now` (default): only if its machine takes the event where it will stand when it reads it. `always`: the event is kept
   * however the job is, also by a process that does not know its machine, and judged when it is read; what is not taken then
   * is dropped with a warning.
   */
  readonly accept?: 'now' | 'always'
}

export interface SendSettings {
  readonly key: string | undefined
  readonly always: boolean
}

/** @throws JobchartError INVALID_OPTION */
export function sendSettings(options: SendOptions): SendSettings {
  checkKeys('options of send', options, ['key', 'accept'])
  const { key, accept = 'now' } = options
  return {
    key: key === undefined ? undefined : checkText('key', key, limits.idCharsMax),
    always: checkEnum('accept', accept, ['now', 'always']) === 'always',
  }
}

/** @throws JobchartError INVALID_OPTION */
export function retrySettings(options: RetryFrom): RetrySettings {
  checkKeys('options of retry', options, ['from', 'dropInbox', 'input'])
  const { from = 'checkpoint', dropInbox = 0 } = options
  const fromStart = checkEnum('from', from, ['checkpoint', 'start']) === 'start'
  checkInteger('dropInbox', dropInbox, 0, caps.inbox)
  if ('input' in options && (options.from === 'checkpoint' || dropInbox > 0)) {
    const hint = 'A job with another input begins from the start: leave from and dropInbox out.'
    throw invalidOption('input', 'no from and no dropInbox beside it', options.from ?? dropInbox, hint)
  }
  if (fromStart && dropInbox > 0) throw invalidOption('dropInbox', "no from: 'start' beside it: that drops all", from)
  return { fromStart, dropInbox }
}

/** Retries and discards: what became of each job, by id. Each list has the first 10,000 ids. */
export interface RetryReport {
  /** How many jobs each list is of; only if one of them was cut. */
  readonly totals?: Readonly<Record<'retried' | 'refused' | 'notFound', number>>
  readonly retried: readonly string[]
  /** Neither dead nor cancelled, or its unique key has another holder now, or a job that is being cancelled. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
}

export interface DiscardReport {
  /** How many jobs each list is of; only if one of them was cut. */
  readonly totals?: Readonly<Record<'discarded' | 'refused' | 'notFound', number>>
  readonly discarded: readonly string[]
  /** Not ended: cancel it first. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
}

export interface StartOptions {
  /**
   * While the store does not answer, the start is repeated, at intervals that grow from 100 ms to 5 s; the runtime is `starting`,
   * and `storeError` says why. Default false: it has failed.
   */
  readonly retry?: boolean
}

/** @throws JobchartError INVALID_OPTION */
export function startSettings(options: StartOptions): { readonly retry: boolean } {
  checkKeys('options of start', options, ['retry'])
  return { retry: checkBoolean('retry', options.retry) }
}

export interface StopOptions {
  /**
   * `drain`: no new jobs, all that is queued runs, but in paused queues · `finish` (default): what runs ends, the rest
   * stays in the store · `abort`: signals abort, and what has not ended after `grace` is released, its attempt not spent.
   */
  readonly mode?: StopMode
  /** The longest the stop may take. Default 30 s. What is left then is aborted and released. */
  readonly timeout?: Duration
  /** Default: the runtime's `grace`. */
  readonly grace?: Duration
  /** Of `drain`: waits for the retries of failed jobs as well, however long their backoff. Default false. */
  readonly retries?: boolean
}

/** @throws JobchartError INVALID_OPTION */
export function stopLimits(options: StopOptions, graceMs: number) {
  checkKeys('options of stop', options, ['mode', 'timeout', 'grace', 'retries'])
  const { mode = 'finish', timeout = '30s', grace } = options
  return {
    mode: checkEnum<StopMode>('mode', mode, ['drain', 'finish', 'abort']),
    timeoutMs: durationMs(timeout, 'timeout'),
    graceMs: grace === undefined ? graceMs : durationMs(grace, 'grace'),
    retries: checkBoolean('retries', options.retries),
  }
}

export interface StopReport {
  /** Did all end that the mode waits for, in time? */
  readonly completed: boolean
  /** Handlers that still go on; nobody waits for them. */
  readonly running: number
  /** Jobs that are lost with the process, because the store is not durable. */
  readonly dropped: number
}

export interface PauseOptions {
  /** Ends the pause when it aborts: the runtime resumes unless another pause lasts. */
  readonly signal?: AbortSignal
  /** Waits until the jobs that run have ended. Default false. */
  readonly idle?: boolean
}

/** @throws JobchartError INVALID_OPTION */
export function pauseLimits(options: PauseOptions) {
  checkKeys('options of pause', options, ['signal', 'idle'])
  checkSignal(options.signal)
  return { signal: options.signal, idle: checkBoolean('idle', options.idle) }
}

export interface WaitOptions {
  /** Waits this long at most. Default: as long as it takes. */
  readonly timeout?: Duration
  /** Gives up waiting. */
  readonly signal?: AbortSignal
}

/** @throws JobchartError INVALID_OPTION */
export function waitLimits(call: string, options: WaitOptions, others: readonly string[] = []) {
  checkKeys(`options of ${call}`, options, ['timeout', 'signal', ...others])
  const { timeout, signal } = options
  checkSignal(signal)
  return { timeoutMs: timeout === undefined ? null : durationMs(timeout, 'timeout'), signal }
}

export interface DrainOptions extends WaitOptions {
  /** Waits for the retries of failed jobs as well, however long their backoff. Default false. */
  readonly retries?: boolean
}

/** @throws JobchartError INVALID_OPTION */
export function drainLimits(options: DrainOptions) {
  return { ...waitLimits('drain', options, ['retries']), retries: checkBoolean('retries', options.retries) }
}

/** How full the backlog is. */
export interface Pressure {
  /** Jobs that are scheduled, queued or retrying. */
  readonly waiting: number
  /** null = no bound. */
  readonly capacity: number | null
  readonly full: boolean
}
