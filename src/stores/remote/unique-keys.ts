/**
 * Unique keys: which live job holds a key, and which has given it up and has not ended. The next holder of a key waits
 * for the end of the job that has given it up. Both are small values by type and key.
 */
import { keyName, type CellKind } from './cells.ts'

/** Small values, and changes to them, of a unit of work. */
interface Cells {
  cell(kind: CellKind, field: string): string | null
  setCell(kind: CellKind, field: string, value: string | null): void
}

/** The fields of a job that its unique key depends on. */
interface KeyedJob {
  readonly id: string
  readonly type: string
  readonly key: string | null
}

/** A live job that has given up its key, and the holder of the key, if it waits for that job, with its own due time. */
interface Predecessor {
  readonly id: string
  readonly next: { readonly id: string; readonly dueAt: number } | null
}

export class UniqueKeys {
  private readonly cells: Cells

  constructor(cells: Cells) {
    this.cells = cells
  }

  /** The id of the job that holds a key. */
  holder(type: string, key: string): string | null {
    return this.cells.cell('holders', keyName(type, key))
  }

  take({ id, type, key }: KeyedJob): void {
    if (key !== null) this.cells.setCell('holders', keyName(type, key), id)
  }

  /** Frees the key of a job that has ended, unless another job holds it. */
  free({ id, type, key }: KeyedJob): void {
    if (key === null || this.holder(type, key) !== id) return
    this.cells.setCell('holders', keyName(type, key), null)
    const leaving = this.predecessor(type, key)
    if (leaving?.next?.id === id) this.setPredecessor(type, key, { id: leaving.id, next: null })
  }

  /** Frees the key of a live job: the next holder waits for its end. */
  giveUp({ id, type, key }: KeyedJob): void {
    if (key === null || this.holder(type, key) !== id) return
    this.cells.setCell('holders', keyName(type, key), null)
    this.setPredecessor(type, key, { id, next: null })
  }

  /** Is there a live job that has given up the key? */
  hasPredecessor(type: string, key: string): boolean {
    return this.predecessor(type, key) !== null
  }

  /** Makes a job wait for the end of its predecessor, and then for its own due time. */
  awaitPredecessor({ id, type, key }: KeyedJob, dueAt: number): void {
    const leaving = key === null ? null : this.predecessor(type, key)
    if (key !== null && leaving !== null) this.setPredecessor(type, key, { id: leaving.id, next: { id, dueAt } })
  }

  /** A job has ended: returns the job that has waited for that, which no longer does; null if none has. */
  predecessorEnded({ id, type, key }: KeyedJob): Predecessor['next'] {
    const leaving = key === null ? null : this.predecessor(type, key)
    if (key === null || leaving?.id !== id) return null
    this.setPredecessor(type, key, null)
    return leaving.next
  }

  private predecessor(type: string, key: string): Predecessor | null {
    const text = this.cells.cell('predecessors', keyName(type, key))
    return text === null ? null : (JSON.parse(text) as Predecessor)
  }

  private setPredecessor(type: string, key: string, predecessor: Predecessor | null): void {
    this.cells.setCell('predecessors', keyName(type, key), predecessor === null ? null : JSON.stringify(predecessor))
  }
}
