/** Looks for trouble while nobody looks at the page, and tells what has begun and ended. */
import { JobchartError } from '../core/errors.ts'
import { consoleLogger } from '../core/logger.ts'
import type { Condition } from './condition.ts'
import type { Recent } from './recent.ts'
import { Repeat } from './repeat.ts'
import type { Trouble } from './trouble.ts'

/** What has changed since the report before it. */
export interface TroubleReport {
  readonly began: readonly Trouble[]
  readonly ended: readonly Trouble[]
  /** All that is not as usual now, the worst first. */
  readonly trouble: readonly Trouble[]
}

export class TroubleWatch {
  private readonly recent: Pick<Recent<Pick<Condition, 'trouble'>>, 'get'>
  private readonly tell: (report: TroubleReport) => unknown
  private readonly everyMs: number
  private readonly repeat = new Repeat(() => this.look())
  private before: readonly Trouble[] = []
  private hasFailed = false

  /** The first look is after `everyMs`: by then the workers of a process that has just started are known. */
  constructor(
    recent: Pick<Recent<Pick<Condition, 'trouble'>>, 'get'>,
    tell: (report: TroubleReport) => unknown,
    everyMs: number,
  ) {
    this.recent = recent
    this.tell = tell
    this.everyMs = everyMs
    this.repeat.start(everyMs)
  }

  stop(): void {
    this.repeat.stop()
  }

  private async look(): Promise<number> {
    try {
      const { trouble } = await this.recent.get()
      this.hasFailed = false
      const [now, before] = [trouble, this.before].map((each) => new Set(each.map(({ key }) => key)))
      const began = trouble.filter(({ key }) => before?.has(key) === false)
      const ended = this.before.filter(({ key }) => now?.has(key) === false)
      this.before = trouble
      if (began.length > 0 || ended.length > 0) await this.tell({ began, ended, trouble })
    } catch (error) {
      if (error instanceof JobchartError && error.code === 'STOPPED') this.stop()
      // Once for a store that does not answer for hours.
      else if (!this.hasFailed) consoleLogger.error('the dashboard could not look for trouble', { error })
      this.hasFailed = true
    }
    return this.everyMs
  }
}
