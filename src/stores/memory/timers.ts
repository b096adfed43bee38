/**
 * Rows by the time that they wait for, of equal ones the older first. They can be walked from any position in both
 * directions, which a heap cannot. They lie in sorted chunks: a row is added or removed by two binary searches and a
 * move within one chunk.
 */
import { comparePositions, type Position } from '../../core/cursor.ts'

interface TimedRow {
  readonly seq: number
  /** Constant while the row is here; null while it is not. */
  readonly wakeAt: number | null
}

/** Rows of a chunk at most. */
const chunkMax = 512

export class Timers<T extends TimedRow> {
  /** Each has a row at least; all rows of one are before those of the next. */
  private readonly chunks: T[][] = []

  /** The row that is due first. */
  peek(): T | undefined {
    return this.chunks[0]?.[0]
  }

  add(row: T): void {
    const { chunks } = this
    if (chunks.length === 0) chunks.push([])
    const [at, index] = this.find(duePosition(row))
    // After all others: at the end of the last chunk.
    const which = Math.min(at, chunks.length - 1)
    const chunk = chunks[which] as T[]
    chunk.splice(at === which ? index : chunk.length, 0, row)
    if (chunk.length > chunkMax) chunks.splice(which + 1, 0, chunk.splice(chunkMax / 2))
  }

  /** Removes a row; one that waits for no time is not here. */
  remove(row: T): void {
    if (row.wakeAt === null) return
    const [at, index] = this.find(duePosition(row))
    const chunk = this.chunks[at]
    if (chunk?.[index] !== row) throw new TypeError('a timed row is not among the timers')
    if (chunk.length === 1) this.chunks.splice(at, 1)
    else chunk.splice(index, 1)
  }

  /** The rows after a position, the earliest first; null = all. */
  *after(position: Position | null): Iterable<T> {
    const [first, from] = position === null ? [0, 0] : this.find({ ...position, number: position.number + 1 })
    for (let at = first; at < this.chunks.length; at++) {
      const chunk = this.chunks[at] as T[]
      for (let i = at === first ? from : 0; i < chunk.length; i++) yield chunk[i] as T
    }
  }

  /** The rows before a position, the latest first; null = all. */
  *before(position: Position | null): Iterable<T> {
    const [last, end] = position === null ? [this.chunks.length, 0] : this.find(position)
    for (let at = last; at >= 0; at--) {
      const chunk = this.chunks[at] ?? []
      for (let i = (at === last ? end : chunk.length) - 1; i >= 0; i--) yield chunk[i] as T
    }
  }

  /** Where the first row is that is not before a position: its chunk, and its place there. */
  private find(position: Position): [at: number, index: number] {
    const { chunks } = this
    const isBefore = (row: T | undefined): boolean =>
      row !== undefined && comparePositions(duePosition(row), position) < 0
    const at = firstNot(chunks.length, (i) => isBefore(chunks[i]?.at(-1)))
    const chunk = chunks[at]
    return [at, chunk === undefined ? 0 : firstNot(chunk.length, (i) => isBefore(chunk[i]))]
  }
}

/** Where a row stands by its due time. */
export const duePosition = ({ wakeAt, seq }: TimedRow): Position => ({ dueAt: wakeAt ?? 0, number: seq })

/** The first index for which a condition does not hold, which holds up to there; `length` if it holds for all. */
function firstNot(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}
