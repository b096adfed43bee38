/**
 * Options and reports of the calls enqueue, cancel, retry, send, stop, pause and drain, and the checks of these
 * options.
 */
import type { StopMode } from '../../machines/runtime.machine.ts'
import {
  abortSignal,
  boolean,
  byDefault,
  given,
  integer,
  is,
  listOf,
  oneOf,
  orNull,
  table,
  text,
  where,
  type Checked,
  type Given,
  type Rule,
  type RulesOf,
} from './checks.ts'
import { invalidOption } from './errors.ts'
import { caps } from './caps.ts'
import { filterKeys, filterOf } from './filter.ts'
import { durationMs, type Duration } from './duration.ts'
import { limits, metaLimits } from './limits.ts'
import { toPayload } from './payload.ts'
import type { OpenTransaction } from './open-transaction.ts'
import type { JobMeta } from './record.ts'
import type { TraceContext } from './telemetry.ts'
import { storableBackoff, type BackoffPolicy } from './backoff.ts'
import { defaultKeepMs } from './machine-record.ts'
import type { CancelRequest, DropInbox, JobFilter, JobPins } from './values.ts'

// ── enqueue ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** At most one live job per key: `true` uses a key made of type and input. */
export type UniqueOption = boolean | UniqueSettings

/**
 * Options of a unique key. With all of them, two jobs with the same key never run at once: the later one waits for the
 * end of the other.
 */
export interface UniqueSettings {
  /** The key within the type, 1…500 characters. Default: a hash of the input. */
  readonly key?: string
  /**
   * When the job gives up its key, so that an enqueue with the same key stores a new job: `end` (default), at its end;
   * `start`, at its first claim, so that an enqueue during a run leads to one more run.
   */
  readonly until?: 'end' | 'start'
  /**
   * What an enqueue does if another job holds the key:
   * - `keep` (default): returns that job.
   * - `replace`: returns that job. If it has not started, it gets the new input and tags; if it is scheduled, also a
   *   new `delay` or `runAt` in the future.
   * - `supersede`: cancels that job and stores the new one.
   * - `follow`: as `replace` if that job has not started. Otherwise stores the new job, which runs after the end of
   *   that one and gets the input of later duplicates.
   */
  readonly onConflict?: 'keep' | 'replace' | 'supersede' | 'follow'
}

export interface EnqueueOptions {
  /**
   * Id of the job, 1…200 characters: a second enqueue with the same id returns the first job. Default: 21 characters,
   * ordered by time.
   */
  readonly id?: string
  /** Runs after this time from now at the earliest. */
  readonly delay?: Duration
  /**
   * Runs at this time at the earliest: a Date, or ms (not seconds) since the epoch, 100 years ahead at most. A past
   * time means now.
   */
  readonly runAt?: Date | number
  /** Higher priorities run first in their queue; equal ones first in, first out. A 32-bit integer, default 0. */
  readonly priority?: number
  readonly unique?: UniqueOption
  /** Tags to filter by: 20 at most. */
  readonly tags?: readonly string[]
  /**
   * Your own data, kept with the job: available as `record.meta`, `ctx.job.meta` and `event.meta`, and in filters as
   * `list({ meta })`. A plain object of JSON, 16 KiB at most. Unlike the input, it is not part of the unique key, and
   * no schema checks it.
   */
  readonly meta?: JobMeta
  /** Attempts of this job, 1…1,000,000. Default: `maxAttempts` in the definition of the worker that claims it. */
  readonly maxAttempts?: number
  /**
   * Backoff of this job: `constant()`, `linear()` or `exponential()`; a function cannot be stored. Default: that of the
   * worker's definition.
   */
  readonly backoff?: BackoffPolicy
  /** Time limit of each attempt. Default: that of the worker's definition. */
  readonly attemptTimeout?: Duration
  /** Aborts the wait for capacity. */
  readonly signal?: AbortSignal
  /**
   * Your open transaction: the job is stored if it commits, and runs after the commit. On stores that share your
   * database (`capabilities.transactions`). Such a call never waits: without room it is refused with CAPACITY. Default:
   * the transaction that the client joins, if it was made with `tx`; null joins none.
   */
  readonly tx?: OpenTransaction | null
  /** How long the call waits for capacity. Default: no limit. The time of an attempt is `attemptTimeout`. */
  readonly timeout?: Duration
}

