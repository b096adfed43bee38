/**
 * Checks the arguments of an enqueue, calls `enqueueMiddleware`, and makes the job to insert. A refused call stores
 * nothing.
 */
import { text } from '../core/checks.ts'
import { describe, invalidOption, JobchartError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import { differences, isDefinition, sameHandler } from '../core/definition-copy.ts'
import { toPayload, type Json } from '../core/payload.ts'
import { inputKey } from '../core/unique.ts'
import {
  enqueueOptions,
  pinsOf,
  type CheckedEnqueueOptions,
  type EnqueueOptions,
  type UniqueOption,
} from '../core/call-options.ts'
import type { EnqueueCall, EnqueueMiddleware } from '../core/enqueue-call.ts'
import type { Logger } from '../core/logger.ts'
import type { SendSpan, Telemetry } from '../core/telemetry.ts'
import { defaultMaxAttempts, limits, payloadLimits } from '../core/limits.ts'
import type { EditedInput, NewJob, ScheduledJob } from '../store.ts'
import { throughEnqueueMiddleware } from './enqueue-middleware.ts'
import { unknownType } from './not-found.ts'
import { parseInput, parseInputNow } from './validate.ts'

const noOptions: CheckedEnqueueOptions = {}
const typeName = text(limits.idCharsMax)
const noTags: readonly string[] = []

export interface PrepareOptions {
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly newId: () => string
  readonly clock: Clock
  readonly logger: Logger
  readonly middleware: readonly EnqueueMiddleware[]
  readonly telemetry: Telemetry | null
  /** The enqueue that is traced; null: none is. */
  readonly span: SendSpan | null
  /** Copies of listed definitions that were passed: each is compared once. */
  readonly copies: WeakSet<JobDefinition>
}

/**
 * The job to insert; a promise of it if its type has a schema, whose validation may be asynchronous.
 * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION
 */
export function prepare(
  preparing: PrepareOptions,
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions = noOptions,
  from: EnqueueCall['from'] = 'call',
): NewJob | Promise<NewJob> {
  checkListed(preparing, job)
  return prepareListed(preparing, job, input, options, from)
}

/** @throws JobchartError UNKNOWN_TYPE, INVALID_OPTION unless the job is one of `jobs`, or a copy of one */
export function checkListed({ jobs, copies, logger }: PrepareOptions, job: JobDefinition): void {
  const listed = jobs.get(job?.type)
  if ((listed !== undefined && listed === job) || copies.has(job)) return
  if (listed === undefined || !isDefinition(listed, job)) throw unknownJob(job, listed)
  copies.add(job)
  if (sameHandler(listed, job)) return
  logger.warn(
    'a copy of a definition was passed whose handler is written otherwise; the handler of the listed one runs',
    {
      type: job.type,
      hint: 'After a hot reload make the runtime anew with the new definitions. If these are two kinds of jobs, give each its own type.',
    },
  )
}

/** As `prepare`, for a child job of a machine: the runtime checked the definition when it was created. */
export const prepareChild = (
  preparing: PrepareOptions,
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
): NewJob | Promise<NewJob> => prepareListed(preparing, job, input, options, 'job')

function prepareListed(
  preparing: PrepareOptions,
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
  from: EnqueueCall['from'],
): NewJob | Promise<NewJob> {
  const checked = options === noOptions ? noOptions : enqueueOptions(options, 'options of enqueue')
  const made = unvalidated(preparing, job, input, checked, from)
  return job.schema === null ? made : parseInput(job, made.input).then(() => made)
}

/** As `prepare`, at once. @throws JobchartError as `prepare`; UNSUPPORTED if the schema of the type is asynchronous */
export function prepareNow(
  preparing: PrepareOptions,
  job: JobDefinition,
  input: unknown,
  options: CheckedEnqueueOptions,
  from: EnqueueCall['from'] = 'call',
): NewJob {
  checkListed(preparing, job)
  const made = unvalidated(preparing, job, input, options, from)
  parseInputNow(job, made.input)
  return made
}

/**
 * As `prepare`, for many inputs with the same options, which the caller has checked. Validations are made in parallel.
 */
export function prepareMany(
  preparing: PrepareOptions,
  job: JobDefinition,
  inputs: readonly unknown[],
  options: CheckedEnqueueOptions = noOptions,
): NewJob[] | Promise<NewJob[]> {
  checkListed(preparing, job)
  const made = inputs.map((input, i) => ofInput(i, () => unvalidated(preparing, job, input, options, 'call')))
  if (job.schema === null) return made
  const parsed = made.map(({ input }, i) =>
    parseInput(job, input).catch((error: unknown) => {
      throw atInput(i, error)
    }),
  )
  return Promise.all(parsed).then(() => made)
}

/** What is made of an input. @throws the same error with the place of the input in the list of its call */
export function ofInput<T>(i: number, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw atInput(i, error)
  }
}

