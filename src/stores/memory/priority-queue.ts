/**
 * Queued jobs in the order of their claim: higher priority first, then by place. The work per job does not grow with the
 * line: each priority is a chain in order of place, and only the priorities stand in a heap.
 */
import { Heap } from '../../core/heap.ts'
import { LinkedList } from './linked-list.ts'
import type { Row } from './row.ts'

/** The rows of one priority. */
class PriorityLevel extends LinkedList {
  heapIndex = -1
  priority = 0
  /** Those that came back to an old place, which is not the end of the chain. */
  private returned: Heap<Row> | null = null

  get first(): Row | null {
    const back = this.returned?.peek()
    return back === undefined || (this.head !== null && this.head.place < back.place) ? this.head : back
  }

  add(row: Row): void {
    if (this.tail === null || this.tail.place < row.place) this.append(row)
    else (this.returned ??= new Heap<Row>((a, b) => a.place < b.place)).push(row)
  }

  take(row: Row): void {
    if (row.heapIndex < 0) this.remove(row)
    else this.returned?.remove(row)
  }
}

/** The levels of a line that has had more than one at once. None of them is empty. */
class PriorityLevels {
  private readonly byPriority = new Map<number, PriorityLevel>()
  private readonly order = new Heap<PriorityLevel>((a, b) => a.priority > b.priority)

  get top(): PriorityLevel | undefined {
    return this.order.peek()
  }

  get(priority: number): PriorityLevel | undefined {
    return this.byPriority.get(priority)
  }

  add(level: PriorityLevel): PriorityLevel {
    this.byPriority.set(level.priority, level)
    this.order.push(level)
    return level
  }

  remove(level: PriorityLevel): void {
    this.byPriority.delete(level.priority)
    this.order.remove(level)
  }
}

export class PriorityQueue {
  first: Row | null = null
  /** The level of `first`; of an empty line, one to use again. */
  private top = new PriorityLevel()
  /** All levels, once there are two. */
  private levels: PriorityLevels | null = null

  add(row: Row): void {
    this.level(row.priority).add(row)
    this.look()
  }

  remove(row: Row): void {
    const level = this.levels?.get(row.priority) ?? this.top
    level.take(row)
    if (this.levels !== null && level.first === null) {
      this.levels.remove(level)
      if (this.levels.top === undefined) this.levels = null
    }
    this.look()
  }

  private level(priority: number): PriorityLevel {
    if (this.first === null) this.top.priority = priority
    if (this.top.priority === priority) return this.top
    if (this.levels === null) {
      this.levels = new PriorityLevels()
      this.levels.add(this.top)
    }
    const known = this.levels.get(priority)
    if (known !== undefined) return known
    const level = new PriorityLevel()
    level.priority = priority
    return this.levels.add(level)
  }

  private look(): void {
    this.top = this.levels?.top ?? this.top
    this.first = this.top.first
  }
}
