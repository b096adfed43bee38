/**
 * Pauses of a runtime: each lasts until its signal aborts, and all until somebody resumes. The runtime is paused while one
 * lasts.
 */
import { AbortError } from '../core/errors.ts'

export interface PauseScope {
  /** Ends the pause. */
  readonly signal: AbortSignal | undefined
  /** Does its caller wait until no job runs? Then a resume that comes before ends the wait. */
  readonly idle: boolean
}

export class Pauses {
  private readonly lasting = new Set<Pause>()
  private readonly over: () => void

  /** @param over called when the last pause has been ended by its signal */
  constructor(over: () => void) {
    this.over = over
  }

  begin(scope: PauseScope): Pause {
    const pause = new Pause(scope, () => {
      this.lasting.delete(pause)
      if (this.lasting.size === 0) this.over()
    })
    this.lasting.add(pause)
    return pause
  }

  /** Ends all pauses: the runtime is resumed, or stops. */
  end(): void {
    for (const pause of this.lasting) pause.release()
    this.lasting.clear()
  }
}

export class Pause {
  private readonly ended = Promise.withResolvers<never>()
  private readonly scope: PauseScope
  private readonly onAbort: () => void

  constructor(scope: PauseScope, aborted: () => void) {
    this.scope = scope
    // Most pauses end when nobody waits for them any more.
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
    this.ended.reject(new AbortError('the runtime was resumed or stopped before its running jobs had ended', undefined))
  }
}
