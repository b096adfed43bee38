/** Counts machine jobs that this process claimed and could not run, and logs them once per type and version. */
import type { UnsupportedRest } from '../core/definition.ts'
import type { Logger } from '../core/logger.ts'

/** Limit of remembered types and versions. The oldest are forgotten, and may be logged again. */
const loggedMax = 1_000

export class UnsupportedVersions {
  count = 0
  private readonly logged = new Set<string>()
  private readonly logger: Logger

  constructor(logger: Logger) {
    this.logger = logger
  }

  note(
    { id, type }: { readonly id: string; readonly type: string },
    { version, reason, error }: UnsupportedRest,
  ): void {
    this.count++
    const name = JSON.stringify([type, version])
    if (this.logged.has(name)) return
    const [oldest] = this.logged
    if (oldest !== undefined && this.logged.size >= loggedMax) this.logged.delete(oldest)
    this.logged.add(name)
    const message = 'this process does not know the machine version of a job; such jobs wait for a process that does'
    this.logger.error(message, { type, version, reason, id, error })
  }
}
