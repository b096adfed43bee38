/** The store under test, and the form of a case. */
import type { Store } from '../../store.ts'

/** The store of one case: empty, open, and with a clock that the case can advance. */
export interface Subject {
  readonly store: Store
  /** Advances the clock of the store by `ms` at least. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

/** Cases by name: a sentence of behaviour. */
export type Cases = Readonly<Record<string, (subject: Omit<Subject, 'close'>) => Promise<void>>>
