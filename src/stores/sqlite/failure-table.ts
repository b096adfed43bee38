/** Failed attempts in groups: a row each, written by the transaction that counts the attempt. */
import { caps } from '../../core/caps.ts'
import type { Failure } from '../../core/fingerprint.ts'
import type { FailureGroup, FailureQuery } from '../../store.ts'
import type { Queues } from './queues.ts'
import type { Statements } from './statements.ts'

export class FailureTable {
  private readonly sql: Statements
  private readonly queues: Queues

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  /** Adds a failed attempt. @param seq the number of the transition that ends it */
  add(queue: number, id: string, { fingerprint, name, code, message }: Failure, seq: number, now: number): void {
    const [count] = this.sql.get('addFailure', queue, fingerprint, name, code, message, now, id, seq) ?? []
    // Another group begins.
    if (count === 1) this.sql.run('forgetFailures', queue, caps.failureGroups)
  }

  /** One more, or one fewer, of the jobs that have died of it is dead. */
  countDead(queue: number, fingerprint: string, diedAt: number, by: 1 | -1): void {
    this.sql.run('countDead', by, queue, fingerprint, diedAt)
  }

  list({ type, limit = caps.page }: FailureQuery): FailureGroup[] {
    const most = Math.min(limit, caps.pageMax)
    const queue = type === undefined ? undefined : this.queues.known(type)
    if (type !== undefined && queue === undefined) return []
    const rows = queue === undefined ? this.sql.all('failures', most) : this.sql.all('failuresOf', queue.number, most)
    return rows.map(([number, fingerprint, name, code, message, count, dead, firstAt, lastAt, lastId]) => {
      const { type: own } = this.queues.at(number)
      return { type: own, fingerprint, name, code, message, count, dead, firstAt, lastAt, lastId }
    })
  }
}
