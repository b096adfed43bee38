/** What a unit has changed and not written yet: data, which a store writes. */
import type { Counted } from './activity.ts'
import type { Failure } from './fingerprint.ts'
import { enqueueArrow } from './history.ts'
import { statesTagged } from './lifecycle.ts'
import type { Recorder } from './recorder.ts'
import { RowChange, type JobRow, type RowTransition } from './job-row.ts'

/** An entry of the log; null: the ENQUEUE of the row. */
interface LogEntry<Row extends JobRow> {
  readonly row: Row
  readonly entry: RowTransition | null
}

/** A transition that adds to the activity of the queue of a job. */
interface CountedTransition<Row extends JobRow> {
  readonly row: Row
  readonly counted: Counted
  readonly ms: number
}

/** A failed attempt, to be added to its group. */
export interface CountedFailure<Row extends JobRow> {
  readonly row: Row
  readonly failure: Failure
  /** The number of the transition, or the checkpoint, that tells of it. */
  readonly seq: number
}

/** How a machine has ended: it is added to those of its type that have ended so. */
interface CountedOutcome {
  readonly type: string
  readonly outcome: string
}

/** A number that is added to a name of the heat of a chart. */
export interface CountedHeat {
  readonly type: string
  readonly name: string
  readonly count: number
  /** The job that has counted it last. */
  readonly lastId: string
}

/** An insert that was refused for want of room. */
interface Refusal {
  /** Of the full queue; null: the store is full. */
  readonly type: string | null
  /** Was a free slot missing? */
  readonly isHandOver: boolean
}

const backlog = statesTagged('backlog')

export class Changes<Row extends JobRow> implements Recorder<Row> {
  readonly storesRows = false
  /** Each once: what has changed of a row is its `change`. */
  readonly rows: Row[] = []
  /** In the order of their numbers. */
  readonly entries: LogEntry<Row>[] = []
  readonly counted: CountedTransition<Row>[] = []
  readonly failures: CountedFailure<Row>[] = []
  readonly outcomes: CountedOutcome[] = []
  readonly heat: CountedHeat[] = []
  readonly refusals: Refusal[] = []
  /** How often something was written: an item of a call that has failed may have written something, or nothing. */
  writes = 0
  /** By type, and of all types (null). */
  private readonly growth = new Map<string | null, number>()

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.refusals.length === 0 && this.outcomes.length === 0
  }

  begin(row: Row, isNew: boolean): RowChange {
    const change = new RowChange()
    change.begin(row, isNew)
    row.change = change
    this.rows.push(row)
    this.writes++
    return change
  }

  changed(): void {
    this.writes++
  }

  log(row: Row, entry: RowTransition | null): void {
    this.entries.push({ row, entry })
    const { from, to } = entry === null ? enqueueArrow(row.state) : entry.arrow
    const by = Number(backlog.has(to)) - Number(from !== null && backlog.has(from))
    if (by === 0) return
    for (const type of [null, row.type]) this.growth.set(type, this.backlogOf(type) + by)
  }

  count(row: Row, counted: Counted, ms: number): void {
    this.counted.push({ row, counted, ms })
  }

  countFailure(row: Row, failure: Failure, seq: number): void {
    this.failures.push({ row, failure, seq })
  }

  countOutcome(type: string, outcome: string): void {
    this.outcomes.push({ type, outcome })
  }

  countHeat({ type, id }: Row, name: string, count: number): void {
    this.heat.push({ type, name, count, lastId: id })
  }

  refused(type: string | null, isHandOver: boolean): void {
    this.refusals.push({ type, isHandOver })
  }

  /** Jobs that have come to the backlog, of a type or of all types (null), less those that have left it. */
  backlogOf(type: string | null): number {
    return this.growth.get(type) ?? 0
  }
}
