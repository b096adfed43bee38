/** A list of rows linked through the rows themselves: appending and removing from anywhere cost the same, and little. */
import type { Row } from './row.ts'

export class LinkedList {
  head: Row | null = null
  tail: Row | null = null

  append(row: Row): void {
    row.prev = this.tail
    if (this.tail === null) this.head = row
    else this.tail.next = row
    this.tail = row
  }

  remove(row: Row): void {
    if (row.prev === null) this.head = row.next
    else row.prev.next = row.next
    if (row.next === null) this.tail = row.prev
    else row.next.prev = row.prev
    row.prev = null
    row.next = null
  }

  /** Its rows from the head on, `limit` at most. */
  toArray(limit = Infinity): Row[] {
    const rows: Row[] = []
    for (let row = this.head; row !== null && rows.length < limit; row = row.next) rows.push(row)
    return rows
  }
}
