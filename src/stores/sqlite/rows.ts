/**
 * Reads and writes the rows of jobs. A job has one row object at a time: two reads give the same object. Changes are
 * written before the next query that depends on them, at the latest at the end of the transaction. Leased rows are
 * cached until another process writes, so that the end of a run need not read what its claim has written.
 */
import { isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { RowValues } from './columns.ts'
import { born } from './history.ts'
import type { PackedJob } from './insert.ts'
import type { Machines } from './machines.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import { changes, Row } from './row.ts'
import { never } from './state-names.ts'
import type { Statements } from './statements.ts'
import { addTags } from './tags.ts'

const timed = statesTagged('timed')

export class Rows {
  private readonly sql: Statements
  private readonly queues: Queues
  private readonly machines: Machines
  private readonly byId = new Map<string, Row>()
  private readonly unwritten = new Set<Row>()
  /** Those that the transaction has read or changed. */
  private readonly touched = new Set<Row>()
  /** Ids of jobs that were set aside, until a claim tells them. */
  readonly unreadable: string[] = []
  /** The numbers of all that the transaction has come to. */
  private readonly met: number[] = []

  constructor(sql: Statements, queues: Queues, machines: Machines) {
    this.sql = sql
    this.queues = queues
    this.machines = machines
  }

  of(id: string): Row | undefined {
    const known = this.byId.get(id)
    if (known !== undefined) {
      this.meet(known.seq)
      return known
    }
    const values = this.sql.get('byId', id)
    return values === undefined ? undefined : this.from(values)
  }

  holder(queue: Queue, key: string): Row | undefined {
    this.write()
    const values = this.sql.get('holder', queue.number, key)
    return values === undefined ? undefined : this.from(values)
  }

  /** The first jobs of a queue that have no concurrency key. */
  ready(queue: Queue, limit: number): Row[] {
    this.write()
    return this.sql.all('ready', queue.number, limit).map((values) => this.from(values))
  }

  /** The row of a job that has been read. */
  from(values: RowValues): Row {
    this.meet(values[0])
    const known = this.byId.get(values[1])
    if (known !== undefined) return known
    const row = this.partOf(values)
    this.byId.set(row.id, row)
    this.touched.add(row)
    return row
  }

  /** A row of which some columns alone were read. It is not remembered, and must not be changed. */
  partOf(values: RowValues): Row {
    this.meet(values[0])
    return new Row(values, this.queues.at(values[2]).type, this.machines)
  }

  /** Begins a transaction. */
  begin(): void {
    this.met.length = 0
  }

  /** The transaction has come to a job: if it fails, this one may be why. */
  meet(seq: number): void {
    this.met.push(seq)
  }

  /** The numbers of the jobs that the transaction has come to. */
  allMet(): readonly number[] {
    return [...this.met]
  }

  /** Writes the row of a new job. @returns whether its id was free. */
  add(seq: number, { number }: Queue, job: PackedJob, state: JobState, now: number, dueAt: number | null): boolean {
    const { sql } = this
    const { id, priority, maxAttempts, key, concurrencyKey, input, tags, meta, options } = job
    const history = born(state)
    // Most jobs have nothing but an input, and a null that is bound costs as much as a value.
    const isPlain =
      dueAt === null && key === null && concurrencyKey === null && tags === null && meta === null && options === null
    if (isPlain) return sql.changes('addPlain', seq, id, number, state, priority, maxAttempts, now, history, input)
    const isAdded = sql.changes(
      'add',
      seq,
      id,
      number,
      state,
      priority,
      maxAttempts,
      now,
      history,
      input,
      dueAt,
      key,
      concurrencyKey,
      tags,
      meta,
      options,
    )
    if (isAdded) addTags(sql, { seq, tags })
    return isAdded
  }

  /** A row has changed. */
  changed(row: Row, what: number): void {
    row.unwritten |= what
    this.unwritten.add(row)
    this.touched.add(row)
  }

  /** Writes all that has changed. */
  write(): void {
    if (this.unwritten.size === 0) return
    for (const row of this.unwritten) this.writeRow(row)
    this.unwritten.clear()
  }

  /** The end of the transaction: of its rows, the leased ones stay cached. */
  finish(): void {
    this.write()
    for (const row of this.touched) if (!isLeased(row.state)) this.byId.delete(row.id)
    this.touched.clear()
  }

  /** Empties the cache: its rows may be out of date. */
  forget(): void {
    this.byId.clear()
    this.unwritten.clear()
    this.touched.clear()
  }

  /** A job was removed. */
  removed(id: string): void {
    this.byId.delete(id)
  }

  private writeRow(row: Row): void {
    const { unwritten } = row
    row.unwritten = 0
    if ((unwritten & changes.data) !== 0) {
      this.sql.run(
        'writeData',
        row.input,
        row.tags,
        row.meta,
        row.error,
        row.errors,
        row.checkin,
        row.logs,
        row.cancel,
        row.seq,
      )
    }
    if ((unwritten & changes.failure) !== 0) this.sql.run('writeFailure', row.failure, row.seq)
    if ((unwritten & (changes.machine | changes.checkpoint)) !== 0 && row.machine !== null) {
      this.machines.write(row, row.machine, (unwritten & changes.machine) === 0)
    }
    if ((unwritten & changes.checkpointed) !== 0) this.sql.run('writeCheckpointed', row.checkpointed, row.seq)
    const transitions = unwritten & (changes.claim | changes.end | changes.otherTransition)
    if (transitions === changes.claim) {
      this.sql.run(
        'writeClaim',
        row.state,
        row.attempt,
        row.leaseAt,
        row.token,
        row.worker,
        row.startedAt,
        row.lastSeq,
        row.history,
        row.seq,
      )
    } else if (transitions === changes.end) {
      this.sql.run(
        'writeEnd',
        row.state,
        row.attempt,
        row.token,
        row.finishedAt,
        row.lastSeq,
        row.output,
        row.settled,
        row.history,
        row.seq,
      )
    } else if (transitions !== 0) {
      this.sql.run(
        'writeTransition',
        row.state,
        row.place,
        row.attempt,
        row.generation,
        timed.has(row.state) ? (row.dueAt ?? never) : null,
        row.leaseAt,
        row.token,
        row.worker,
        row.startedAt,
        row.finishedAt,
        row.lastSeq,
        row.heldKey,
        row.output,
        row.settled,
        row.history,
        row.seq,
      )
    } else if ((unwritten & changes.lease) !== 0) {
      this.sql.run('writeLease', row.leaseAt, row.seq)
    }
  }
}
