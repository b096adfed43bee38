/** Messages to running jobs: how one process hears of those that another has sent. */
import type { Hints } from './hints.ts'
import type { Statements } from './statements.ts'

/** Which messages this process knows of: of others to running jobs it tells. */
export class InboxWatch {
  private readonly sql: Statements
  private readonly hints: Hints
  /** The place of the last message that it knows of; null = of none. */
  private seen: number | null = null
  private wrote = false

  constructor(sql: Statements, hints: Hints) {
    this.sql = sql
    this.hints = hints
  }

  posted(): void {
    this.wrote = true
  }

  /** Another process has written: has it put messages into the inboxes of running jobs? */
  catchUp(): void {
    if (this.seen === null) {
      for (const [id] of this.sql.all('heldWithLetters')) this.hints.messagesArrived(id)
      this.seen = this.last()
      return
    }
    for (const [place, id] of this.sql.all('lettersSince', this.seen)) {
      if (id !== null) this.hints.messagesArrived(id)
      this.seen = place
    }
  }

  /** At the end of a transaction: its own messages are no news. */
  finish(): void {
    if (this.wrote && this.seen !== null) this.seen = this.last()
    this.wrote = false
  }

  /** What is known has been rolled back. */
  forget(): void {
    this.seen = null
    this.wrote = false
  }

  private last(): number {
    return this.sql.get('lastLetter')?.[0] ?? 0
  }
}
