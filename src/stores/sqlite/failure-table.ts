/** Failed attempts in groups: a row each, written by the transaction that counts the attempt. */
import { caps } from '../../core/caps.ts'
import type { Failure } from '../../core/fingerprint.ts'
import type { FailureGroup, FailureQuery } from '../../store.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

export class FailureTable {
  private readonly sql: Statements
  private readonly queues: Queues

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  /** Adds a failed attempt. @param seq the number of the transition that ends it */
  add({ queue, id }: Row, { fingerprint, name, code, message }: Failure, seq: number, now: number): void {
    const [count] = this.sql.get('addFailure', queue, fingerprint, name, code, message, now, id, seq) ?? []
    // Another group begins.
    if (count === 1) this.sql.run('forgetFailures', queue, caps.failureGroups)
  }

  /** If a job is dead, it is one of the dead jobs of the group of its last error from now on, or no longer. */
  countDead(job: DeadJob, by: 1 | -1): void {
    if (job.state !== 'dead') return
    const { queue, failure, finishedAt } = job
    if (failure !== null) this.sql.run('countDead', by, queue, failure, finishedAt)
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

type DeadJob = Pick<Row, 'queue' | 'state' | 'failure' | 'finishedAt'>
