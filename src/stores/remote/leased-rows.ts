/**
 * The rows of leased jobs as the server has them: what a process settles it has mostly claimed. They are believed; the
 * commit says if one has changed.
 */
import { isLeased } from '../../core/lifecycle.ts'
import { historyWithout } from './history-text.ts'
import type { LoadedRow, Row } from './row.ts'
import { pending } from './unit.ts'
import type { WorkingSet } from './working-set.ts'

const rowsMax = 10_000

export class LeasedRows {
  private readonly rows = new Map<string, LoadedRow>()

  /** Keeps a row as the server has it now. */
  keep(id: string, row: LoadedRow): void {
    this.rows.delete(id)
    this.rows.set(id, row)
    if (this.rows.size <= rowsMax) return
    for (const oldest of this.rows.keys()) {
      this.rows.delete(oldest)
      return
    }
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

  /** What is kept of a row, to be believed. */
  believe(set: WorkingSet, id: string): LoadedRow | undefined {
    const row = this.rows.get(id)
    if (row !== undefined) set.believeRow(id, row)
    return row
  }

  /**
   * A unit was committed.
   * @param base the number that its first transition got
   * @param lettersOf see `LoadedRow.has`
   */
  wrote(rows: Iterable<Row>, base: number, lettersOf: (row: Row) => string): void {
    for (const row of rows) this.update(row, base, lettersOf)
  }

  private update(row: Row, base: number, lettersOf: (row: Row) => string): void {
    const { loaded } = row
    if (!this.rows.has(row.id)) return
    const isKnown =
      loaded !== null && loaded.data !== 'none' && row.latest === null && row.text('unsupported') === undefined
    if (row.removed || !row.there || !isLeased(row.state) || !isKnown) {
      this.rows.delete(row.id)
      return
    }
    const changes = row.changes()
    if (changes.length === 0) return
    const fields = { ...loaded.fields }
    for (const [name, value] of changes) fields[name] = given(value, base)
    fields.rev = String(Number(loaded.fields.rev ?? 0) + 1)
    delete fields.input
    const history = historyWithout(loaded.history, row.additions.historyDropped)
    this.keep(row.id, { fields, has: lettersOf(row), history, data: 'rest' })
  }
}

/** The value of a field, with the number that the commit has given. */
const given = (value: string, base: number): string =>
  value.length === 16 && Number(value) >= pending ? String(Number(value) - pending + base) : value
