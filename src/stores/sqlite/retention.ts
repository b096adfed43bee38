/** How long ended jobs are kept, and when those of each queue are looked at. */
import type { RetentionPolicies, RetentionPolicy } from '../../core/values.ts'
import { never } from './columns.ts'
import type { Statements } from './statements.ts'

/** The name of the policy of all types without one: no type has it. */
const others = ''

export class Retention {
  private readonly sql: Statements
  /** Queues with an ended job more or less than at the last look, not written yet. */
  private readonly unwritten = new Set<number>()
  /**
   * Queues of which the file says that they are to be looked at once: only the first change after a look is written.
   */
  private readonly marked = new Set<number>()

  constructor(sql: Statements) {
    this.sql = sql
  }

  retain({ types, others: policy }: RetentionPolicies): void {
    let hasChanged = false
    for (const [type, each] of [[others, policy] as const, ...types]) {
      if (this.sql.changes('setRetention', type, JSON.stringify(each))) hasChanged = true
    }
    if (hasChanged) this.sql.run('lookAtAll')
  }

  of(type: string): RetentionPolicy | null {
    const text = (this.sql.get('retention', type) ?? this.sql.get('retention', others))?.[0]
    return text === undefined ? null : (JSON.parse(text) as RetentionPolicy)
  }

  /** An ended job of a queue was added or removed. */
  changed(queue: number): void {
    if (!this.marked.has(queue)) this.unwritten.add(queue)
  }

  /** Queues that are to be looked at now. */
  due(now: number, limit: number): readonly number[] {
    this.write()
    return this.sql.all('looks', now, limit).map(([queue]) => queue)
  }

  /** @param at ms since the epoch; Infinity = not before something changes */
  lookAgain(queue: number, at: number): void {
    this.marked.delete(queue)
    this.sql.run('setLook', queue, at === Infinity ? never : Math.ceil(at))
  }

  get nextLookAt(): number {
    const at = this.sql.get('nextLook')?.[0] ?? never
    return at === never ? Infinity : at
  }

  write(): void {
    for (const queue of this.unwritten) {
      this.sql.run('setLook', queue, 0)
      this.marked.add(queue)
    }
    this.unwritten.clear()
  }

  /** Another process has written, or a transaction was rolled back. */
  forget(): void {
    this.unwritten.clear()
    this.marked.clear()
  }
}