/** The same error with the place of the input in the list of its call. */
function atInput(i: number, error: unknown): unknown {
  if (!(error instanceof JobchartError)) return error
  const { code, message, hint, cause } = error
  return new JobchartError(code, `inputs[${i}]: ${message}`, {
    ...(hint !== undefined && { hint }),
    ...(cause !== undefined && { cause }),
  })
}

function unvalidated(
  preparing: PrepareOptions,
  job: JobDefinition,
  input: unknown,
  options: CheckedEnqueueOptions,
  from: EnqueueCall['from'],
): NewJob {
  const plain = newJob(preparing, job, input, options, from)
  return job.machine === null ? plain : { ...plain, version: job.machine.version }
}

/**
 * The job to insert of a type whose definition is not here.
 * @throws JobchartError INVALID_INPUT, INVALID_OPTION
 */
export function prepareByName(
  preparing: PrepareOptions,
  type: string,
  input: unknown,
  options: EnqueueOptions = noOptions,
): NewJob {
  const checked = enqueueOptions(options, 'options of enqueueByName')
  const unknown = {
    type: typeName(type, 'type'),
    maxAttempts: defaultMaxAttempts,
    unique: false,
    keyOf: null,
    keyWeightOf: null,
  }
  return newJob(preparing, unknown, input, checked, 'call')
}

/**
 * The job of a tick as the middleware of this process changes it.
 * @throws JobchartError what `throughEnqueueMiddleware` throws
 */
export function prepareTick(preparing: PrepareOptions, job: ScheduledJob, id: string): ScheduledJob {
  const { middleware, telemetry } = preparing
  const made = middleware.length === 0 ? job : throughMiddlewareOfTick(middleware, job, id)
  if (telemetry === null) return made
  const span = telemetry.send({ type: job.type, from: 'schedule', count: null })
  const trace = span?.contextOf(id)
  span?.end({ inserted: 1, found: 0 }, 0)
  return trace === undefined ? made : { ...made, pins: { ...made.pins, trace } }
}

function throughMiddlewareOfTick(
  middleware: readonly EnqueueMiddleware[],
  job: ScheduledJob,
  id: string,
): ScheduledJob {
  const { meta: given, ...rest } = job
  const { type, priority, tags, maxAttempts } = rest
  // A copy: the template of the schedule stays as it is.
  const facts = { id, type, input: structuredClone(job.input), from: 'schedule' as const }
  const options = throughEnqueueMiddleware(middleware, facts, { priority, tags, ...(given && { meta: given }) })
  const { meta } = options
  const pins = pinsOf(options)
  return {
    ...rest,
    priority: options.priority ?? 0,
    tags: options.tags ?? noTags,
    maxAttempts: options.maxAttempts ?? maxAttempts,
    ...(meta !== undefined && { meta }),
    ...(pins && { pins }),
  }
}

/**
 * The input of a job that is to be sent through again.
 * @param job its definition, if this process has it
 * @throws JobchartError INVALID_INPUT
 */
export async function checkedInput(job: JobDefinition | undefined, type: string, input: unknown): Promise<EditedInput> {
  const payload =
    input === undefined ? undefined : toPayload(input, 'INVALID_INPUT', payloadLimits, 'input of job', type)
  if (job !== undefined) await parseInput(job, payload)
  return { input: payload }
}

/** Mutable: what few jobs have is added. */
type MadeJob = { -readonly [Name in keyof NewJob]: NewJob[Name] }

type Enqueued = Pick<JobDefinition, 'type' | 'maxAttempts' | 'unique' | 'keyOf' | 'keyWeightOf'>

