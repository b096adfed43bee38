/** A type of job: what it takes, what it does, how it is limited and retried. Checked here, at definition. */
import type { Observable } from 'rxjs'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { invalidOption } from './errors.ts'
import { checkBackoff, exponential, type Backoff } from './job/backoff.ts'
import { durationMs, type Duration } from './job/duration.ts'
import type { JobRecord } from './job/job.ts'
import type { Json } from './job/payload.ts'
import type { JobHandle } from './handle.ts'
import { checkFunction, knownKeys, textOption, whole } from './checks.ts'
import { checkUnique, type EnqueueArguments, type UniqueOption } from './call-options.ts'
import { limits } from './limits.ts'
import type { TypeLimits } from './store.ts'

/**
 * What middleware puts on `ctx.values`. Empty here; your application declares its own members:
 * @example declare module 'jobchart' { interface ContextValues { user: User } }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- an interface, so that users can merge their members into it
export interface ContextValues {}

/** What a run knows and can do. Its members may be destructured. */
export interface RunContext {
  readonly id: string
  readonly type: string
  /** 1 for the first attempt of a generation. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Aborts on cancel, timeout, lost lease and shutdown. `signal.reason` is a JobchartError whose code tells which:
   * CANCELLED, TIMEOUT, LEASE_LOST, STOPPED.
   */
  readonly signal: AbortSignal
  /** When this attempt will be timed out, ms since the epoch; null without a timeout. */
  readonly deadline: number | null
  /** The job as it was claimed. */
  readonly job: JobRecord
  /** What middleware put there; fresh for each attempt. */
  readonly values: ContextValues
  /**
   * Says how far it is. The last value is kept with the job; writes are throttled, the last one is never lost.
   * @throws JobchartError INVALID_OUTPUT if the value is not strict JSON
   */
  readonly checkin: (value: unknown) => void
  /** Keeps a line with the job (the last 100). `fields` must be strict JSON. */
  readonly log: (message: string, fields?: Record<string, unknown>) => void
  /**
   * Runs `work` once per generation of the job: its result is stored, and a retry or resume gets it back instead.
   * @throws whatever `work` throws; LEASE_LOST if the job is no longer this run's; INVALID_OUTPUT if the result is not JSON
   */
  readonly step: <T>(name: string, work: () => T | PromiseLike<T>) => Promise<T>
  /** Enqueues another job: also while the runtime drains, and without waiting for room, which its own slot might have to make. */
  readonly enqueue: <Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ) => Promise<JobHandle<Output>>
}

/** What a handler may give back; of an Observable each value is a check-in and the last one the output. */
export type HandlerResult<Output> = Output | PromiseLike<Output> | Observable<Output>

/** Wraps every run: `next()` goes on inwards and resolves with the output. Throwing fails the attempt. */
export type Middleware = (context: RunContext, next: () => Promise<unknown>) => unknown

export interface RetryOptions {
  /** Attempts at most. Default 3; 1 = straight to dead. */
  readonly maxAttempts?: number
  /** Default: exponential from 1 s to 1 h with full jitter. */
  readonly backoff?: Backoff
  /** Is another attempt worth it after this error? Default: yes. */
  readonly retryIf?: (error: unknown) => boolean
}

export interface JobOptions<Input, Parsed, Output> {
  /** Its name, and its queue's. 1…200 characters. */
  readonly type: string
  /** Weight of its queue, 1…100000. Default 1. */
  readonly priority?: number
  /** Running at once, all processes together. Default, and 0: no cap. */
  readonly concurrency?: number
  /** Jobs with the same key share `perKey`. */
  readonly concurrencyKey?: (input: Input) => string | null | undefined
  /** Running at once per concurrencyKey. Default 1 where there is a key. */
  readonly perKey?: number
  /** Starts at most in any window of `per`, all processes together. */
  readonly rateLimit?: { readonly limit: number; readonly per: Duration }
  readonly retry?: RetryOptions
  /** Per attempt. Default: none. */
  readonly timeout?: Duration
  /** Default for its enqueues. */
  readonly unique?: UniqueOption
  readonly run: (input: Parsed, context: RunContext) => HandlerResult<Output>
}

/** A checked job type; made by `defineJob`. `Input` and `Output` are inferred from it wherever it is used. */
export interface JobDefinition<Input = unknown, Output = unknown> {
  readonly type: string
  readonly priority: number
  readonly limits: TypeLimits
  readonly schema: StandardSchemaV1 | null
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly retryIf: ((error: unknown) => boolean) | null
  readonly timeoutMs: number | null
  readonly unique: UniqueOption
  readonly keyOf: ((input: Json | undefined) => string | null) | null
  readonly run: (input: unknown, context: RunContext) => unknown
  /** Never there at run time; carries the types. */
  readonly '~types'?: { readonly input: Input; readonly output: Output }
}

