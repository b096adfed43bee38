/** Walks through indexes: entries in an order, some at a time. */
import { Heap, type HeapItem } from '../../core/heap.ts'
import type { Entry } from './blocks.ts'

/** Entries, some at a time. */
export type EntryWalk = AsyncGenerator<readonly Entry[]>

/** Entries that are read in one round trip. */
export const chunk = 500

/** The next entry of an index that is walked. */
interface Head extends HeapItem {
  entry: Entry
  readonly walk: AsyncGenerator<Entry, undefined>
}

/** Several walks as one, in the order of their numbers. */
export async function* merged(walks: readonly EntryWalk[], newestFirst: boolean): EntryWalk {
  const heads = new Heap<Head>(({ entry: [, a] }, { entry: [, b] }) =>
    newestFirst ? a.number > b.number : a.number < b.number,
  )
  const each = walks.map(singly)
  const entries = await Promise.all(each.map((walk) => walk.next()))
  for (const [i, { value: entry }] of entries.entries()) {
    if (entry !== undefined) heads.push({ entry, walk: each[i] as Head['walk'], heapIndex: -1 })
  }
  let page: Entry[] = []
  for (let head = heads.peek(); head !== undefined; head = heads.peek()) {
    page.push(head.entry)
    if (page.length === chunk) {
      yield page
      page = []
    }
    const { value: entry } = await head.walk.next()
    if (entry === undefined) heads.pop()
    else {
      head.entry = entry
      heads.update(head)
    }
  }
  if (page.length > 0) yield page
}

async function* singly(chunks: EntryWalk): AsyncGenerator<Entry, undefined> {
  for await (const entries of chunks) yield* entries
  return undefined
}

/** A list as a walk. */
export async function* walkList(entries: readonly Entry[]): EntryWalk {
  for (let i = 0; i < entries.length; i += chunk) yield entries.slice(i, i + chunk)
}