/** Options of `ctx.enqueue`. */
export interface RunEnqueueOptions extends EnqueueOptions {
  /**
   * Identifies the new job within the job that enqueues it: a later attempt that passes the same key gets the existing
   * job, whatever its input. 1…500 characters. Default: type, input, and how often this attempt has enqueued this type
   * and input.
   */
  readonly key?: string
}

/** `(input, options?)`, or `(input?, options?)` for jobs without an input. */
export type EnqueueArguments<Input, Options = EnqueueOptions> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options]

/** A 32-bit integer: of jobs in their queue, of cancels among each other. */
const priority = integer(-limits.priorityMax, limits.priorityMax)

/** In which range the clock decides. */
const instant = is('a valid Date or ms since the epoch', (value): value is Date | number =>
  Number.isFinite(value instanceof Date ? value.getTime() : value),
)

/** A copy; undefined if there is nothing in it. */
const jobMeta: Rule<JobMeta | undefined> = (value, name) => {
  const copy = toPayload(value, 'INVALID_OPTION', metaLimits, name)
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) throw invalidOption(name, 'an object', value)
  return Object.keys(copy).length === 0 ? undefined : copy
}

const uniqueRules = {
  key: text(limits.keyCharsMax),
  until: oneOf('end', 'start'),
  onConflict: oneOf('keep', 'replace', 'supersede', 'follow'),
} satisfies RulesOf<UniqueSettings>

const uniqueSettings = table(uniqueRules, { prefix: 'unique.' })

export const uniqueOption: Rule<UniqueOption> = (value) =>
  typeof value === 'boolean' ? value : uniqueSettings(value, 'unique')

/** What an enqueue and a schedule say of jobs. */
export const jobRules = {
  priority: priority,
  tags: listOf(`a list of at most ${limits.tagsMax} tags`, text(limits.idCharsMax), limits.tagsMax),
  meta: jobMeta,
  unique: uniqueOption,
}

/** What it is in particular, the store judges. */
export const transaction = is(
  'a transaction that is open, or null',
  (value): value is OpenTransaction | null => typeof value === 'object' || typeof value === 'function',
)

const enqueueRules = {
  id: text(limits.idCharsMax),
  delay: durationMs,
  runAt: instant,
  priority: jobRules.priority,
  unique: jobRules.unique,
  tags: jobRules.tags,
  meta: jobRules.meta,
  signal: abortSignal,
  timeout: durationMs,
  maxAttempts: integer(1, limits.attemptsMax),
  backoff: storableBackoff,
  attemptTimeout: durationMs,
  tx: transaction,
} satisfies RulesOf<EnqueueOptions>

function notBoth({ delay, runAt }: Given): void {
  if (delay === undefined || runAt === undefined) return
  throw invalidOption('delay', 'no delay beside runAt', delay, 'Pass one of the two.')
}

const { id: _id, ...rulesWithoutId } = enqueueRules
const { signal: _signal, timeout: _timeout, tx: _tx, ...middlewareRules } = rulesWithoutId
const { delay: _delay, runAt: _runAt, unique: _unique, ...tickRules } = middlewareRules

/** The options of an enqueue, checked: durations in ms, `meta` and lists as copies. */
export type CheckedEnqueueOptions = Checked<typeof enqueueRules>

/** The options of an enqueue, and those of calls that do not accept all of them. */
export const enqueueOptions = table(enqueueRules, { together: notBoth })
export const enqueueOptionsWithoutId = table(rulesWithoutId, { together: notBoth })
/** What `enqueueMiddleware` may set; of the job of a tick, its schedule says when and how often it runs. */
export const middlewareOptions = table(middlewareRules, { together: notBoth })
export const middlewareOptionsOfTick = table(tickRules)

/** The options of `ctx.enqueue`. */
export const runEnqueueOptions = table(
  { ...enqueueRules, key: text(limits.keyCharsMax) } satisfies RulesOf<RunEnqueueOptions>,
  { together: notBoth },
)

/** What an enqueue pins to its job: settings, and the trace context that the job carries; undefined if nothing. */
export function pinsOf(
  { maxAttempts, backoff, attemptTimeout }: CheckedEnqueueOptions,
  trace?: TraceContext,
): JobPins | undefined {
  const hasSettings = maxAttempts !== undefined || backoff !== undefined || attemptTimeout !== undefined
  if (!hasSettings && trace === undefined) return undefined
  return {
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(backoff !== undefined && { backoff }),
    ...(attemptTimeout !== undefined && { attemptTimeoutMs: attemptTimeout }),
    ...(trace !== undefined && { trace }),
  }
}

