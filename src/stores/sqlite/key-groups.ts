/**
 * Lanes: one per concurrency key of a type, with how many of its jobs are held and which of its queued ones is first. A
 * claim under a cap per key looks at the first of each open lane, and never at the jobs behind a key that is at its cap.
 */
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { Queue } from './queue.ts'
import type { Row } from './row.ts'
import type { Rows } from './rows.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'

const held = statesTagged('leased')

type Head = [priority: number, place: number]

/** Does the first stand before the second? */
export const before = (priority: number, place: number, other: Head): boolean =>
  priority > other[0] || (priority === other[0] && place < other[1])

export class KeyGroups {
  private readonly sql: Statements
  private readonly rows: Rows

  constructor(sql: Statements, rows: Rows) {
    this.sql = sql
    this.rows = rows
  }

  /** A job has come to the queue. */
  arrive(queue: Queue, key: string, priority: number, place: number): void {
    const [count, head] = this.read(queue, key)
    if (head === null || before(priority, place, head)) this.write(queue, key, count, [priority, place])
  }

  /** A job has moved. */
  moved(queue: Queue, row: Row, key: string, from: JobState): void {
    const change = Number(held.has(row.state)) - Number(held.has(from))
    const arrives = row.state === claimable
    if (change === 0 && !arrives && from !== claimable) return
    const [count, head] = this.read(queue, key)
    let next = head
    if (arrives && (head === null || before(row.priority, row.place, head))) next = [row.priority, row.place]
    if (from === claimable && head !== null && head[1] === row.place) next = this.head(queue, key)
    this.write(queue, key, count + change, next)
  }

  /** The first job, by (priority, place), whose key has fewer than `perKey` held. */
  first(queue: Queue, perKey: number): Row | undefined {
    this.rows.write()
    let best: [key: string, ...Head] | undefined
    for (
      let count = this.nextHeld(queue, 0);
      count !== null && count < perKey;
      count = this.nextHeld(queue, count + 1)
    ) {
      const lane = this.sql.get('firstLane', queue.number, count)
      if (lane !== undefined && (best === undefined || before(lane[1], lane[2], [best[1], best[2]]))) best = lane
    }
    if (best === undefined) return undefined
    const values = this.sql.get('readyOfKey', queue.number, best[0])
    return values === undefined ? undefined : this.rows.from(values)
  }

  private nextHeld(queue: Queue, from: number): number | null {
    return this.sql.get('nextHeld', queue.number, from)?.[0] ?? null
  }

  private head(queue: Queue, key: string): Head | null {
    this.rows.write()
    return this.sql.get('headOfLane', queue.number, key) ?? null
  }

  private read(queue: Queue, key: string): [held: number, head: Head | null] {
    const lane = this.sql.get('lane', queue.number, key)
    if (lane === undefined) return [0, null]
    const [count, priority, place] = lane
    return [count, priority === null || place === null ? null : [priority, place]]
  }

  private write(queue: Queue, key: string, count: number, head: Head | null): void {
    if (count === 0 && head === null) this.sql.run('removeLane', queue.number, key)
    else this.sql.run('writeLane', queue.number, key, count, head?.[0] ?? null, head?.[1] ?? null)
  }
}
