/** What a unit has changed and not written yet: data, which a store writes. */
import type { Counted } from './activity.ts'
import type { Failure } from './fingerprint.ts'
import { ReusedList } from './reused-list.ts'
import { RowChange, type JobRow, type RowTransition } from './job-row.ts'

/** A failed attempt, to be added to its group. */
export interface CountedFailure<Row extends JobRow> {
  readonly row: Row
  readonly failure: Failure
  /** The number of the transition, or the checkpoint, that tells of it. */
  readonly seq: number
}

/** How a machine has ended: it is added to those of its type that have ended so. */
export interface CountedOutcome {
  readonly type: string
  readonly outcome: string
}

/** An insert that was refused for want of room. */
export interface Refusal {
  /** Of the full queue; null: the store is full. */
  readonly type: string | null
  /** Was a free slot missing? */
  readonly isHandOver: boolean
}

/** Changes that are kept to be used again, at most. */
const spareMax = 256

export class Changes<Row extends JobRow> {
  /** Each once: what has changed of a row is its `change`. */
  readonly rows = new ReusedList<Row>()
  /** The entries of the log in the order of their numbers, and beside each its row; null: its ENQUEUE. */
  readonly entries = new ReusedList<RowTransition | null>()
  readonly entryRows = new ReusedList<Row>()
  /**
   * Transitions that add to the activity of the queue of a job: what they count as, and how long the job has waited or
   * the attempt has run, ms. Lists beside each other: they are written for each transition of each job.
   */
  readonly counted = new ReusedList<Counted>()
  readonly countedMs = new ReusedList<number>()
  readonly countedRows = new ReusedList<Row>()
  readonly failures: CountedFailure<Row>[] = []
  readonly outcomes: CountedOutcome[] = []
  readonly refusals: Refusal[] = []
  /** To be used again. */
  private readonly spare: RowChange[] = []
  private spareCount = 0

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.refusals.length === 0 && this.outcomes.length === 0
  }

  /** A row begins to change. */
  begin(row: Row, isNew: boolean): RowChange {
    const { spare } = this
    const change = this.spareCount === 0 ? new RowChange() : (spare[--this.spareCount] as RowChange)
    change.begin(row, isNew)
    row.change = change
    this.rows.push(row)
    return change
  }

  log(row: Row, entry: RowTransition | null): void {
    this.entries.push(entry)
    this.entryRows.push(row)
  }

  count(row: Row, counted: Counted, ms: number): void {
    this.counted.push(counted)
    this.countedMs.push(ms)
    this.countedRows.push(row)
  }

  /** They are written: the rows are as the store has them now. */
  clear(): void {
    const { rows, spare } = this
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i)
      if (row.change !== null && this.spareCount < spareMax) spare[this.spareCount++] = row.change
      row.change = null
    }
    rows.clear()
    this.entries.clear()
    this.entryRows.clear()
    this.counted.clear()
    this.countedMs.clear()
    this.countedRows.clear()
    if (this.failures.length > 0) this.failures.length = 0
    if (this.outcomes.length > 0) this.outcomes.length = 0
    if (this.refusals.length > 0) this.refusals.length = 0
  }
}