// ── cancel, stop ───────────────────────────────────────────────────────────────────────────────────────────────────

export interface CancelOptions {
  /** The reason, for display; kept with the job. */
  readonly reason?: string
  /** How long a running handler may take to end. Default: the `grace` of the runtime that runs the job. */
  readonly grace?: Duration
  /** Among cancels requested at the same time, higher priorities are written first. Default 0. */
  readonly priority?: number
  /**
   * Your open transaction, as at an enqueue: the jobs are cancelled right after its commit. For ids only; the lists of
   * the report are empty.
   */
  readonly tx?: OpenTransaction | null
}

/**
 * The ids of the jobs by what became of them, in the order in which they were cancelled: higher priority first. By
 * filter, jobs are cancelled in parts of 100, oldest first. Each list holds the first 10,000 ids, of jobs that this
 * process has changed: `totals` counts those as well that another one has done of a bulk operation.
 */
export interface CancelReport {
  /** The full number of jobs of each list; present only if a list has fewer ids. */
  readonly totals?: Readonly<Record<'cancelled' | 'cancelling' | 'notFound' | 'finished', number>>
  /** Ended by this call: they were not running. */
  readonly cancelled: readonly string[]
  /** Running: their runs were asked to stop. */
  readonly cancelling: readonly string[]
  readonly notFound: readonly string[]
  /** Jobs that had ended before. */
  readonly finished: readonly string[]
}

/** Selects jobs: an id, a list of ids, or a filter. */
export type JobSelector = string | readonly string[] | JobFilter<Date | number>

/** @throws JobchartError INVALID_OPTION unless `id` is text of 1…250 characters without lone surrogates */
export const checkId = (id: unknown): string => knownId(id, 'id')

const knownId = text(limits.knownIdCharsMax)

/** Jobs by their ids, each once, or by a filter. */
export type IdsOrFilter = { readonly ids: readonly string[] } | { readonly filter: JobFilter }

/** @throws JobchartError INVALID_OPTION for an empty filter, because it would select every job */
export function selectionOf(choice: JobSelector): IdsOrFilter {
  if (typeof choice === 'string') return { ids: [checkId(choice)] }
  if (Array.isArray(choice)) return { ids: [...new Set(choice.map(checkId))] }
  if (typeof choice !== 'object' || choice === null) throw invalidOption('jobs', 'an id, ids, or a filter', choice)
  const filter = filterOf(choice)
  if (Object.keys(filter).length === 0) {
    const hint =
      'An empty filter would select every job: pass at least one field. For all jobs of a state, pass { state }.'
    throw invalidOption('filter', `at least one of ${filterKeys.join(', ')}`, choice, hint)
  }
  return { filter }
}

const cancelOptions = table({
  reason: orNull(text(limits.reasonCharsMax)),
  grace: durationMs,
  priority: byDefault(0, priority),
  tx: transaction,
} satisfies RulesOf<CancelOptions>)

/** @throws JobchartError INVALID_OPTION */
export function cancelTerms(options: CancelOptions): Omit<CancelRequest, 'ids'> {
  const { reason, grace = null } = cancelOptions(options, 'options of cancel')
  return { reason, graceMs: grace }
}

/** Options of `workers()`. */
export interface WorkersOptions {
  /** Read the inputs of the jobs that run? Default true: one more read of the store, of these jobs. */
  readonly inputs?: boolean
}

export const workersOptions = table({ inputs: byDefault(true, boolean) } satisfies RulesOf<WorkersOptions>)

/** Options of a retry. */
export interface RetryFrom {
  /** Where a machine continues: at its last checkpoint (default), or at its initial state. */
  readonly from?: 'checkpoint' | 'start'
  /**
   * Removes unread messages from the inbox of a machine, this many, oldest first: events, and ends of child jobs. Or
   * the numbers of messages: of deferred events, and of unread messages if all before them are named, too. Use it to
   * remove a message that makes the machine fail; the log of the job names it. Default 0.
   */
  readonly dropInbox?: DropInbox
  /**
   * A new input for the job, validated as at an enqueue if this process has the definition of its type. The job starts
   * from the beginning: step results are removed, and a machine starts at its initial state. Its unique key stays. For
   * a single id only.
   */
  readonly input?: unknown
}

