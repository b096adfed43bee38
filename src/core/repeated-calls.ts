/**
 * Calls of the store that are repeated until they succeed, such as heartbeats: the first one of each kind that fails is
 * logged, and once when all of them succeed again. Between the two a kind may succeed and fail again: what has nothing
 * to write succeeds on a full disk.
 */
import type { Logger } from './logger.ts'

export class RepeatedCalls {
  private readonly logger: Logger
  /** The kinds whose last call has failed. */
  private readonly failing = new Set<string>()
  /** The kinds that were logged since all of them have succeeded. */
  private readonly told = new Set<string>()
  private isClosed = false

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** @param message the kind of the call: what has failed, and that it is repeated */
  failed(message: string, fields: Record<string, unknown>, level: 'warn' | 'error' = 'warn'): void {
    this.failing.add(message)
    if (this.isClosed || this.told.has(message)) return
    this.told.add(message)
    this.logger[level](message, fields)
  }

  succeeded(message: string): void {
    if (!this.failing.has(message)) return
    this.givenUp(message)
    if (this.failing.size === 0) this.logger.warn('calls to the store succeed again')
  }

  /** From now on calls fail because of the close. */
  close(): void {
    this.isClosed = true
  }

  /** A call of this kind is not repeated any more. */
  givenUp(message: string): void {
    this.failing.delete(message)
    if (this.failing.size === 0) this.told.clear()
  }
}
