/**
 * All rows, by id and in the order of their insertion. A hash table maps an id to the slot of its row; iteration over
 * the slots can begin anywhere, also where a row was removed.
 *
 * In a Map of a million strings a look-up costs four cache misses, and its growth a long pause. Here a look-up mostly
 * costs one cache miss, because strings are compared only if their hashes are equal, and growth moves integers only.
 */
import type { Row } from './row.ts'

/** So few gaps are not worth dropping. */
const gapsMin = 1_000
/** The numbers of slots must fit into 32 bits: they begin anew when so many were dropped. */
const droppedMax = 2 ** 30

export class RowTable {
  /** Ascending by seq. A removed row leaves its seq as a gap, until half of the slots are gaps. */
  private slots: (Row | number)[] = []
  private first = 0
  private gaps = 0
  /** The number of slots that were dropped from the front. */
  private dropped = 0
  /**
   * Pairs of a hash and the number of a slot, each at the place its hash names or at the next ones; 0 marks a free
   * place. Slots are numbered from 1 on, those that were dropped included, so that dropping some does not change the
   * numbers of the others.
   */
  private table = new Int32Array(2 * 16)
  private mask = 15
  /** What was searched last, and the hash of each: an insert searches for its ids before it adds them. */
  private readonly searched: string[] = []
  private readonly hashes: number[] = []
  /** How many of them were added. */
  private added = 0

  get size(): number {
    return this.slots.length - this.gaps
  }

  get(id: string): Row | undefined {
    return this.at(this.find(id, hashOf(id)))
  }

  /** The rows of those of these ids that have one, in their order. */
  getAll(ids: readonly string[]): Row[] {
    const rows: Row[] = []
    this.added = 0
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as string
      const hash = hashOf(id)
      this.searched[i] = id
      this.hashes[i] = hash
      const row = this.at(this.find(id, hash))
      if (row !== undefined) rows.push(row)
    }
    return rows
  }

  /** Adds the newest row. @returns false if there is a row of its id */
  add(row: Row): boolean {
    const { id } = row
    const hash = this.searched[this.added] === id ? (this.hashes[this.added++] as number) : hashOf(id)
    const place = this.find(id, hash)
    if (this.at(place) !== undefined) return false
    row.hash = hash
    this.slots.push(row)
    this.put(place, hash, this.slots.length + this.dropped)
    if (3 * this.size > 2 * this.mask) this.rebuild(2 * this.mask + 1)
    return true
  }

  remove(row: Row): void {
    const place = this.placeOf(row)
    const slot = (this.table[2 * place + 1] as number) - 1 - this.dropped
    this.close(place)
    this.slots[slot] = row.seq
    this.gaps++
    while (this.first < this.slots.length && typeof this.slots[this.first] === 'number') this.first++
    if (this.first > gapsMin && this.first * 2 > this.slots.length) this.dropFirst()
    else if (this.gaps > gapsMin && this.gaps * 2 > this.slots.length) this.compact()
  }

  /** The rows inserted after `seq`, oldest first. None may be added or removed meanwhile. */
  *after(seq: number): Iterable<Row> {
    for (let i = this.slotAfter(seq); i < this.slots.length; i++) {
      const slot = this.slots[i] as Row | number
      if (typeof slot !== 'number') yield slot
    }
  }

  /** The rows inserted before `seq`, newest first. None may be added or removed meanwhile. */
  *before(seq: number): Iterable<Row> {
    for (let i = this.slotAfter(seq - 1) - 1; i >= this.first; i--) {
      const slot = this.slots[i] as Row | number
      if (typeof slot !== 'number') yield slot
    }
  }

  private slotAfter(seq: number): number {
    let low = this.first
    let high = this.slots.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const slot = this.slots[middle] as Row | number
      if ((typeof slot === 'number' ? slot : slot.seq) <= seq) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The row at a place in the table; undefined at a free one. */
  private at(place: number): Row | undefined {
    const slot = this.table[2 * place + 1] as number
    return slot === 0 ? undefined : (this.slots[slot - 1 - this.dropped] as Row)
  }

  /** The place of an id in the table, or the free one where it would be. */
  private find(id: string, hash: number): number {
    const { table, mask, dropped } = this
    let place = hash & mask
    for (;;) {
      const slot = table[2 * place + 1] as number
      if (slot === 0 || (table[2 * place] === hash && (this.slots[slot - 1 - dropped] as Row).id === id)) return place
      place = (place + 1) & mask
    }
  }

  /** The place of a row in the table. It reads neither the id nor any other row: they may not be in the cache. */
  private placeOf(row: Row): number {
    const { table, mask, slots, dropped } = this
    let place = row.hash & mask
    while (table[2 * place] !== row.hash || slots[(table[2 * place + 1] as number) - 1 - dropped] !== row)
      place = (place + 1) & mask
    return place
  }

  private put(place: number, hash: number, slot: number): void {
    this.table[2 * place] = hash
    this.table[2 * place + 1] = slot
  }

  /** Frees a place and moves up the entries that it had displaced, so that no search ends too early. */
  private close(place: number): void {
    const { table, mask } = this
    let free = place
    for (let next = (free + 1) & mask; table[2 * next + 1] !== 0; next = (next + 1) & mask) {
      const hash = table[2 * next] as number
      const displaced = (next - (hash & mask)) & mask
      if (displaced < ((next - free) & mask)) continue
      this.put(free, hash, table[2 * next + 1] as number)
      free = next
    }
    this.put(free, 0, 0)
  }

  /** Drops the gaps before the first row. Rows mostly go in the order in which they came: then these are all gaps. */
  private dropFirst(): void {
    const { first, slots, dropped } = this
    if (this.mask > 8 * (slots.length - this.gaps) || dropped > droppedMax) return this.compact()
    this.slots = slots.slice(first)
    this.dropped = dropped + first
    this.gaps -= first
    this.first = 0
  }

  /** Drops all gaps, and shrinks the table if it has become far too large. */
  private compact(): void {
    const before = this.slots
    const { dropped } = this
    const moved = new Int32Array(before.length + 1)
    this.slots = []
    for (let i = 0; i < before.length; i++) {
      const slot = before[i] as Row | number
      if (typeof slot !== 'number') moved[i + 1] = this.slots.push(slot)
    }
    this.first = this.gaps = this.dropped = 0
    let mask = 15
    while (3 * this.size > mask) mask = 2 * mask + 1
    const { table } = this
    for (let i = 1; i < table.length; i += 2) {
      if (table[i] !== 0) table[i] = moved[(table[i] as number) - dropped] as number
    }
    this.rebuild(mask)
  }

  /** Makes the table anew, with another size. */
  private rebuild(mask: number): void {
    const { table } = this
    this.table = new Int32Array(2 * (mask + 1))
    this.mask = mask
    for (let i = 0; i < table.length; i += 2) {
      if (table[i + 1] === 0) continue
      const hash = table[i] as number
      let place = hash & mask
      while (this.table[2 * place + 1] !== 0) place = (place + 1) & mask
      this.put(place, hash, table[i + 1] as number)
    }
  }
}

/**
 * FNV-1a over pairs of code units, then mixed (the end of MurmurHash3, Austin Appleby, public domain) for its lower
 * bits.
 */
function hashOf(id: string): number {
  const { length } = id
  let hash = 0x811c9dc5
  for (let i = 1; i < length; i += 2) {
    hash = Math.imul(hash ^ id.charCodeAt(i - 1) ^ (id.charCodeAt(i) << 8), 0x01000193)
  }
  if (length % 2 === 1) hash = Math.imul(hash ^ id.charCodeAt(length - 1), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
