/**
 * Jobs as a part of an event stream: RxJS operators that enqueue what a source emits, or run it and emit the outputs.
 */
import type { OperatorFunction } from 'rxjs'
import { boundedMap } from '../client/bounded-map.ts'
import type { Connection } from '../client/connection.ts'
import { checkListed } from '../client/enqueue.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import { boolean, byDefault, fn, integer, oneOf, orNull, table, type Rule, type RulesOf } from '../core/checks.ts'
import type { JobDefinition } from '../core/definition.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { Client } from './client.ts'
import { StoreClient } from './store-client.ts'

/** The job of a value: its input, and options as `enqueue` takes them. */
export interface StreamJob<Input> {
  readonly input: Input
  readonly options?: EnqueueOptions
}

/** What `enqueueTo` and `runJob` have in common. */
export interface StreamOptions<Value> {
  /**
   * Values that wait until others have been worked on, at most; the stream ends with SLOW_READER when one more comes.
   * 0…1,000,000, default 10,000.
   */
  readonly buffer?: number
  /**
   * What an error of one value does. `log` (default): it is logged as an error, and the stream goes on · `throw`: it
   * ends the stream · a function: called with the error and the value, and the stream goes on unless it throws. A
   * client that has stopped (STOPPED) always ends the stream, because no later value could be enqueued.
   */
  readonly onError?: 'log' | 'throw' | ((error: unknown, value: Value) => void)
  /**
   * Called with true when the next value would have to wait, and with false when it would no longer: to pause the
   * source.
   */
  readonly onPressure?: (isFull: boolean) => void
}

export interface EnqueueToOptions<Value, Output, Machine extends MachineTypes> extends StreamOptions<Value> {
  /**
   * Enqueues under way at once, those that wait for room included. 1…10,000, default 100; 1 = strictly one after the
   * other.
   */
  readonly concurrency?: number
  /**
   * Called with each value once its job is stored, before its handle is emitted: acknowledges a message to its broker.
   * A promise is awaited; what it throws counts as an error of the value. It is not called after the stream was
   * unsubscribed from: the broker delivers again, and an `id` of the message keeps that one job.
   */
  readonly acknowledge?: (value: Value, job: JobHandle<Output, Machine>) => unknown
}

export interface RunJobOptions<Value> extends StreamOptions<Value> {
  /** Jobs under way at once. 1…10,000, default 10. */
  readonly concurrency?: number
  /**
   * Emits the outputs in the order of the inputs; one that has to wait for an earlier one counts as under way. Default:
   * as they come.
   */
  readonly ordered?: boolean
}

/** How the values of a source become jobs. */
interface MapOption<Value, Input> {
  /** Makes a job of a value. What it throws counts as an error of the value. Default: the value is the input. */
  readonly map: (value: Value) => StreamJob<Input>
}

interface MayMap<Value> {
  readonly map?: MapOption<Value, unknown>['map'] | undefined
}

/**
 * An RxJS operator that enqueues a job for each value and emits the handles, in the order of the values. No more than
 * `concurrency` enqueues are under way at once; further values wait in a buffer that has a bound. Unsubscribing gives
 * up the enqueues that wait for room; jobs that are stored stay.
 *
 * @param client a runtime or client
 * @param job one of its jobs
 * @param options see `EnqueueToOptions`, `StreamOptions`; with `map` the values may be of any type
 * @returns the operator; a subscription of it fails with the error of the source, SLOW_READER, STOPPED, or as `onError`
 * says
 * @throws JobchartError INVALID_OPTION
 * @example orders$.pipe(enqueueTo(runtime, ship)).subscribe((job) => console.log(job.id))
 * @example
 * messages$.pipe(
 *   enqueueTo(runtime, ship, {
 *     map: ({ id, body }) => ({ input: body, options: { id } }),
 *     acknowledge: (message) => message.ack(),
 *   }),
 * )
 */
export function enqueueTo<Input, Output, Machine extends MachineTypes, Value>(
  client: Client,
  job: JobDefinition<Input, Output, Machine>,
  options: EnqueueToOptions<Value, Output, Machine> & MapOption<Value, NoInfer<Input>>,
): OperatorFunction<Value, JobHandle<Output, Machine>>
export function enqueueTo<Input, Output, Machine extends MachineTypes>(
  client: Client,
  job: JobDefinition<Input, Output, Machine>,
  options?: EnqueueToOptions<NoInfer<Input>, Output, Machine> & { readonly map?: undefined },
): OperatorFunction<NoInfer<Input>, JobHandle<Output, Machine>>
export function enqueueTo<Output, Machine extends MachineTypes, Value>(
  client: Client,
  job: JobDefinition<unknown, Output, Machine>,
  options: EnqueueToOptions<Value, Output, Machine> & MayMap<Value> = {},
): OperatorFunction<Value, JobHandle<Output, Machine>> {
  const connection = connectionOf('enqueueTo', client, job)
  const { concurrency, buffer, onPressure } = enqueueToOptions(options, 'options of enqueueTo')
  const { acknowledge } = options
  const enqueue = enqueuer<Value, Output, Machine>(connection, job, options.map)
  return boundedMap({
    concurrency,
    buffer,
    onPressure,
    ordered: true,
    begin: (signal) =>
      guard(connection, job, options.onError, signal, async (value) => {
        const handle = await enqueue(value, signal)
        if (!signal.aborted) await acknowledge?.(value, handle)
        return handle
      }),
  })
}

