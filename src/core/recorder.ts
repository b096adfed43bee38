/**
 * Where a unit writes what it changes: a store that keeps its rows in the process writes it at once; the others collect
 * it (`Changes`), and write it together.
 */
import type { Counted } from './activity.ts'
import type { Failure } from './fingerprint.ts'
import type { JobRow, RowChange, RowTransition } from './job-row.ts'

export interface Recorder<Row extends JobRow> {
  /** Are the rows themselves what is stored? Then it need not be told of a change that no index depends on. */
  readonly storesRows: boolean
  /** A row is about to change; it was added just now, if `isNew`. The change has what the row is now. */
  begin(row: Row, isNew: boolean): RowChange
  /** A row has changed since `begin`. It may be called more than once for one `begin`, after each change. */
  changed(row: Row, change: RowChange): void
  /** An entry of the log, in the order of the numbers; null: the ENQUEUE of the row. */
  log(row: Row, entry: RowTransition | null): void
  /**
   * A transition adds to the activity of the queue of a job.
   * @param ms how long the job has waited, or the attempt has run
   */
  count(row: Row, counted: Counted, ms: number): void
  /**
   * A failed attempt is added to its group, before the transition or the checkpoint that tells of it.
   * @param seq the number of that
   */
  countFailure(row: Row, failure: Failure, seq: number): void
  /** A machine is added to those of its type that have ended so. */
  countOutcome(type: string, outcome: string): void
  /** A number is added to a name of the heat of the chart of a type. */
  countHeat(row: Row, name: string, count: number): void
  /**
   * An insert was refused for want of room.
   * @param type of the full queue; null: the store is full
   * @param isHandOver was a free slot missing?
   */
  refused(type: string | null, isHandOver: boolean): void
}
