/**
 * A running stop: waits as its mode says, never longer than its timeout. A second stop joins the first and can only
 * speed it up, by a harder mode or an earlier deadline.
 */
import type { StopMode } from '../../machines/runtime.machine.ts'
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { isLeased, statesTagged } from '../core/lifecycle.ts'
import type { Connection } from '../client/connection.ts'
import { CallDeadline } from '../client/call-deadline.ts'
import type { DrainScope } from './drain.ts'
import type { Timers } from '../client/timers.ts'
import type { Worker } from './worker.ts'

const hardness: Record<StopMode, number> = { drain: 0, finish: 1, abort: 2 }
/** After the timeout: time for handlers to end after the abort of their signal. Then they are abandoned. */
const lastGraceMs = 50

interface ShutdownOptions {
  /** For the mode `drain`. */
  readonly scope: DrainScope
  readonly worker: Worker
  readonly timers: Timers
  /** Called when nothing may be picked any more: the drain has ended, or its time is up. */
  readonly halt: () => void
}

export const stopped = (): JobchartError =>
  new JobchartError('STOPPED', 'the runtime is stopping or has stopped', {
    hint: 'A stopped runtime cannot be started again: create a new one, or enqueue from another process.',
  })

interface WorkEnd {
  readonly inTime: boolean
  readonly deadline: CallDeadline
}

export class Shutdown {
  private mode: StopMode
  private deadline = Infinity
  private timer: Timer | null = null
  private stopDraining: () => void = () => {}
  private end: (how: 'done' | 'timeout') => void = () => {}
  private ended = false
  private readonly options: ShutdownOptions

  constructor(options: ShutdownOptions, mode: StopMode) {
    this.options = options
    this.mode = mode
  }

  /**
   * Resolves when all work has ended, or after the timeout when also the releases are written.
   * @returns whether the work ended before the timeout; and the limit for these releases and all calls that follow, so
   * that a store that does not answer delays the stop once
   */
  async wait(timeoutMs: number, graceMs: number): Promise<WorkEnd> {
    const how = await new Promise<'done' | 'timeout'>((resolve) => {
      this.end = resolve
      this.setDeadline(timeoutMs)
      this.enter(this.mode, graceMs)
    })
    this.cancelTimer()
    const { worker, timers } = this.options
    const deadline = new CallDeadline(timers.clock)
    if (how === 'done') return { inTime: true, deadline }
    worker.abort(stopped(), lastGraceMs)
    await new Promise<void>((resolve) => {
      void deadline.expired.then(resolve)
      this.end = () => resolve()
      this.ended = false
      this.mode = 'abort'
      this.check()
    })
    this.ended = true
    this.cancelTimer()
    return { inTime: false, deadline }
  }

  /** Applies a harder mode or an earlier deadline. */
  escalate(mode: StopMode, timeoutMs: number, graceMs: number): void {
    if (this.ended) return
    this.setDeadline(timeoutMs)
    if (hardness[mode] > hardness[this.mode]) this.enter(mode, graceMs)
  }

  /** To be called when a run or a write has ended. */
  check(): void {
    if (this.ended || this.mode === 'drain') return
    if (!this.options.worker.hasWork) this.finish('done')
  }

  private enter(mode: StopMode, graceMs: number): void {
    this.mode = mode
    this.stopDraining()
    this.stopDraining = () => {}
    const { worker, scope } = this.options
    if (mode === 'drain') this.stopDraining = worker.drains.wait(scope, () => this.finish('done'))
    if (mode === 'abort') worker.abort(stopped(), graceMs)
    this.check()
  }

  private setDeadline(timeoutMs: number): void {
    const { timers } = this.options
    const deadline = timers.clock.monotonic() + timeoutMs
    if (deadline >= this.deadline) return
    this.deadline = deadline
    this.timer?.cancel()
    this.timer = timers.after(timeoutMs, () => this.finish('timeout'))
  }

  private finish(how: 'done' | 'timeout'): void {
    if (this.ended) return
    this.ended = true
    this.options.halt()
    this.end(how)
  }

  private cancelTimer(): void {
    this.timer?.cancel()
    this.stopDraining()
  }
}

interface ShutdownTargets {
  readonly connection: Connection
  readonly worker: Worker
  /** The id of the worker in the store. */
  readonly id: string
  readonly starting: Promise<void>
  readonly deadline: CallDeadline
}

/**
 * Stops the worker and closes the connection, also if the store does not answer. Returns the number of jobs that are
 * lost.
 */
export async function shutdown({ connection, worker, id, starting, deadline }: ShutdownTargets): Promise<number> {
  const { store, settings } = connection
  const failed = (error: unknown): void =>
    settings.logger.error('a call to the store failed during the stop', { error })
  // A pending start would set up again what is closed here.
  await deadline.wait(starting.catch(() => {}))
  const dropped = store.capabilities.durable ? 0 : await deadline.wait(jobsLeft(connection)).catch(failed)
  await worker.stop()
  await deadline.wait(worker.threads.close())
  if (connection.opened) await deadline.wait(store.worker(id, null)).catch(failed)
  await connection.close(stopped(), deadline).catch(failed)
  return dropped ?? 0
}

/** Number of jobs in the store that have not ended and do not run. */
async function jobsLeft(connection: Connection): Promise<number> {
  await connection.ready()
  const counts = await connection.store.counts()
  let left = 0
  for (const state of statesTagged('live')) if (!isLeased(state)) left += counts[state]
  return left
}
