/** A runtime: a client that runs jobs. Its lifecycle is `machines/runtime.machine.ts`. */
import type { Actor } from 'xstate'
import type { runtimeMachine } from '../../machines/runtime.machine.ts'
import type { Client } from './client.ts'
import type { Stream } from '../core/stream.ts'
import type { DrainOptions, PauseOptions, StartOptions, StopOptions, StopReport } from '../core/call-options.ts'
import type { RuntimeState, RuntimeStats } from './runtime-stats.ts'

/** Made by `createRuntime`. */
export interface Runtime extends Client {
  /** The id of this runtime in the list of workers and in events. */
  readonly id: string

  /** The live XState actor of the runtime's chart. */
  readonly actor: Actor<typeof runtimeMachine>

  /** The state of the runtime's chart. */
  readonly state: RuntimeState

  /**
   * Why the store does not answer at the moment; null if it does. Calls are retried. `actor` emits at the start and the
   * end.
   */
  readonly storeError: Error | null

  /** The current state, then each new one; completes when the runtime has stopped. */
  readonly state$: Stream<RuntimeState>

  /**
   * Slots: the number of jobs that may run at once in this process, 0…1,000,000. A lower value lets running jobs end.
   */
  concurrency: number

  /**
   * Opens the store and starts to run jobs. Further calls return the first promise.
   * @throws JobchartError STORE_UNAVAILABLE (the state is `failed` then), STOPPED, INVALID_OPTION
   * @example await runtime.start({ retry: true }) // also if the database is started later than this process
   */
  start(options?: StartOptions): Promise<void>

  /**
   * Stops picking jobs in this process; running jobs continue. After this has resolved no job starts: a claimed job
   * that has not started is released, and the attempt is not counted. The pause lasts until `resume()`. A pause with a
   * `signal` ends when the signal aborts, unless another pause lasts.
   * @throws JobchartError NOT_ACCEPTED unless the runtime is running or paused, INVALID_OPTION; AbortError if `signal`
   * has
   *   aborted, or if the pause ends while the call waits for `idle`
   * @example await runtime.pause({ idle: true }) // no job runs now
   */
  pause(options?: PauseOptions): Promise<void>

  /** Ends every pause of this runtime. @throws JobchartError NOT_ACCEPTED unless the runtime is running or paused */
  resume(): Promise<void>

  /**
   * Waits until no job of this runtime's types is queued or running, in any process. It does not wait for jobs that are
   * scheduled, wait for a retry or an event, or are queued in a paused queue; with `retries` it waits for those to be
   * retried. New jobs are accepted meanwhile.
   * @returns false if `timeout` passed, or the runtime stopped, before that
   * @throws AbortError if `signal` aborts; JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   */
  drain(options?: DrainOptions): Promise<boolean>

  /**
   * Stops the runtime for good, within `timeout` plus two seconds for the last writes. Further calls join the first; a
   * harder mode or an earlier timeout takes effect.
   * @throws JobchartError INVALID_OPTION
   */
  stop(options?: StopOptions): Promise<StopReport>

  /**
   * Stops on the first of these signals, and aborts on the next. A signal within 300 ms of the one before is ignored:
   * process managers often send it twice. After the stop the process ends by itself, or by the signal if a stuck
   * handler keeps it alive. The signal handlers are removed when the runtime has stopped for any reason. Call it after
   * `start()`: a stop during the start makes `start()` reject with STOPPED.
   * @param signals one, or several
   * @returns a function that removes the signal handlers earlier
   * @throws JobchartError INVALID_OPTION for an unknown signal, a signal that cannot be handled (SIGKILL, SIGSTOP), and
   * options
   *   that `stop` refuses
   * @example runtime.stopOn(['SIGTERM', 'SIGINT'], { mode: 'finish', timeout: '30s' })
   */
  stopOn(signals: NodeJS.Signals | readonly NodeJS.Signals[], options?: StopOptions): () => void

  /** The state, the slots and the figures of each queue. */
  stats(): Promise<RuntimeStats>
}
