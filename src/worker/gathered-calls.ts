/**
 * Gathers what runs write one by one. What is asked for in one turn, or while an earlier call is under way, is one
 * call, because a call costs more than what it does for a run. A store that groups calls by itself is not waited for:
 * its commit has other calls, too. One that answers at once is asked at once.
 */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { whenAnswered } from '../client/answer.ts'
import type { Timers } from '../client/timers.ts'
import type { Answer as StoreAnswer, StoreCapabilities } from '../store.ts'

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  readonly run: AbortableRun
}

/** A run that writes something. */
export interface AbortableRun {
  /** Why it was asked to end early; null if it was not. */
  readonly abortReason: Error | null
  /** `sendNow` listens to it while a write waits for other calls: a signal that nobody needs is not made. */
  readonly signal: AbortSignal
}

/** Calls that were made together. */
interface Wave {
  unanswered: number
}

/** What one call writes at most; a single request may have more bytes. */
const callMax = { requests: 200, bytes: 1_048_576 }
/** So long a write waits at most for the answers to earlier ones, ms: a call may hang. */
const waitMsMax = 1_000

interface GatheredCallsOptions<Request, Answer> {
  /** Asks the store. @returns an answer to each */
  readonly ask: (requests: readonly Request[]) => StoreAnswer<Answer[]>
  /** Rough bytes of a request. To measure it costs as much as to write it: not done where the store groups calls. */
  readonly sizeOf: (request: Request) => number
  readonly capabilities: Pick<StoreCapabilities, 'groupsCalls'>
  readonly timers: Timers
}

export class GatheredCalls<Request, Answer> {
  private waiting: Waiting<Request, Answer>[] = []
  /** The last calls; null when they are answered. */
  private underWay: Wave | null = null
  /** Is a call made at the end of this turn? */
  private gathering = false
  /** Did the store take time for its last answer? Else there is nothing to gather for. */
  private isSlow = false
  private waitLimit: Timer | null = null
  /** Does `sendNow` listen to the runs whose writes wait? */
  private isListening = false
  private readonly options: GatheredCallsOptions<Request, Answer>

  constructor(options: GatheredCallsOptions<Request, Answer>) {
    this.options = options
  }

  /**
   * Resolves with the answer of the store. Rejects if the call has failed: then it may be repeated.
   * @param run when it aborts, the write does not wait for other calls
   */
  write(request: Request, run: AbortableRun): Promise<Answer> {
    return this.underWay === null && !this.isSlow ? this.writeAlone(request) : this.writeTogether(request, run)
  }

  /** Nothing waits, and the last answer came at once. */
  private async writeAlone(request: Request): Promise<Answer> {
    let answers = this.options.ask([request])
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
    return answers[0] as Answer
  }

  private writeTogether(request: Request, run: AbortableRun): Promise<Answer> {
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

  /** Do writes wait for the answers to earlier ones? */
  private get isHeld(): boolean {
    return this.underWay !== null && !this.isGrouped
  }

  private get isGrouped(): boolean {
    return this.options.capabilities.groupsCalls === true
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
    const calls = this.callsOf(waiting)
    const wave: Wave = { unanswered: calls.length }
    this.underWay = wave
    for (const call of calls) this.ask(call, wave)
    this.isSlow = wave.unanswered > 0
  }

  private callsOf(waiting: readonly Waiting<Request, Answer>[]): (readonly Waiting<Request, Answer>[])[] {
    if (waiting.length === 1) return [waiting]
    const calls: Waiting<Request, Answer>[][] = []
    let bytes = 0
    for (const each of waiting) {
      const call = calls.at(-1)
      const added = this.isGrouped ? 0 : this.options.sizeOf(each.request)
      bytes += added
      if (call !== undefined && call.length < callMax.requests && bytes <= callMax.bytes) call.push(each)
      else {
        calls.push([each])
        bytes = added
      }
    }
    return calls
  }

  private ask(call: readonly Waiting<Request, Answer>[], wave: Wave): void {
    whenAnswered(
      () => this.options.ask(call.map(({ request }) => request)),
      (answers) => {
        call.forEach(({ resolve }, i) => resolve(answers[i] as Answer))
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

const isUnavailable = (error: unknown): boolean => error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
