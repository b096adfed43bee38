/**
 * The number of the first transition in each minute of store time. Jobs have the numbers of their enqueue and of their
 * end: so a search by time needs no index of times, which every enqueue would write.
 */
import type { Statements } from './statements.ts'

const minuteMs = 60_000
/** Minutes that are kept before the latest. */
const minutesKept = 30 * 24 * 60

export class Minutes {
  private readonly sql: Statements
  /** The minute of the last transition; null = unknown. */
  private current: number | null = null
  private first = 1

  constructor(sql: Statements) {
    this.sql = sql
  }

  /** Begins a transaction. @param first the number of its first transition */
  begin(first: number): void {
    this.first = first
  }

  /** @param last the number of the last transition */
  write(last: number, now: number): void {
    const minute = Math.floor(now / minuteMs)
    if (last < this.first || minute === this.current) return
    this.sql.run('addMinute', minute, this.first)
    this.sql.run('forgetMinutes', minutesKept)
    this.current = minute
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.current = null
  }

  /**
   * A number that no transition at or after a time is below; 0 if none is known. The clock may have been set back: the
   * number of a later minute can be the lower one.
   */
  firstSince(time: number): number {
    const found = this.sql.get('firstSince', Math.floor(time / minuteMs))
    // The minute of this transaction is written at its end.
    return found === undefined ? 0 : Math.min(found[0] ?? Infinity, this.first)
  }
}