interface RetrySettings {
  readonly fromStart: boolean
  readonly dropInbox: DropInbox
}

export interface SendOptions {
  /** Deduplicates: of events sent with the same key, the machine reads one. */
  readonly key?: string
  /**
   * When the event is accepted, and what becomes of it if the state in which the machine reads it does not take it.
   * - `now` (default): accepted only if the machine takes it, after it has read the messages before it; otherwise the
   *   call rejects. If a timer comes first nevertheless, it is dropped.
   * - `later`: always accepted, also from a process without the definition. It stays in the inbox, in its order, until
   *   a state takes it, for `keep` at most. For webhooks, which may outrun the machine.
   * - `always`: always accepted, also from a process without the definition. If it is not taken when it is read, it is
   *   dropped.
   *
   * Each event that is dropped leaves a line in the log of the job, and its `key` is free again.
   */
  readonly accept?: 'now' | 'later' | 'always'
  /**
   * With `accept: 'later'`: how long the event waits for a state that takes it, from its arrival on. Default 7 days.
   */
  readonly keep?: Duration
  /**
   * Your open transaction, as at an enqueue: the event is delivered right after its commit. It cannot be `accept:
   * 'now'`; the default is `'later'` then.
   */
  readonly tx?: OpenTransaction | null
}

export interface SendSettings {
  readonly key: string | undefined
  readonly accept: 'now' | 'later' | 'always'
  /** Of `later`, ms. */
  readonly keepMs: number | undefined
}

const sendOptions = table(
  {
    key: text(limits.idCharsMax),
    accept: oneOf('now', 'later', 'always'),
    tx: transaction,
    keep: byDefault(
      defaultKeepMs,
      where(durationMs, (ms) => ms > 0, 'a duration of at least 1 ms'),
    ),
  } satisfies RulesOf<SendOptions>,
  {
    together: ({ accept, keep }) => {
      if (keep === undefined || accept === 'later') return
      const hint = 'Only events that wait for a state are kept.'
      throw invalidOption('keep', "no `keep` without accept: 'later'", keep, hint)
    },
  },
)

/** @param inTx does the call join a transaction? @throws JobchartError INVALID_OPTION */
export function sendSettings(options: SendOptions, inTx = false): SendSettings {
  const { key, accept = inTx ? 'later' : 'now', keep } = sendOptions(options, 'options of send')
  if (inTx && accept === 'now') {
    const hint =
      'Whether the machine takes the event is known after the commit only. To send it outside of the transaction, pass tx: null.'
    throw invalidOption('accept', "'later' or 'always' in a transaction", accept, hint)
  }
  return { key, accept, keepMs: accept === 'later' ? keep : undefined }
}

const messageCount = integer(0, caps.inbox)
const messageNumber = integer(1, Number.MAX_SAFE_INTEGER)

const dropInbox: Rule<DropInbox> = (value, name) => {
  if (!Array.isArray(value)) return messageCount(value, name)
  if (value.length <= caps.inbox) return value.map((each) => messageNumber(each, name))
  throw invalidOption(name, `at most ${caps.inbox} numbers of messages`, value.length)
}

const retryOptions = table(
  {
    from: byDefault('checkpoint', oneOf('checkpoint', 'start')),
    dropInbox: byDefault(0, dropInbox),
    input: given,
  } satisfies RulesOf<RetryFrom>,
  {
    together: (options) => {
      const { from, dropInbox: drops } = options
      const isWithout = drops === undefined || drops === 0 || (Array.isArray(drops) && drops.length === 0)
      if ('input' in options && (from === 'checkpoint' || !isWithout)) {
        const hint = 'A job with a new input starts from the beginning: omit `from` and `dropInbox`.'
        throw invalidOption('input', 'no `from` and no `dropInbox` together with `input`', from ?? drops, hint)
      }
      if (from === 'start' && !isWithout)
        throw invalidOption('dropInbox', "no dropInbox together with from: 'start', which removes all messages", from)
    },
  },
)

/** @throws JobchartError INVALID_OPTION */
export function retrySettings(options: RetryFrom): RetrySettings {
  const { from, dropInbox: drops } = retryOptions(options, 'options of retry')
  return { fromStart: from === 'start', dropInbox: drops }
}

