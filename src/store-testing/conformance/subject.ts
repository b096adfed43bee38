/** What the suite is given to examine, and how a case is written. */
import type { Store } from '../../store.ts'

/** A store of its own for one case: empty, open, and with a clock that the case can move. */
export interface Subject {
  readonly store: Store
  /** Lets time pass for the store: its clock says `ms` more afterwards, at least. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

/** Cases by their sentence. */
export type Cases = Readonly<Record<string, (subject: Omit<Subject, 'close'>) => Promise<void>>>
