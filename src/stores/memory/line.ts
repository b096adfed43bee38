/**
 * Queued jobs in the order of their claim: higher priority first, then by place. The work per job does not grow with the
 * line: each priority is a chain in order of place, and only the priorities stand in a heap.
 */
import { Heap } from '../../heap.ts'
import { Chain } from './chain.ts'
import type { Row } from './row.ts'

class Level {
  heapIndex = -1
  priority = 0
  private readonly chain = new Chain()
  /** Those that came back to an old place, which is not the end of the chain. */
  private returned: Heap<Row> | null = null

  get first(): Row | null {
    const { head } = this.chain
    const back = this.returned?.peek()
    return back === undefined || (head !== null && head.place < back.place) ? head : back
  }

  add(row: Row): void {
    const { tail } = this.chain
    if (tail === null || tail.place < row.place) this.chain.append(row)
    else (this.returned ??= new Heap<Row>((a, b) => a.place < b.place)).push(row)
  }

  remove(row: Row): void {
    if (row.heapIndex < 0) this.chain.remove(row)
    else this.returned?.remove(row)
  }
}

export class Line {
  first: Row | null = null
  /** The level of `first`; of an empty line, one to use again. */
  private top = new Level()
  /** All levels, once there are two. None of them is empty. */
  private levels: Map<number, Level> | null = null
  private order: Heap<Level> | null = null

  add(row: Row): void {
    this.level(row.priority).add(row)
    this.look()
  }

  remove(row: Row): void {
    const level = this.levels?.get(row.priority) ?? this.top
    level.remove(row)
    if (this.levels !== null && level.first === null) {
      this.levels.delete(level.priority)
      this.order?.remove(level)
      if (this.levels.size === 0) this.levels = this.order = null
    }
    this.look()
  }

  private level(priority: number): Level {
    if (this.levels === null || this.order === null) {
      if (this.first === null) this.top.priority = priority
      if (this.top.priority === priority) return this.top
      this.levels = new Map([[this.top.priority, this.top]])
      this.order = new Heap<Level>((a, b) => a.priority > b.priority)
      this.order.push(this.top)
    }
    let level = this.levels.get(priority)
    if (level === undefined) {
      level = new Level()
      level.priority = priority
      this.levels.set(priority, level)
      this.order.push(level)
    }
    return level
  }

  private look(): void {
    if (this.order !== null) this.top = this.order.peek() ?? this.top
    this.first = this.top.first
  }
}
