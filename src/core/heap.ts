/**
 * A binary heap whose items know their place, so that any of them can be removed or moved in O(log n).
 * An item is in one heap at a time; `heapIndex` is −1 while it is in none.
 */
export interface HeapItem {
  heapIndex: number
}

export class Heap<T extends HeapItem> {
  private readonly items: T[] = []
  private readonly before: (a: T, b: T) => boolean

  /** @param before must `a` leave before `b`? A strict order; ties are the caller's to break. */
  constructor(before: (a: T, b: T) => boolean) {
    this.before = before
  }

  get size(): number {
    return this.items.length
  }

  peek(): T | undefined {
    return this.items[0]
  }

  /** Its items, in no particular order. */
  all(): T[] {
    return [...this.items]
  }

  push(item: T): void {
    this.items.push(item)
    this.rise(item, this.items.length - 1)
  }

  pop(): T | undefined {
    const first = this.items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  remove(item: T): void {
    const index = item.heapIndex
    if (index < 0) return
    item.heapIndex = -1
    const last = this.items.pop()
    if (last === undefined || last === item) return
    this.place(last, index)
  }

  /** Call after the item's order has changed. */
  update(item: T): void {
    this.place(item, item.heapIndex)
  }

  private place(item: T, index: number): void {
    // The first item has no parent. JavaScript would look up the index −1 as a property name, which is slow.
    if (index > 0 && this.before(item, this.items[(index - 1) >> 1] as T)) this.rise(item, index)
    else this.sink(item, index)
  }

  private rise(item: T, from: number): void {
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = this.items[above] as T
      if (!this.before(item, parent)) break
      this.set(parent, index)
      index = above
    }
    this.set(item, index)
  }

  private sink(item: T, from: number): void {
    const size = this.items.length
    let index = from
    for (;;) {
      let below = 2 * index + 1
      if (below >= size) break
      const right = below + 1
      if (right < size && this.before(this.items[right] as T, this.items[below] as T)) below = right
      const child = this.items[below] as T
      if (!this.before(child, item)) break
      this.set(child, index)
      index = below
    }
    this.set(item, index)
  }

  private set(item: T, index: number): void {
    this.items[index] = item
    item.heapIndex = index
  }
}
