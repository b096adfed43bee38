/** Messages to running jobs that another process has sent: they become hints. */
import type { Claims } from './claims.ts'
import type { Hints } from './hints.ts'
import type { Statements } from './statements.ts'

/** Knows the last message that this process has seen, and gives hints of later ones to running jobs. */
export class InboxWatch {
  private readonly sql: Statements
  private readonly hints: Hints
  private readonly claims: Claims
  /** The place of the last message seen; null = unknown. */
  private seen: number | null = null
  private wrote = false

  constructor(sql: Statements, hints: Hints, claims: Claims) {
    this.sql = sql
    this.hints = hints
    this.claims = claims
  }

  posted(): void {
    this.wrote = true
  }

  /** Another process has written: gives hints of its messages to running jobs. */
  catchUp(): void {
    if (this.seen === null) {
      const leased = JSON.stringify(this.claims.jobs())
      for (const [id] of this.sql.all('withMessages', leased)) this.hints.messagesArrived(id)
      this.seen = this.last()
      return
    }
    for (const [place, job, id] of this.sql.all('messagesSince', this.seen)) {
      if (this.claims.of(job) !== undefined) this.hints.messagesArrived(id)
      this.seen = place
    }
  }

  /** At the end of a transaction: its own messages count as seen. */
  finish(): void {
    if (this.wrote && this.seen !== null) this.seen = this.last()
    this.wrote = false
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.seen = null
    this.wrote = false
  }

  private last(): number {
    return this.sql.get('lastMessage')?.[0] ?? 0
  }
}