function newJob(
  { newId, clock, middleware, span }: PrepareOptions,
  job: Enqueued,
  input: unknown,
  given: CheckedEnqueueOptions,
  from: EnqueueCall['from'],
): NewJob {
  const id = given.id ?? newId()
  // Copied before the middleware sees the input: what is stored is what the id of a `ctx.enqueue` was derived from.
  const payload =
    input === undefined ? undefined : toPayload(input, 'INVALID_INPUT', payloadLimits, 'input of job', job.type)
  const { type } = job
  const options =
    middleware.length === 0 ? given : throughEnqueueMiddleware(middleware, { id, type, input, from }, given)
  const made: MadeJob = plainJob(job, id, payload, options, clock)
  const trace = span === null ? undefined : span.contextOf(id)
  // Most calls have no options, and a job of the fewest members.
  const isPlain = options === noOptions && typeof job.unique === 'boolean' && job.keyWeightOf === null
  if (isPlain && trace === undefined) return made
  const { meta } = options
  const pins = pinsOf(options, trace)
  const unique = options.unique ?? job.unique
  const keyWeight = made.concurrencyKey === null ? null : keyWeightOf(job, made.concurrencyKey)
  if (keyWeight !== null) made.keyWeight = keyWeight
  if (meta !== undefined) made.meta = meta
  if (pins !== undefined) made.pins = pins
  if (typeof unique === 'object' && unique.until === 'start') made.until = unique.until
  return made
}

function plainJob(
  job: Enqueued,
  id: string,
  payload: Json | undefined,
  options: CheckedEnqueueOptions,
  clock: Clock,
): NewJob {
  const unique = options.unique ?? job.unique
  return {
    id,
    type: job.type,
    input: payload,
    priority: options.priority ?? 0,
    maxAttempts: options.maxAttempts ?? job.maxAttempts,
    tags: options.tags ?? noTags,
    concurrencyKey: job.keyOf === null ? null : keyOf(job, payload),
    runAt: options.runAt === undefined ? null : timeOf(options.runAt, clock.now()),
    delayMs: options.delay ?? 0,
    key: unique === false ? null : uniqueKey(unique, payload),
    onConflict: typeof unique === 'object' ? (unique.onConflict ?? 'keep') : 'keep',
  }
}

function uniqueKey(unique: Exclude<UniqueOption, false>, payload: Json | undefined): string {
  return (typeof unique === 'object' ? unique.key : undefined) ?? inputKey(payload ?? null)
}

const keyOf = (job: Enqueued, payload: Json | undefined): string | null =>
  calledFor(job, 'concurrencyKey', () => job.keyOf?.(payload) ?? null)

const keyWeightOf = (job: Enqueued, key: string): number | null =>
  calledFor(job, 'keyWeight', () => job.keyWeightOf?.(key) ?? null)

/** What a function of the definition gives. @throws JobchartError INVALID_INPUT if it throws */
function calledFor<T>(job: Enqueued, option: string, call: () => T): T {
  try {
    return call()
  } catch (error) {
    if (error instanceof JobchartError) throw error
    throw new JobchartError('INVALID_INPUT', `${option} of job ${job.type} threw for this input`, {
      hint: 'See `cause`. The function is called for every enqueue.',
      cause: error,
    })
  }
}

/**
 * ms since the epoch. A smaller number is taken for a time in seconds: 1e10 is April 1970 in ms and the year 2286 in
 * seconds.
 */
const runAtMsMin = 1e10
/** ms, a hundred years. A time farther ahead is taken for one in microseconds. */
const runAtAheadMsMax = 100 * 365 * 86_400_000

function timeOf(runAt: Date | number, now: number): number {
  const at = runAt instanceof Date ? runAt.getTime() : runAt
  // A virtual clock may itself be in 1970.
  if (at < Math.min(runAtMsMin, now)) {
    const hint = 'Pass milliseconds: multiply a time in seconds by 1000. To run the job now, leave runAt out.'
    throw invalidOption('runAt', 'a time after April 1970', runAt, hint)
  }
  if (at > now + runAtAheadMsMax) {
    const hint = 'Pass milliseconds since the epoch, not microseconds or nanoseconds.'
    throw invalidOption('runAt', 'a time within a hundred years from now', runAt, hint)
  }
  return Math.round(at)
}

function unknownJob(job: JobDefinition, listed: JobDefinition | undefined): JobchartError {
  if (typeof job?.type !== 'string') {
    const hint = 'Pass the definition first, then the input: enqueue(sendEmail, { to }).'
    return invalidOption('job', 'a job definition made by defineJob', job, hint)
  }
  if (listed === undefined) return unknownType(job.type)
  const others = differences(listed, job).join(', ')
  return new JobchartError(
    'UNKNOWN_TYPE',
    `\`jobs\` lists another definition of job type ${describe(job.type)} than the one passed: they differ in ${others}`,
    {
      hint: 'Call defineJob once per type, and import that definition both where it is listed and where it is enqueued.',
    },
  )
}
