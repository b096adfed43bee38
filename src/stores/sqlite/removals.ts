/**
 * Removals of ended jobs, delayed until the end of the transaction or a savepoint: then one statement serves any number
 * of them.
 */
import type { FailureTable } from './failure-table.ts'
import type { Machines } from './machines.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import type { Rows } from './rows.ts'
import type { Statements } from './statements.ts'
import { forgetTags } from './tags.ts'

/** The columns of a job that its removal needs. */
export type Removable = Pick<Row, 'seq' | 'queue' | 'state' | 'checkpointed' | 'failure' | 'finishedAt' | 'tags'>

/** The numbers of jobs, as the JSON that the statements take. */
const numbers = (jobs: readonly Removable[]): string => JSON.stringify(jobs.map(({ seq }) => seq))

/** The tables that jobs are removed from, and the counts of them. */
interface RemovalTables {
  readonly sql: Statements
  readonly rows: Rows
  readonly queues: Queues
  readonly machines: Machines
  readonly failures: FailureTable
}

export class Removals {
  private readonly tables: RemovalTables
  private jobs: Removable[] = []

  constructor(tables: RemovalTables) {
    this.tables = tables
  }

  add(...jobs: readonly Removable[]): void {
    this.jobs.push(...jobs)
  }

  /** Removes the jobs that were added. */
  write(): void {
    const { jobs } = this
    if (jobs.length === 0) return
    this.jobs = []
    const { sql, rows, queues, machines, failures } = this.tables
    for (const { seq } of jobs) rows.meet(seq)
    sql.run('removeSteps', numbers(jobs))
    sql.run('remove', numbers(jobs))
    const withMachine = jobs.filter(({ checkpointed }) => checkpointed !== null)
    if (withMachine.length > 0) machines.remove(numbers(withMachine))
    for (const job of jobs) {
      forgetTags(sql, job)
      queues.count(queues.at(job.queue), job.state, -1)
      failures.countDead(job, -1)
    }
  }

  /** Drops the jobs that were added, after a rollback. */
  forget(): void {
    this.jobs = []
  }
}
