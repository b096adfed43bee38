/** All rows in the order in which they came, to be walked from any point: also from where a row used to be. */
import type { Row } from './row.ts'

export class Register {
  /** Ascending by seq. Of a row that is gone its seq is left, until half of the slots are such gaps. */
  private slots: (Row | number)[] = []
  private first = 0
  private gaps = 0

  add(row: Row): void {
    this.slots.push(row)
  }

  remove(row: Row): void {
    this.slots[this.find(row.seq)] = row.seq
    this.gaps++
    while (this.first < this.slots.length && typeof this.slots[this.first] === 'number') this.first++
    if (this.gaps > 1_000 && this.gaps * 2 > this.slots.length) this.close()
  }

  /** Visits the rows that came after `seq`, oldest first, until `visit` has had enough. */
  walk(seq: number, visit: (row: Row) => 'more' | 'enough'): void {
    for (let i = Math.max(this.first, this.find(seq + 1)); i < this.slots.length; i++) {
      const slot = this.slots[i] as Row | number
      if (typeof slot !== 'number' && visit(slot) === 'enough') return
    }
  }

  /** The first slot with this seq or a later one. */
  private find(seq: number): number {
    let low = this.first
    let high = this.slots.length
    // What goes is mostly what came first: retention works from that end.
    if (low < high && seqOf(this.slots[low] as Row | number) >= seq) return low
    while (low < high) {
      const middle = (low + high) >>> 1
      if (seqOf(this.slots[middle] as Row | number) < seq) low = middle + 1
      else high = middle
    }
    return low
  }

  private close(): void {
    this.slots = this.slots.filter((slot) => typeof slot !== 'number')
    this.first = 0
    this.gaps = 0
  }
}

const seqOf = (slot: Row | number): number => (typeof slot === 'number' ? slot : slot.seq)
