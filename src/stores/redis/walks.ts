/** Walks through indexes: entries in an order, some at a time. */
import { Heap, type HeapItem } from '../../core/heap.ts'
import type { Entry } from './blocks.ts'

/** Entries, some at a time. */
export type EntryWalk = AsyncGenerator<readonly Entry[]>

/** Entries that are read in one round trip. */
export const chunk = 500

/** Where an index stands that is walked. */
interface Head extends HeapItem {
  entries: readonly Entry[]
  at: number
  readonly walk: EntryWalk
}

/**
 * Several walks as one, in the order of their numbers.
 * @param enough so many entries are given before any walk is asked for more
 */
export async function* merged(walks: readonly EntryWalk[], newestFirst: boolean, enough = chunk): EntryWalk {
  const heads = new Heap<Head>((a, b) => {
    const [first, second] = [numberOf(a), numberOf(b)]
    return newestFirst ? first > second : first < second
  })
  const chunks = await Promise.all(walks.map(nextEntries))
  for (const [i, walk] of walks.entries()) {
    const entries = chunks[i]
    if (entries !== undefined) heads.push({ entries, at: 0, walk, heapIndex: -1 })
  }
  let page: Entry[] = []
  for (let head = heads.peek(); head !== undefined; head = heads.peek()) {
    page.push(head.entries[head.at] as Entry)
    head.at++
    if (page.length >= (head.at < head.entries.length ? chunk : enough)) {
      yield page
      page = []
    }
    const entries = head.at < head.entries.length ? head.entries : await nextEntries(head.walk)
    if (entries === undefined) {
      heads.pop()
      continue
    }
    if (entries !== head.entries) [head.entries, head.at] = [entries, 0]
    heads.update(head)
  }
  if (page.length > 0) yield page
}

const numberOf = ({ entries, at }: Head): number => entries[at]?.[1].number ?? 0

/** Undefined at the end. */
async function nextEntries(walk: EntryWalk): Promise<readonly Entry[] | undefined> {
  for (;;) {
    const next = await walk.next()
    if (next.done === true) return undefined
    if (next.value.length > 0) return next.value
  }
}

/** A list as a walk. */
export async function* walkList(entries: readonly Entry[]): EntryWalk {
  for (let i = 0; i < entries.length; i += chunk) yield entries.slice(i, i + chunk)
}

/** Of a walk the entries up to a number. */
export async function* upTo(walk: EntryWalk, upto: number, newestFirst: boolean): EntryWalk {
  for await (const entries of walk) {
    const within = entries.filter(([, { number }]) => number <= upto)
    if (within.length > 0) yield within
    if (!newestFirst && within.length < entries.length) return
  }
}