/**
 * Defines a type of job.
 *
 * With `input`, any Standard Schema (zod, valibot, arktype, …), the input's types are inferred from it, and every input is
 * validated at enqueue and again before each run. Without it: `defineJob<Input, Output>({ … })`.
 *
 * @throws JobchartError INVALID_OPTION for an option that makes no sense
 * @example
 * const sendEmail = defineJob({
 *   type: 'email.send',
 *   input: z.object({ to: z.string() }),
 *   retry: { maxAttempts: 5 },
 *   run: async ({ to }, { signal }) => ({ messageId: await send(to, signal) }),
 * })
 */
export function defineJob<Schema extends StandardSchemaV1, Output>(
  options: JobOptions<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, Output> & {
    readonly input: Schema
  },
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Output>
export function defineJob<Input = undefined, Output = unknown>(
  options: JobOptions<Input, Input, Output> & { readonly input?: undefined },
): JobDefinition<Input, Output>
export function defineJob<Input, Output>(
  options: JobOptions<Input, Input, Output> & { readonly input?: StandardSchemaV1 | undefined },
): JobDefinition<Input, Output> {
  knownKeys('job', options, jobKeys)
  const { type, priority = 1, concurrency, perKey, rateLimit, retry = {}, timeout, unique, input: schema } = options
  textOption('type', type, limits.idCharsMax)
  const of = (option: string): string => `${option} of job ${type}`
  checkFunction(of('run'), options.run)
  knownKeys(of('retry'), retry, ['maxAttempts', 'backoff', 'retryIf'])
  if (unique !== undefined) checkUnique(unique)
  const { concurrencyKey } = options
  if (concurrencyKey !== undefined) checkFunction(of('concurrencyKey'), concurrencyKey)
  if (retry.retryIf !== undefined) checkFunction(of('retry.retryIf'), retry.retryIf)
  if (perKey !== undefined && concurrencyKey === undefined) {
    throw invalidOption(of('concurrencyKey'), 'a function beside perKey', concurrencyKey)
  }
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    throw invalidOption(of('input'), 'a Standard Schema', schema)
  }
  return Object.freeze({
    type,
    priority: whole(of('priority'), priority, 1, 100_000),
    limits: Object.freeze({
      concurrency: concurrency === undefined ? null : whole(of('concurrency'), concurrency, 0, 1_000_000) || null,
      perKey: concurrencyKey === undefined ? null : whole(of('perKey'), perKey ?? 1, 1, 1_000_000),
      rate: rateLimit === undefined ? null : rateOf(rateLimit, of('rateLimit')),
    }),
    schema: schema ?? null,
    maxAttempts: whole(of('retry.maxAttempts'), retry.maxAttempts ?? 3, 1, 1_000_000),
    backoff: checkBackoff(retry.backoff ?? exponential()),
    retryIf: retry.retryIf ?? null,
    timeoutMs: timeout === undefined ? null : durationMs(timeout, of('timeout')),
    unique: unique ?? false,
    keyOf: concurrencyKey === undefined ? null : keyFunction(concurrencyKey as KeyFunction, of('concurrencyKey')),
    run: options.run as (input: unknown, context: RunContext) => unknown,
  })
}

const jobKeys = [
  ...(['type', 'input', 'run', 'priority', 'retry', 'timeout', 'unique'] as const),
  ...(['concurrency', 'concurrencyKey', 'perKey', 'rateLimit'] as const),
]

function rateOf(rate: { readonly limit: number; readonly per: Duration }, option: string) {
  knownKeys(option, rate, ['limit', 'per'])
  const { limit, per } = rate
  const perMs = durationMs(per, `${option}.per`)
  if (perMs === 0) throw invalidOption(`${option}.per`, 'a window longer than 0 ms', per)
  return Object.freeze({ limit: whole(`${option}.limit`, limit, 1, 1_000_000), perMs })
}

type KeyFunction = (input: unknown) => string | null | undefined

function keyFunction(keyOf: KeyFunction, option: string) {
  return (input: Json | undefined): string | null => {
    const key = keyOf(input) ?? null
    if (key === null || (typeof key === 'string' && key.length <= limits.keyCharsMax && key.isWellFormed())) return key
    throw invalidOption(option, `a function that gives text of ${limits.keyCharsMax} characters at most, or null`, key)
  }
}
