/**
 * Writes the checkpoints of machines. Those that are asked for in one turn, or while an earlier call is under way, are
 * one call: machines that were claimed together share a commit, go on and end together. A store that groups calls by
 * itself is not waited for: its commit has other calls, too. One that answers at once is asked at once.
 */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { roughSize } from '../core/payload.ts'
import { whenAnswered } from '../client/answer.ts'
import type { Timers } from '../client/timers.ts'
import type { CheckpointAnswer, CheckpointRequest, Store } from '../store.ts'

interface Waiting {
  readonly request: CheckpointRequest
  readonly resolve: (answer: CheckpointAnswer) => void
  readonly reject: (error: unknown) => void
  readonly run: AbortableRun
}

/** A run that writes a checkpoint. */
interface AbortableRun {
  /** Why it was asked to end early; null if it was not. */
  readonly abortReason: Error | null
  /** `sendNow` listens to it while the checkpoint waits for other calls: a signal that nobody needs is not made. */
  readonly signal: AbortSignal
}

/** Calls that were made together. */
interface Wave {
  unanswered: number
}

/** What one call writes at most; a single checkpoint may have more bytes. */
const callMax = { checkpoints: 200, bytes: 1_048_576 }
/** So long checkpoints wait at most for the answers to earlier ones, ms: a call may hang. */
const waitMsMax = 1_000

interface CheckpointsOptions {
  readonly store: Pick<Store, 'checkpoint' | 'capabilities'>
  readonly timers: Timers
}

export class Checkpoints {
  /** One per run at most. */
  private waiting: Waiting[] = []
  /** The last calls; null when they are answered. */
  private underWay: Wave | null = null
  /** Is a call made at the end of this turn? */
  private gathering = false
  /** Did the store take time for its last answer? Else there is nothing to gather for. */
  private isSlow = false
  private waitLimit: Timer | null = null
  /** Does `sendNow` listen to the runs whose checkpoints wait? */
  private isListening = false
  private readonly options: CheckpointsOptions

  constructor(options: CheckpointsOptions) {
    this.options = options
  }

  /**
   * Resolves when the checkpoint is stored or refused. Rejects if the call has failed: then it may be repeated.
   * @param run when it aborts, the checkpoint does not wait for other calls
   */
  write(request: CheckpointRequest, run: AbortableRun): Promise<CheckpointAnswer> {
    return this.underWay === null && !this.isSlow ? this.writeAlone(request) : this.writeTogether(request, run)
  }

  /** Nothing waits, and the last answer came at once. */
  private async writeAlone(request: CheckpointRequest): Promise<CheckpointAnswer> {
    let answers = this.options.store.checkpoint([request])
    if (answers instanceof Promise) {
      const wave: Wave = { unanswered: 1 }
      this.underWay = wave
      this.isSlow = true
      try {
        answers = await answers
      } finally {
        this.answered(wave)
      }
    }
    return answers[0] as CheckpointAnswer
  }

  private writeTogether(request: CheckpointRequest, run: AbortableRun): Promise<CheckpointAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject, run })
      if (run.abortReason !== null) return this.send()
      if (this.isHeld) {
        run.signal.addEventListener('abort', this.sendNow)
        this.isListening = true
        this.waitLimit ??= this.options.timers.after(waitMsMax, this.sendNow)
      } else if (!this.gathering) {
        this.gathering = true
        queueMicrotask(() => {
          this.gathering = false
          if (!this.isHeld) this.send()
        })
      }
    })
  }

  /** Do checkpoints wait for the answers to earlier ones? */
  private get isHeld(): boolean {
    return this.underWay !== null && this.options.store.capabilities.groupsCalls !== true
  }

  private readonly sendNow = (): void => this.send()

  /** Writes all that wait, whether or not earlier calls are answered. */
  private send(): void {
    this.waitLimit?.cancel()
    this.waitLimit = null
    const { waiting } = this
    this.waiting = []
    if (waiting.length === 0) return
    if (this.isListening) for (const { run } of waiting) run.signal.removeEventListener('abort', this.sendNow)
    this.isListening = false
    // A store that groups calls divides them by itself.
    const calls = callsOf(waiting, this.options.store.capabilities.groupsCalls !== true)
    const wave: Wave = { unanswered: calls.length }
    this.underWay = wave
    for (const call of calls) this.ask(call, wave)
    this.isSlow = wave.unanswered > 0
  }

  private ask(call: readonly Waiting[], wave: Wave): void {
    whenAnswered(
      () => this.options.store.checkpoint(call.map(({ request }) => request)),
      (answers) => {
        call.forEach(({ resolve }, i) => resolve(answers[i] as CheckpointAnswer))
        this.answered(wave)
      },
      (error) => {
        // The store cannot carry out the call, and perhaps only because of one in it.
        if (call.length > 1 && !isUnavailable(error)) {
          wave.unanswered += call.length
          for (const each of call) this.ask([each], wave)
        } else for (const { reject } of call) reject(error)
        this.answered(wave)
      },
    )
  }

  private answered(wave: Wave): void {
    wave.unanswered--
    // Calls that were made later hold what waits now.
    if (wave.unanswered > 0 || this.underWay !== wave) return
    this.underWay = null
    this.send()
  }
}

/** @param isMeasured is a call bounded by its bytes, too? To measure a state costs as much as to write it. */
function callsOf(waiting: readonly Waiting[], isMeasured: boolean): (readonly Waiting[])[] {
  if (waiting.length === 1) return [waiting]
  const calls: Waiting[][] = []
  let bytes = 0
  for (const each of waiting) {
    const call = calls.at(-1)
    const added = isMeasured ? sizeOf(each.request) : 0
    bytes += added
    if (call !== undefined && call.length < callMax.checkpoints && bytes <= callMax.bytes) call.push(each)
    else {
      calls.push([each])
      bytes = added
    }
  }
  return calls
}

/** Rough bytes. A state that cannot be read has none: its checkpoint is refused by the store. */
function sizeOf({ checkpoint }: CheckpointRequest): number {
  try {
    return roughSize(checkpoint.state)
  } catch {
    return 0
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
