/**
 * Indexes in the order of numbers of transitions: all jobs by that of their enqueue, and ended jobs of a state and
 * type by that of their end. Each is a stream, whose entries are blocks: ids that were entered together, whose
 * numbers follow each other; the entry has the number of the last one. Nothing is taken out of a block: a row tells
 * whether its job still stands where a block names it. A block of which no job does is removed.
 */
import { inSequence, type Position } from '../../core/cursor.ts'
import type { Commands, Reply } from './connection.ts'

/** An entry of an index: the id, and where the job stands in the order. */
export type Entry = readonly [id: string, position: Position]

/** In which order entries are read: from a position on, which is left out. */
interface Walk {
  readonly after: Position | null
  readonly newestFirst: boolean
}

/** Blocks that are read in one round trip at most. */
const blocksMax = 50

/** The entries of blocks, ascending. */
const entriesOf = (reply: Reply): Entry[] =>
  (reply as readonly (readonly Reply[])[]).flatMap((block) => {
    const [, first, ...ids] = block[1] as readonly string[]
    return ids.flatMap((id, i): Entry[] => (id === '' ? [] : [[id, inSequence(Number(first) + i)]]))
  })

const numberOf = (block: readonly Reply[]): number => Number.parseInt(String(block[0]), 10)

/** @param first blocks that are read first; then more in one round trip */
export async function* walkBlocks(
  redis: Commands,
  key: string,
  { after, newestFirst }: Walk,
  first = 2,
): AsyncGenerator<readonly Entry[]> {
  let size = first
  let from = after?.number ?? null
  if (newestFirst && from !== null) {
    // The block that the position is in, or the first one behind it.
    const entries = entriesOf(await redis.send(['XRANGE', key, `${from}-0`, '+', 'COUNT', '1']))
    const before = entries.filter(([, { number }]) => number < (from as number)).toReversed()
    if (before.length > 0) yield before
  }
  for (; ; size = Math.min(2 * size, blocksMax)) {
    const command = newestFirst
      ? ['XREVRANGE', key, from === null ? '+' : `(${from}-0`, '-', 'COUNT', String(size)]
      : ['XRANGE', key, from === null ? '-' : `${from + 1}-0`, '+', 'COUNT', String(size)]
    const blocks = (await redis.send(command)) as readonly (readonly Reply[])[]
    const entries = entriesOf(newestFirst ? blocks.toReversed() : blocks)
    const found = newestFirst
      ? entries.toReversed()
      : entries.filter(([, { number }]) => from === null || number > from)
    if (found.length > 0) yield found
    if (blocks.length < size) return
    from = numberOf(blocks.at(-1) as readonly Reply[])
  }
}
