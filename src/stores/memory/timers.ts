/**
 * Rows by the time that they wait for, of equal ones the older first. They can be walked from any position in both
 * directions, which a heap cannot. They lie in sorted chunks: a row is added or removed by two binary searches and a
 * move within one chunk.
 */
import { comparePositions, type Position } from '../../core/cursor.ts'

interface TimedRow {
  readonly seq: number
  /** Constant while the row is here, until it is removed. */
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
    const [chunkAt, index] = this.find(positionOf(row))
    // After all others: at the end of the last chunk.
    const which = Math.min(chunkAt, chunks.length - 1)
    const chunk = chunks[which] as T[]
    chunk.splice(chunkAt === which ? index : chunk.length, 0, row)
    if (chunk.length > chunkMax) chunks.splice(which + 1, 0, chunk.splice(chunkMax / 2))
  }

  /** Removes a row that is here under this time; its own may have changed. One that waits for no time is not here. */
  remove(row: T, wakeAt: number | null): void {
    if (wakeAt === null) return
    const [at, index] = this.find({ dueAt: wakeAt, number: row.seq }, row)
    const chunk = this.chunks[at]
    if (chunk?.[index] !== row) throw new TypeError('a timed row is not among the timers')
    if (chunk.length === 1) this.chunks.splice(at, 1)
    else chunk.splice(index, 1)
  }

  /** The rows up to a time, the earliest first, `limit` at most. */
  until(time: number, limit: number): T[] {
    const rows: T[] = []
    for (const row of this.after(null)) {
      if ((row.wakeAt ?? 0) > time || rows.length === limit) break
      rows.push(row)
    }
    return rows
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

  /**
   * Where the first row is that is not before a position: its chunk, and its place there.
   * @param self the row that has this position
   */
  private find(position: Position, self?: T): [at: number, index: number] {
    const { chunks } = this
    const isBefore = (row: T | undefined): boolean =>
      row !== undefined && row !== self && comparePositions(positionOf(row), position) < 0
    const at = firstNot(chunks.length, (i) => isBefore(chunks[i]?.at(-1)))
    const chunk = chunks[at]
    return [at, chunk === undefined ? 0 : firstNot(chunk.length, (i) => isBefore(chunk[i]))]
  }
}

const positionOf = ({ wakeAt, seq }: TimedRow): Position => ({ dueAt: wakeAt ?? 0, number: seq })

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
