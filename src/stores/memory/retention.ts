/** How long ended jobs are kept, and when those of each queue are looked at. */
import { Heap } from '../../core/heap.ts'
import type { RetentionPolicies, RetentionPolicy } from '../../store.ts'
import type { Queue } from './queue.ts'
import type { Row } from './row.ts'

export class Retention {
  private readonly types = new Map<string, RetentionPolicy>()
  private others: RetentionPolicy | null = null
  /** Queues that have ever had an ended job. */
  private readonly looks = new Heap<Queue<Row>>((a, b) => a.lookAt < b.lookAt)

  set({ types, others }: RetentionPolicies): void {
    for (const [type, policy] of types) this.types.set(type, policy)
    this.others = others
    for (const queue of this.looks.all()) this.changed(queue)
  }

  of(type: string): RetentionPolicy | null {
    return this.types.get(type) ?? this.others
  }

  /** An ended job of the queue was added or removed: it is to be looked at. */
  changed(queue: Queue<Row>): void {
    if (queue.lookAt !== -Infinity) this.lookAgain(queue, -Infinity)
  }

  lookAgain(queue: Queue<Row>, at: number): void {
    queue.lookAt = at
    if (queue.heapIndex < 0) this.looks.push(queue)
    else this.looks.update(queue)
  }

  /** Queues that are to be looked at now. */
  due(now: number, limit: number): Queue<Row>[] {
    const due: Queue<Row>[] = []
    for (let next = this.looks.peek(); next !== undefined && next.lookAt <= now; next = this.looks.peek()) {
      if (due.length === limit) break
      this.looks.remove(next)
      due.push(next)
    }
    for (const queue of due) this.looks.push(queue)
    return due
  }

  get nextAt(): number {
    return this.looks.peek()?.lookAt ?? Infinity
  }
}
