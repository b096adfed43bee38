/**
 * The transition log: the last transitions of all jobs. It is an array per column, with one slot per entry in each,
 * because an object per entry would be most of the cost of a transition.
 */
import { cursorOfEntry, entryNumber } from '../../core/cursor.ts'
import type { TransitionEntry, TransitionPage } from '../../store.ts'
import { enqueueArrow, historyEntry, type LoggedArrow } from '../../core/history.ts'
import type { RowTransition } from '../../core/job-row.ts'
import type { Row } from './row.ts'

export class TransitionLog {
  private readonly max: number
  private seq = 0
  private slot = 0
  private readonly ids: string[] = []
  private readonly types: string[] = []
  private readonly arrows: LoggedArrow[] = []
  private readonly times: number[] = []
  private readonly attempts: number[] = []
  private readonly workers: (string | null)[] = []
  private readonly reasons: (string | null)[] = []

  constructor(max: number) {
    this.max = max
  }

  /** The number of the last entry. */
  get lastSeq(): number {
    return this.seq
  }

  /** The cursor after the last entry. */
  get cursor(): string {
    return cursorOfEntry(this.seq)
  }

  append(row: Row, entry: RowTransition | null): void {
    const { slot } = this
    this.slot = slot + 1 === this.max ? 0 : slot + 1
    this.seq++
    this.ids[slot] = row.id
    this.types[slot] = row.type
    this.arrows[slot] = entry === null ? enqueueArrow(row.birth) : entry.arrow
    this.times[slot] = entry === null ? row.came.at : entry.tick.at
    this.attempts[slot] = entry === null ? 0 : entry.attempt
    this.workers[slot] = entry === null ? null : entry.worker
    this.reasons[slot] = entry === null ? null : entry.reason
  }

  page(cursor: string | null, limit: number): TransitionPage {
    const from = entryNumber(cursor)
    // The cursor is of a process before this one.
    if (from > this.seq) return { ...this.page(null, limit), lost: true }
    const oldest = Math.max(1, this.seq - this.max + 1)
    const first = Math.max(from + 1, oldest)
    const transitions: TransitionEntry[] = []
    for (let seq = first; seq <= this.seq && transitions.length < limit; seq++) transitions.push(this.read(seq))
    return { transitions, next: transitions.at(-1)?.cursor ?? cursor, lost: oldest > from + 1 }
  }

  private read(seq: number): TransitionEntry {
    const slot = (seq - 1) % this.max
    const entry = historyEntry(
      this.arrows[slot] as LoggedArrow,
      seq,
      this.times[slot] as number,
      this.attempts[slot] as number,
      this.workers[slot] as string | null,
      this.reasons[slot] as string | null,
    )
    return { id: this.ids[slot] as string, type: this.types[slot] as string, ...entry, cursor: cursorOfEntry(seq) }
  }
}
