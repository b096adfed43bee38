/**
 * The rows of leased jobs as the server has them: what a process settles it has mostly claimed. They are believed; the
 * commit says if one has changed.
 */
import { isLeased } from '../../core/lifecycle.ts'
import type { JobRow } from '../../core/job-row.ts'
import { RenewedMap } from '../../core/renewed-map.ts'
import type { LoadedRow, WorkingSet } from './working-set.ts'

const rowsMax = 10_000

const isClaimed = ({ state, change }: JobRow): boolean =>
  isLeased(state) && change !== null && change.state !== null && !isLeased(change.state)

export class LeasedRows {
  private readonly rows = new RenewedMap<string, LoadedRow>()

  /** Keeps a row as the server has it now. */
  keep(id: string, row: LoadedRow): void {
    this.rows.keep(id, row, rowsMax)
  }

  of(id: string): LoadedRow | undefined {
    return this.rows.get(id)
  }

  forget(id: string): void {
    this.rows.delete(id)
  }

  forgetAll(): void {
    this.rows.clear()
  }

  /** What is kept of rows is believed in. */
  believe(set: WorkingSet, jobs: readonly { readonly id: string }[]): void {
    for (const { id } of jobs) {
      const row = this.rows.get(id)
      if (row !== undefined) set.believeRow(id, row)
    }
  }

  /** Rows were written; those of claimed jobs are kept from now on. @param rowOf a row as the server has it now */
  wrote(rows: readonly JobRow[], rowOf: (row: JobRow) => LoadedRow | null): void {
    for (const row of rows) {
      const claimed = isClaimed(row)
      if (this.rows.get(row.id) === undefined && !claimed) continue
      // A run goes on after a heartbeat, or a checkpoint: whatever else has happened to its job ends it soon.
      const goesOn = claimed || (isLeased(row.state) && !row.isRemoved && row.change?.lastSeq === row.lastSeq)
      const now = goesOn && (row.machine?.unsupported ?? null) === null ? rowOf(row) : null
      if (now === null) this.rows.delete(row.id)
      else this.keep(row.id, now)
    }
  }
}
