/**
 * The rows of jobs, read and written. Those that were handed out are remembered until another process writes: so that the
 * end of a run need not read what its claim has written.
 */
import { statesTagged } from '../../job/lifecycle.ts'
import type { Queue } from './queue.ts'
import { Row, type RowValues } from './row.ts'
import { never } from './schema.ts'
import type { Statements } from './statements.ts'

const held = statesTagged('held')
const timed = statesTagged('timed')

export class Rows {
  private readonly sql: Statements
  private readonly running = new Map<string, Row>()

  constructor(sql: Statements) {
    this.sql = sql
  }

  of(id: string): Row | undefined {
    const running = this.running.get(id)
    if (running !== undefined) return running
    const values = this.sql.get('byId', id)
    return values === undefined ? undefined : new Row(values)
  }

  holder(queue: Queue, key: string): Row | undefined {
    const values = this.sql.get('holder', queue.number, key)
    return values === undefined ? undefined : this.from(values)
  }

  /** A row that has been read: the one that is known, if there is one, so that no two say different things of a job. */
  from(values: RowValues): Row {
    return this.running.get(values[1]) ?? new Row(values)
  }

  /** Writes what a move changes. */
  write(row: Row): void {
    this.sql.run('move', row.state, row.place, row.attempt, row.generation,
      timed.has(row.state) ? (row.dueAt ?? never) : null, row.leaseAt, row.token,
      row.worker, row.startedAt, row.finishedAt, row.moved, row.heldKey, row.output, row.settled, row.history, row.seq) // prettier-ignore
    if (held.has(row.state)) this.running.set(row.id, row)
    else this.running.delete(row.id)
  }

  /** Writes what a claim changes: less, because it is the most frequent of all. */
  writeClaim(row: Row): void {
    this.sql.run('take', row.state, row.attempt, row.leaseAt, row.token, row.worker, row.startedAt, row.moved,
      row.history, row.seq) // prettier-ignore
    this.running.set(row.id, row)
  }

  /** Writes what the end of a run that ends its job changes. */
  writeEnd(row: Row): void {
    this.sql.run('end', row.state, row.attempt, row.token, row.finishedAt, row.moved, row.output, row.settled,
      row.history, row.seq) // prettier-ignore
    this.running.delete(row.id)
  }

  /** Writes what a job is told, and what it tells. */
  tell(row: Row): void {
    this.sql.run('tell', row.input, row.tags, row.error, row.errors, row.checkin, row.logs, row.cancel, row.seq) // prettier-ignore
  }

  /** What is remembered may be wrong. */
  forget(): void {
    this.running.clear()
  }
}
