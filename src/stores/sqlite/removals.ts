/** Removals of ended jobs: one statement for each table serves any number of them. */
import type { Machines } from './machines.ts'
import type { RowCache } from './row-cache.ts'
import type { Statements } from './statements.ts'

interface RemovedJob {
  readonly seq: number
  readonly isMachine: boolean
  readonly tags: string | null
}

/** The numbers of jobs, as the JSON that the statements take. */
const numbersOf = (jobs: readonly RemovedJob[]): string => JSON.stringify(jobs.map(({ seq }) => seq))

export class Removals {
  private readonly sql: Statements
  private readonly machines: Machines
  private readonly cache: RowCache

  constructor(sql: Statements, machines: Machines, cache: RowCache) {
    this.sql = sql
    this.machines = machines
    this.cache = cache
  }

  /**
   * Removes jobs, and what is kept beside their rows.
   * @param logged the ids of jobs with a transition after this number are kept for the log; Infinity = none has one
   */
  removeRows(jobs: readonly RemovedJob[], logged: number): void {
    for (const { seq } of jobs) this.cache.meet(seq)
    if (logged < Infinity) this.sql.run('addGone', numbersOf(jobs), logged)
    this.sql.run('removeSteps', numbersOf(jobs))
    this.sql.run('removeMeta', numbersOf(jobs))
    this.sql.run('removeJobs', numbersOf(jobs))
    this.sql.run('removeLives', numbersOf(jobs))
    const withMachine = jobs.filter(({ isMachine }) => isMachine)
    if (withMachine.length > 0) this.machines.remove(numbersOf(withMachine))
    for (const { seq, tags } of jobs) if (tags !== null) this.sql.run('forgetTags', seq, tags)
  }
}
