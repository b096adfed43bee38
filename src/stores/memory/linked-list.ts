/**
 * A doubly linked list whose links are fields of its items: an item is appended or removed in constant time without an
 * allocation.
 */

/** An item is in one list at a time. */
export interface LinkedItem<T> {
  prev: T | null
  next: T | null
}

export class LinkedList<T extends LinkedItem<T>> {
  head: T | null = null
  tail: T | null = null

  append(item: T): void {
    item.prev = this.tail
    if (this.tail === null) this.head = item
    else this.tail.next = item
    this.tail = item
  }

  remove(item: T): void {
    if (item.prev === null) this.head = item.next
    else item.prev.next = item.next
    if (item.next === null) this.tail = item.prev
    else item.next.prev = item.prev
    item.prev = null
    item.next = null
  }

  /** Its items from the head on, `limit` at most. */
  toArray(limit = Infinity): T[] {
    const items: T[] = []
    for (let item = this.head; item !== null && items.length < limit; item = item.next) items.push(item)
    return items
  }
}
