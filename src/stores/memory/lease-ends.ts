/**
 * When leases end. Jobs are only counted by the end of their lease, which those of one claim or heartbeat have in
 * common: then a claim and a settlement move nothing. The jobs of an end that has come, which is rare, are found among
 * the leased rows, the longest leased first.
 */
import { Heap, type HeapItem } from '../../core/heap.ts'

class LeaseEnd implements HeapItem {
  heapIndex = -1
  /** ms since the epoch. */
  readonly at: number
  /** Leases that end then. */
  count = 0

  constructor(at: number) {
    this.at = at
  }
}

export class LeaseEnds {
  private readonly byTime = new Map<number, LeaseEnd>()
  private readonly order = new Heap<LeaseEnd>((a, b) => a.at < b.at)
  /** The end that was changed last, which mostly is the next one, too. */
  private latest: LeaseEnd | null = null

  /** When the first lease ends, ms since the epoch; null = there is none. */
  get firstAt(): number | null {
    return this.order.peek()?.at ?? null
  }

  /**
   * The first ends up to a time that together have `limit` leases, if there are as many: when the last of them is, and
   * how many leases they have.
   */
  first(time: number, limit: number): { readonly until: number; readonly count: number } {
    const ends: LeaseEnd[] = []
    let count = 0
    for (let end = this.order.peek(); end !== undefined && end.at <= time && count < limit; end = this.order.peek()) {
      this.order.remove(end)
      ends.push(end)
      count += end.count
    }
    for (const end of ends) this.order.push(end)
    return { until: ends.at(-1)?.at ?? -Infinity, count }
  }

  add(at: number): void {
    const end = this.find(at) ?? this.begin(at)
    end.count++
    this.latest = end
  }

  remove(at: number): void {
    const end = this.find(at)
    if (end === undefined) throw new TypeError('no lease ends at this time')
    this.latest = end
    end.count--
    if (end.count > 0) return
    this.latest = null
    this.byTime.delete(at)
    this.order.remove(end)
  }

  private find(at: number): LeaseEnd | undefined {
    return this.latest !== null && this.latest.at === at ? this.latest : this.byTime.get(at)
  }

  private begin(at: number): LeaseEnd {
    const end = new LeaseEnd(at)
    this.byTime.set(at, end)
    this.order.push(end)
    return end
  }
}
