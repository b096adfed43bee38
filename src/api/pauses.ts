/**
 * The pauses of a runtime. A pause ends when its signal aborts; a resume ends all. The runtime is paused while one is
 * active.
 */
import { AbortError } from '../core/errors.ts'

interface PauseScope {
  /** Ends the pause. */
  readonly signal: AbortSignal | undefined
  /** Does the caller wait until no job runs? Then an earlier resume rejects the wait. */
  readonly idle: boolean
}

export class Pauses {
  private readonly active = new Set<Pause>()
  private readonly lastEnded: () => void

  /** @param lastEnded called when a signal has ended the last pause */
  constructor(lastEnded: () => void) {
    this.lastEnded = lastEnded
  }

  begin(scope: PauseScope): Pause {
    const pause = new Pause(scope, () => {
      this.active.delete(pause)
      if (this.active.size === 0) this.lastEnded()
    })
    this.active.add(pause)
    return pause
  }

  /** Ends all pauses: the runtime is resumed, or stops. */
  end(): void {
    for (const pause of this.active) pause.release()
    this.active.clear()
  }
}

class Pause {
  private readonly ended = Promise.withResolvers<never>()
  private readonly scope: PauseScope
  private readonly onAbort: () => void

  constructor(scope: PauseScope, aborted: () => void) {
    this.scope = scope
    // Most pauses end after `during` has settled: the rejection must not be an unhandled one.
    this.ended.promise.catch(() => {})
    this.onAbort = () => {
      this.ended.reject(new AbortError('the signal of the pause has aborted', scope.signal?.reason))
      aborted()
    }
    scope.signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  /** Resolves when `work` does. @throws AbortError if the pause ends before */
  during(work: Promise<void>): Promise<void> {
    return Promise.race([work, this.ended.promise])
  }

  release(): void {
    this.scope.signal?.removeEventListener('abort', this.onAbort)
    if (!this.scope.idle) return
    const hint = 'Another call, of resume() or stop(), has ended the pause: pause again if jobs may not run.'
    const message = 'the runtime was resumed or stopped before its running jobs had ended'
    this.ended.reject(new AbortError(message, undefined, hint))
  }
}
