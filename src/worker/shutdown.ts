/**
 * A stop under way: waits for what its mode waits for, never longer than its timeout. A second stop joins the first and can
 * only make it quicker: by a harder mode, or an earlier end.
 */
import type { StopMode } from '../../machines/runtime.machine.ts'
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { isLeased, statesTagged } from '../core/lifecycle.ts'
import type { Connection } from '../client/connection.ts'
import { CallDeadline } from '../client/call-deadline.ts'
import type { DrainScope, DrainWatcher } from './drain.ts'
import type { Timers } from '../client/timers.ts'
import type { Worker } from './worker.ts'

const hardness: Record<StopMode, number> = { drain: 0, finish: 1, abort: 2 }
/** After the timeout: for handlers that end when their signal aborts. The others are abandoned then. */
const lastGraceMs = 50
/** After the timeout: for the releases to reach the store. */
const lastWriteMs = 1_000
/** What is on its way into the store ends without a word. */
const lookMs = 100

export interface ShutdownOptions {
  /** What the mode `drain` waits for. */
  readonly scope: DrainScope
  readonly worker: Worker
  readonly drains: DrainWatcher
  readonly timers: Timers
  /** Is anything under way, in the worker or on its way into the store? */
  readonly busy: () => boolean
  /** Nothing is to be picked any more: what a drain waited for has ended, or its time is up. */
  readonly halt: () => void
}

export const stopped = (): JobchartError =>
  new JobchartError('STOPPED', 'the runtime is stopping or has stopped', {
    hint: 'A stopped runtime stays stopped: create a new one, or enqueue from another process.',
  })

export class Shutdown {
  private mode: StopMode
  private deadline = Infinity
  private timer: Timer | null = null
  private lookTimer: Timer | null = null
  private stopDraining: () => void = () => {}
  private end: (how: 'done' | 'timeout') => void = () => {}
  private over = false
  private readonly options: ShutdownOptions

  constructor(options: ShutdownOptions, mode: StopMode) {
    this.options = options
    this.mode = mode
  }

  /** Resolves when nothing is under way any more, or nobody waits for it any longer. True if it ended by itself, in time. */
  async wait(timeoutMs: number, graceMs: number): Promise<boolean> {
    const how = await new Promise<'done' | 'timeout'>((resolve) => {
      this.end = resolve
      this.setDeadline(timeoutMs)
      this.enter(this.mode, graceMs)
    })
    this.restMs()
    if (how === 'done') return true
    const { worker, timers } = this.options
    worker.abort(stopped(), lastGraceMs)
    await new Promise<void>((resolve) => {
      const last = timers.after(lastWriteMs, resolve)
      this.end = () => {
        last.cancel()
        resolve()
      }
      this.over = false
      this.mode = 'abort'
      this.check()
    })
    this.over = true
    this.restMs()
    return false
  }

  /** Stops harder, or sooner. */
  escalate(mode: StopMode, timeoutMs: number, graceMs: number): void {
    if (this.over) return
    this.setDeadline(timeoutMs)
    if (hardness[mode] > hardness[this.mode]) this.enter(mode, graceMs)
  }

  /** Something has ended. */
  check(): void {
    if (this.over || this.mode === 'drain') return
    if (!this.options.busy()) return this.finish('done')
    this.lookTimer ??= this.options.timers.after(lookMs, () => {
      this.lookTimer = null
      this.check()
    })
  }

  private enter(mode: StopMode, graceMs: number): void {
    this.mode = mode
    this.stopDraining()
    this.stopDraining = () => {}
    const { drains, scope } = this.options
    if (mode === 'drain') this.stopDraining = drains.wait(scope, () => this.finish('done'))
    if (mode === 'abort') this.options.worker.abort(stopped(), graceMs)
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
    if (this.over) return
    this.over = true
    this.options.halt()
    this.end(how)
  }

  private restMs(): void {
    this.timer?.cancel()
    this.lookTimer?.cancel()
    this.lookTimer = null
    this.stopDraining()
  }
}

export interface ShutdownTargets {
  readonly connection: Connection
  readonly worker: Worker
  /** What the store knows the worker by. */
  readonly id: string
  readonly starting: Promise<void>
}

/** Lets go of everything, whether the store answers or not. Gives the number of jobs that are lost with the process. */
export async function shutdown({ connection, worker, id, starting }: ShutdownTargets): Promise<number> {
  const { store, settings } = connection
  const leave = new CallDeadline(settings.clock)
  const failed = (error: unknown): void => settings.logger.error('the store did not close well', { error })
  // A start that is under way must not build up what is taken down here.
  await leave.wait(starting.catch(() => {}))
  const dropped = store.capabilities.durable ? 0 : await leave.wait(jobsLeft(connection)).catch(failed)
  await worker.stop()
  if (connection.opened) await leave.wait(store.worker(id, null)).catch(failed)
  await connection.close(stopped(), leave).catch(failed)
  return dropped ?? 0
}

/** Jobs in the store that wait and that nobody will run. */
async function jobsLeft(connection: Connection): Promise<number> {
  await connection.ready()
  const counts = await connection.store.counts()
  let left = 0
  for (const state of statesTagged('live')) if (!isLeased(state)) left += counts[state]
  return left
}
