/**
 * A stop under way: waits for what its mode waits for, never longer than its timeout. A second stop joins the first and can
 * only make it quicker: by a harder mode, or an earlier end.
 */
import type { StopMode } from '../../machines/runtime.machine.ts'
import type { Timer } from '../clock.ts'
import { JobchartError } from '../errors.ts'
import { isHeld, statesTagged } from '../job/lifecycle.ts'
import type { Store } from '../store.ts'
import type { Quiet } from './quiet.ts'
import type { Timers } from './timers.ts'
import type { Worker } from './worker.ts'

const hardness: Record<StopMode, number> = { drain: 0, finish: 1, abort: 2 }
/** After the timeout: for the releases to reach the store. */
const lastWriteMs = 1_000

export interface StoppingOptions {
  readonly worker: Worker
  readonly quiet: Quiet
  readonly timers: Timers
  /** Is anything under way, in the worker or on its way into the store? */
  readonly busy: () => boolean
}

export const stopped = (): JobchartError =>
  new JobchartError('STOPPED', 'the runtime is stopping or has stopped', { hint: 'Create a new runtime to go on.' })

export class Stopping {
  private mode: StopMode
  private deadline = Infinity
  private timer: Timer | null = null
  private offQuiet: () => void = () => {}
  private end: (how: 'quiet' | 'timeout') => void = () => {}
  private over = false
  private readonly options: StoppingOptions

  constructor(options: StoppingOptions, mode: StopMode) {
    this.options = options
    this.mode = mode
  }

  /** Resolves when nothing is under way any more, or nobody waits for it any longer. True if it ended by itself, in time. */
  async wait(timeoutMs: number, graceMs: number): Promise<boolean> {
    const how = await new Promise<'quiet' | 'timeout'>((resolve) => {
      this.end = resolve
      this.setDeadline(timeoutMs)
      this.enter(this.mode, graceMs)
    })
    this.rest()
    if (how === 'quiet') return true
    const { worker, timers } = this.options
    worker.abandon(stopped())
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
    return false
  }

  /** Stops harder, or sooner. */
  hurry(mode: StopMode, timeoutMs: number, graceMs: number): void {
    if (this.over) return
    this.setDeadline(timeoutMs)
    if (hardness[mode] > hardness[this.mode]) this.enter(mode, graceMs)
  }

  /** Something has ended. */
  check(): void {
    if (!this.over && this.mode !== 'drain' && !this.options.busy()) this.finish('quiet')
  }

  private enter(mode: StopMode, graceMs: number): void {
    this.mode = mode
    this.offQuiet()
    this.offQuiet = () => {}
    if (mode === 'drain') this.offQuiet = this.options.quiet.wait(() => this.finish('quiet'))
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

  private finish(how: 'quiet' | 'timeout'): void {
    if (this.over) return
    this.over = true
    this.end(how)
  }

  private rest(): void {
    this.timer?.cancel()
    this.offQuiet()
  }
}

/** Jobs in the store that wait and that nobody will run. */
export async function jobsLeft(store: Store): Promise<number> {
  const counts = await store.counts()
  let left = 0
  for (const state of statesTagged('live')) if (!isHeld(state)) left += counts[state]
  return left
}
