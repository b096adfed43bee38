/**
 * Queued jobs in the order of their claim: higher priority first, then by place. The cost per job does not grow with
 * the number of jobs: each priority has a linked list in order of place, and a heap holds the priorities only.
 */
import { Heap, type HeapItem } from '../../core/heap.ts'
import { LinkedList, type LinkedItem } from './linked-list.ts'

/** The properties of a job that its order of claim depends on. */
export interface QueueItem<T> extends LinkedItem<T>, HeapItem {
  readonly priority: number
  readonly place: number
}

/** The rows of one priority. */
class PriorityLevel<T extends QueueItem<T>> extends LinkedList<T> {
  heapIndex = -1
  priority = 0
  /** Jobs that returned to an earlier place, which is not the end of the list. */
  private returned: Heap<T> | null = null

  get first(): T | null {
    const back = this.returned?.peek()
    return back === undefined || (this.head !== null && this.head.place < back.place) ? this.head : back
  }

  add(job: T): void {
    if (this.tail === null || this.tail.place < job.place) this.append(job)
    else (this.returned ??= new Heap<T>((a, b) => a.place < b.place)).push(job)
  }

  take(job: T): void {
    if (job.heapIndex < 0) this.remove(job)
    else this.returned?.remove(job)
  }
}

/** The levels of a queue with several priorities. None of them is empty. */
class PriorityLevels<T extends QueueItem<T>> {
  private readonly byPriority = new Map<number, PriorityLevel<T>>()
  private readonly order = new Heap<PriorityLevel<T>>((a, b) => a.priority > b.priority)

  get top(): PriorityLevel<T> | undefined {
    return this.order.peek()
  }

  get(priority: number): PriorityLevel<T> | undefined {
    return this.byPriority.get(priority)
  }

  add(level: PriorityLevel<T>): PriorityLevel<T> {
    this.byPriority.set(level.priority, level)
    this.order.push(level)
    return level
  }

  remove(level: PriorityLevel<T>): void {
    this.byPriority.delete(level.priority)
    this.order.remove(level)
  }
}

export class PriorityQueue<T extends QueueItem<T>> {
  first: T | null = null
  /** The level of `first`; of an empty queue, one that is reused. */
  private top = new PriorityLevel<T>()
  /** All levels, once there are two. */
  private levels: PriorityLevels<T> | null = null

  add(job: T): void {
    this.level(job.priority).add(job)
    this.look()
  }

  remove(job: T): void {
    const level = this.levels?.get(job.priority) ?? this.top
    level.take(job)
    if (this.levels !== null && level.first === null) {
      this.levels.remove(level)
      if (this.levels.top === undefined) this.levels = null
    }
    this.look()
  }

  private level(priority: number): PriorityLevel<T> {
    if (this.first === null) this.top.priority = priority
    if (this.top.priority === priority) return this.top
    if (this.levels === null) {
      this.levels = new PriorityLevels<T>()
      this.levels.add(this.top)
    }
    const known = this.levels.get(priority)
    if (known !== undefined) return known
    const level = new PriorityLevel<T>()
    level.priority = priority
    return this.levels.add(level)
  }

  private look(): void {
    this.top = this.levels?.top ?? this.top
    this.first = this.top.first
  }
}
