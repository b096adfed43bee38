/**
 * How many jobs of a queue this process has picked of each concurrency key. Of a queue with more keys than are counted,
 * the key with the fewest picks makes room for a new one, which takes over its number (Metwally et al., 2005): so keys
 * with many picks are never missing, and a number is too high by no more than all picks divided by the keys that are
 * counted.
 */
import { Heap, type HeapItem } from '../core/heap.ts'

/** Keys that are counted of each queue. */
export const countedKeysMax = 1_000

interface CountedKey extends HeapItem {
  key: string
  picks: number
}

export class KeyPicks {
  private readonly byKey = new Map<string, CountedKey>()
  private readonly fewest = new Heap<CountedKey>((a, b) => a.picks < b.picks)

  add(key: string): void {
    let counted = this.byKey.get(key)
    if (counted === undefined && this.byKey.size < countedKeysMax) {
      counted = { key, picks: 0, heapIndex: -1 }
      this.fewest.push(counted)
    } else if (counted === undefined) {
      counted = this.fewest.peek() as CountedKey
      this.byKey.delete(counted.key)
      counted.key = key
    }
    counted.picks++
    this.byKey.set(key, counted)
    this.fewest.update(counted)
  }

  /** The keys with the most picks, those first. */
  top(count: number): readonly { readonly key: string; readonly picks: number }[] {
    const sorted = this.fewest.all().toSorted((a, b) => b.picks - a.picks || (a.key < b.key ? -1 : 1))
    return sorted.slice(0, count).map(({ key, picks }) => ({ key, picks }))
  }
}