/**
 * An RxJS operator that runs a job for each value and emits the outputs. No more than `concurrency` jobs are under way
 * at once; further values wait in a buffer that has a bound. Unsubscribing cancels the jobs under way, except those
 * that were there before (same id, same unique key).
 *
 * @param client a runtime or client; the jobs run wherever their type is run
 * @param job one of its jobs
 * @param options see `RunJobOptions`, `StreamOptions`; with `map` the values may be of any type
 * @returns the operator; a subscription of it fails with the error of the source, SLOW_READER, STOPPED, or as `onError`
 * says
 * @throws JobchartError INVALID_OPTION
 * @example images$.pipe(runJob(runtime, thumbnail, { concurrency: 4, ordered: true })).subscribe(show)
 */
export function runJob<Input, Output, Machine extends MachineTypes, Value>(
  client: Client,
  job: JobDefinition<Input, Output, Machine>,
  options: RunJobOptions<Value> & MapOption<Value, NoInfer<Input>>,
): OperatorFunction<Value, Output>
export function runJob<Input, Output, Machine extends MachineTypes>(
  client: Client,
  job: JobDefinition<Input, Output, Machine>,
  options?: RunJobOptions<NoInfer<Input>> & { readonly map?: undefined },
): OperatorFunction<NoInfer<Input>, Output>
export function runJob<Output, Machine extends MachineTypes, Value>(
  client: Client,
  job: JobDefinition<unknown, Output, Machine>,
  options: RunJobOptions<Value> & MayMap<Value> = {},
): OperatorFunction<Value, Output> {
  const connection = connectionOf('runJob', client, job)
  const { concurrency, buffer, onPressure, ordered } = runJobOptions(options, 'options of runJob')
  const enqueue = enqueuer<Value, Output, Machine>(connection, job, options.map)
  const begin = (signal: AbortSignal) => {
    const underWay = new Set<string>()
    const cancel = async (ids: readonly string[]): Promise<void> => {
      try {
        if (ids.length > 0) await client.cancel(ids, { reason: 'unsubscribed' })
      } catch (error) {
        connection.settings.logger.error('the jobs of an unsubscribed stream could not be cancelled', {
          error,
          ids,
        })
      }
    }
    signal.addEventListener('abort', () => void cancel([...underWay]), { once: true })
    return guard(connection, job, options.onError, signal, async (value: Value) => {
      const handle = await enqueue(value, signal)
      const isOwn = !handle.deduplicated
      if (isOwn && signal.aborted) await cancel([handle.id])
      if (isOwn) underWay.add(handle.id)
      try {
        return await handle.result({ signal })
      } finally {
        underWay.delete(handle.id)
      }
    })
  }
  return boundedMap({ concurrency, buffer, onPressure, ordered, begin })
}

/** @throws JobchartError INVALID_OPTION, UNKNOWN_TYPE: an error of each value would be logged only */
function connectionOf(operator: string, client: Client, job: JobDefinition): Connection {
  if (client instanceof StoreClient) {
    checkListed(client.connection.preparingUnder(null), job)
    return client.connection
  }
  const hint = `Pass the runtime or client first, then the definition: ${operator}(runtime, sendEmail).`
  throw invalidOption('runtime', 'a runtime or a client', client, hint)
}

const errorChoice = oneOf('log', 'throw')
const errorFunction: Rule<unknown> = (value, name) => (typeof value === 'function' ? value : errorChoice(value, name))

const streamRules = (concurrencyDefault: number) => ({
  concurrency: byDefault(concurrencyDefault, integer(1, 10_000)),
  buffer: byDefault(10_000, integer(0, 1_000_000)),
  onError: byDefault('log', errorFunction),
  onPressure: orNull(fn<(isFull: boolean) => void>()),
  map: fn(),
})

const enqueueToOptions = table({
  ...streamRules(100),
  acknowledge: fn(),
} satisfies RulesOf<EnqueueToOptions<never, never, MachineTypes> & MayMap<never>>)

const runJobOptions = table({
  ...streamRules(10),
  ordered: byDefault(false, boolean),
} satisfies RulesOf<RunJobOptions<never> & MayMap<never>>)

/** Enqueues the job of a value, unless `signal` or the signal in its options aborts. */
function enqueuer<Value, Output, Machine extends MachineTypes>(
  connection: Connection,
  job: JobDefinition<unknown, Output, Machine>,
  map: MayMap<Value>['map'],
) {
  return (value: Value, signal: AbortSignal): Promise<JobHandle<Output, Machine>> => {
    const { input, options }: StreamJob<unknown> = map === undefined ? { input: value } : map(value)
    const own = options?.signal
    const both = own === undefined ? signal : AbortSignal.any([own, signal])
    return connection.enqueue<Output, Machine>(job, input, { ...options, signal: both })
  }
}

/** Applies `onError` to what `work` throws. */
function guard<Value, Result>(
  { settings: { logger } }: Connection,
  { type }: JobDefinition,
  onError: StreamOptions<Value>['onError'],
  signal: AbortSignal,
  work: (value: Value) => Promise<Result>,
) {
  return async (value: Value): Promise<readonly Result[]> => {
    try {
      return [await work(value)]
    } catch (error) {
      // The stream was unsubscribed from: the error is dropped.
      if (signal.aborted) return []
      if (onError === 'throw' || (error instanceof JobchartError && error.code === 'STOPPED')) throw error
      if (typeof onError === 'function') onError(error, value)
      else logger.error('the job of a value of a stream failed', { error, type })
      return []
    }
  }
}
