/** Parts of calls: what one commit writes is bounded, because it holds up every other client of a server. */
import { roughSize, type Json } from '../../core/payload.ts'
import type { InsertRequest } from '../../store.ts'

/** Items of one commit, where a call can be parted. */
export const partMax = 200
/** The same where the row of each is read and written whole. */
export const wholeRowsMax = 50
/** The same in bytes of payloads; a single item may have more. */
const partBytesMax = 1_048_576

/** Does parts of a call in order. */
export async function joined<I, A>(
  parts: readonly (readonly I[])[],
  act: (part: readonly I[]) => Promise<A[]>,
): Promise<A[]> {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return act(first)
  return (await Promise.all(parts.map(act))).flat()
}

/** Rough bytes of a payload. One that cannot be read has none: its item fails when it is written, and no other. */
function sizeOf(payload: () => Json | undefined): number {
  try {
    return roughSize(payload())
  } catch {
    return 0
  }
}

/** @param isAlone has a part of its own, and none that follows it in one with it */
function parted<I>(
  items: readonly I[],
  weightOf: (item: I) => number,
  bytesOf: (item: I) => number,
  isAlone: (item: I) => boolean = () => false,
): (readonly I[])[] {
  const parts: I[][] = []
  let [weight, bytes, isClosed] = [0, 0, true]
  for (const item of items) {
    const [addedWeight, addedBytes, alone] = [weightOf(item), bytesOf(item), isAlone(item)]
    if (isClosed || alone || weight + addedWeight > partMax || bytes + addedBytes > partBytesMax) {
      parts.push([])
      weight = bytes = 0
    }
    parts.at(-1)?.push(item)
    weight += addedWeight
    bytes += addedBytes
    isClosed = alone
  }
  return parts
}

/**
 * @param payload what may be large of an item: states of machines, outputs
 * @param weightOf as how many items it counts
 */
export const partsOf = <I>(
  items: readonly I[],
  payload?: (item: I) => Json | undefined,
  weightOf: (item: I) => number = () => 1,
): (readonly I[])[] =>
  items.length === 1
    ? [items]
    : parted(items, weightOf, (item) => (payload === undefined ? 0 : sizeOf(() => payload(item))))

const isHandOver = (request: InsertRequest | undefined): boolean => request?.queue?.capacity === 0

/**
 * A hand-over has a commit of its own: the slots are counted by the server, which does not know the inserts before it.
 */
export const insertParts = (requests: readonly InsertRequest[]): (readonly InsertRequest[])[] =>
  requests.length === 1
    ? [requests]
    : parted(
        requests,
        ({ jobs }) => jobs.length,
        ({ jobs }) => jobs.reduce((sum, job) => sum + sizeOf(() => job.input), 0),
        isHandOver,
      )