/** The ids of the jobs by what became of them. Each list holds the first 10,000 ids. */
export interface RetryReport {
  /** The full number of jobs of each list; present only if a list has fewer ids. */
  readonly totals?: Readonly<Record<'retried' | 'refused' | 'notFound', number>>
  readonly retried: readonly string[]
  /**
   * Jobs that are neither dead nor cancelled, or whose unique key is held by another job or by one that is
   * `cancelling`.
   */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
}

/** The ids of the jobs by what became of them. Each list holds the first 10,000 ids. */
export interface DiscardReport {
  /** The full number of jobs of each list; present only if a list has fewer ids. */
  readonly totals?: Readonly<Record<'discarded' | 'refused' | 'notFound', number>>
  readonly discarded: readonly string[]
  /** Jobs that have not ended: cancel them first. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
}

export interface StartOptions {
  /**
   * Repeats the start while the store does not answer, at intervals that grow from 100 ms to 5 s; meanwhile the runtime
   * is `starting`, and `storeError` is the error. A missing folder and wrong rights are not waited for: the start
   * fails. Default false: the start fails.
   */
  readonly retry?: boolean
}

export const startOptions = table({ retry: byDefault(false, boolean) } satisfies RulesOf<StartOptions>)

export interface StopOptions {
  /**
   * `drain`: accepts no new jobs, runs all queued jobs except those of paused queues · `finish` (default): lets running
   * jobs end; the others stay in the store · `abort`: aborts the signals of running jobs; jobs that have not ended
   * after `grace` are released without spending their attempt.
   */
  readonly mode?: StopMode
  /** How long the stop may take; jobs that still run then are aborted and released. Default 30 s. */
  readonly timeout?: Duration
  /** Default: the runtime's `grace`. */
  readonly grace?: Duration
  /** With `drain`: also waits for the retries of failed jobs, however long their backoff. Default false. */
  readonly retries?: boolean
}

const stopOptions = table({
  mode: byDefault('finish', oneOf<StopMode>('drain', 'finish', 'abort')),
  timeout: byDefault('30s', durationMs),
  grace: durationMs,
  retries: byDefault(false, boolean),
} satisfies RulesOf<StopOptions>)

/** @throws JobchartError INVALID_OPTION */
export function stopLimits(options: StopOptions, graceMs: number) {
  const { mode, timeout, grace, retries } = stopOptions(options, 'options of stop')
  return { mode, timeoutMs: timeout, graceMs: grace ?? graceMs, retries }
}

export interface StopReport {
  /**
   * Did all jobs that the mode waits for end in time? Not if the end of one could not be written, or the transaction in
   * which its handler has ended it is still open.
   */
  readonly completed: boolean
  /** Number of handlers that still run although their jobs were released. */
  readonly running: number
  /** Number of jobs that are lost at the end of the process, because the store is not durable. */
  readonly dropped: number
}

export interface PauseOptions {
  /** Ends the pause when it aborts: the runtime resumes, unless another pause is in force. */
  readonly signal?: AbortSignal
  /** Waits until all running jobs have ended. Default false. */
  readonly idle?: boolean
}

export const pauseOptions = table({
  signal: abortSignal,
  idle: byDefault(false, boolean),
} satisfies RulesOf<PauseOptions>)

export interface WaitOptions {
  /** How long to wait. Default: without limit. */
  readonly timeout?: Duration
  /** Aborts the wait. */
  readonly signal?: AbortSignal
}

const waitRules = {
  timeout: orNull(durationMs),
  signal: abortSignal,
} satisfies RulesOf<WaitOptions>

export const waitOptions = table(waitRules)

export interface DrainOptions extends WaitOptions {
  /** Also waits for the retries of failed jobs, however long their backoff. Default false. */
  readonly retries?: boolean
}

export const drainOptions = table({
  ...waitRules,
  retries: byDefault(false, boolean),
} satisfies RulesOf<DrainOptions>)

/** The size of the backlog. */
export interface Pressure {
  /** Jobs that are scheduled, queued or retrying. */
  readonly waiting: number
  /** null = no limit. */
  readonly capacity: number | null
  /** With a `capacity` of 0: none of the listed types has a free slot. */
  readonly full: boolean
  /** The types that have reached a `capacity` of their own; with a `capacity` of 0: those without a free slot. */
  readonly fullTypes: readonly string[]
}
