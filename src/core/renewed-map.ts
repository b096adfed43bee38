/**
 * A map for entries that come and go. When a `Map` of V8 has no room left, it gets a new table, and the old one keeps
 * its entries and a reference to the new one. A table that has survived two collections is removed by a full collection
 * only: until then it keeps all tables after it, and with them every entry that was removed. This map never lets a
 * table refer to the one that replaces it, but copies its entries into a new `Map`.
 */
export class RenewedMap<K, V> {
  private map = new Map<K, V>()
  private removed = 0

  get size(): number {
    return this.map.size
  }

  get(key: K): V | undefined {
    return this.map.get(key)
  }

  set(key: K, value: V): void {
    this.map.set(key, value)
  }

  /** Sets the newest of entries; the oldest one goes if there are more than `most`. */
  keep(key: K, value: V, most: number): void {
    this.delete(key)
    this.set(key, value)
    if (this.size <= most) return
    const [oldest] = this.map.keys()
    this.delete(oldest as K)
  }

  delete(key: K): void {
    if (!this.map.delete(key)) return
    if (++this.removed > this.map.size + removedMax) this.renew()
  }

  clear(): void {
    this.map = new Map()
    this.removed = 0
  }

  values(): IterableIterator<V> {
    return this.map.values()
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.map.entries()
  }

  private renew(): void {
    this.map = new Map(this.map)
    this.removed = 0
  }
}

/** So many entries of a small map are removed before it is renewed. */
const removedMax = 16
