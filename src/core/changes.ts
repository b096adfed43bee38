/** What a unit has changed and not written yet: data, which a store writes. */
import type { Counted } from './activity.ts'
import type { Failure } from './fingerprint.ts'
import type { JobRow } from './job-row.ts'
import type { HistoryEntry } from './record.ts'

/** An entry of the log. */
export interface LogEntry<Row extends JobRow> {
  readonly row: Row
  readonly entry: HistoryEntry
}

/** A transition that adds to the activity of the queue of a job. */
export interface CountedTransition<Row extends JobRow> {
  readonly row: Row
  readonly counted: Counted
  /** How long the job has waited, or the attempt has run. */
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

export class Changes<Row extends JobRow> {
  /** Each once: what has changed of a row is its `change`. */
  readonly rows: Row[] = []
  /** In the order of their numbers. */
  readonly log: LogEntry<Row>[] = []
  readonly counted: CountedTransition<Row>[] = []
  readonly failures: CountedFailure<Row>[] = []
  readonly outcomes: CountedOutcome[] = []
  readonly refusals: Refusal[] = []

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.refusals.length === 0 && this.outcomes.length === 0
  }

  /** They are written: the rows are as the store has them now. */
  clear(): void {
    for (const row of this.rows) row.change = null
    this.rows.length = 0
    this.log.length = 0
    this.counted.length = 0
    if (this.failures.length > 0) this.failures.length = 0
    if (this.outcomes.length > 0) this.outcomes.length = 0
    if (this.refusals.length > 0) this.refusals.length = 0
  }
}
