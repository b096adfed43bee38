/**
 * What the jobs found out, gathered from their records as they end: the extremes, and one small entry per distinct
 * content.
 */
import type { JobDefinition, JobRecord } from 'jobchart'
import { compress, hash, lines, type Compressed, type FileInput, type Hashed, type Lined } from './jobs.ts'

const listed = 5
/** Smaller files say little about how well they compress. */
export const compressibleBytesMin = 10_000

/** Files of the same content. */
export interface Copies {
  count: number
  readonly bytes: number
  /** The first of them by name. */
  path: string
}

export class Findings {
  readonly incompressible = new Top<Compressed>(listed, (item) => [Math.round(100 * ratioOf(item)), item.bytes])
  readonly longestLines = new Top<Lined>(listed, ({ longestBytes }) => [longestBytes])
  private readonly contents = new Map<string, Copies>()

  take(record: JobRecord): void {
    const hashed = outputOf(hash, record)
    if (hashed !== undefined && hashed.bytes > 0) this.addCopy(hashed)
    const compressed = outputOf(compress, record)
    if (compressed !== undefined && compressed.bytes >= compressibleBytesMin) this.incompressible.take(compressed)
    const lined = outputOf(lines, record)
    if (lined?.isText === true && lined.lines > 0) this.longestLines.take(lined)
  }

  duplicates(): { readonly files: number; readonly wasted: number; readonly largest: readonly Copies[] } {
    const largest = new Top<Copies>(listed, (copies) => [wastedBytes(copies)])
    let [files, wasted] = [0, 0]
    for (const copies of this.contents.values()) {
      if (copies.count === 1) continue
      files += copies.count - 1
      wasted += wastedBytes(copies)
      largest.take(copies)
    }
    return { files, wasted, largest: largest.items }
  }

  private addCopy({ digest, bytes, path }: Hashed): void {
    const copies = this.contents.get(digest)
    if (copies === undefined) {
      this.contents.set(digest, { count: 1, bytes, path })
      return
    }
    copies.count++
    if (path < copies.path) copies.path = path
  }
}

export const ratioOf = ({ bytes, compressedBytes }: Compressed): number => compressedBytes / bytes

export const wastedBytes = ({ count, bytes }: Copies): number => (count - 1) * bytes

/** The output of a job that is done, with the type its definition gives it. */
function outputOf<Output>(
  job: JobDefinition<FileInput, Output>,
  { type, state, output }: JobRecord,
): Output | undefined {
  return type === job.type && state === 'done' ? (output as Output) : undefined
}

/** The few with the highest ranks of many, compared rank by rank; of equals the first by name. */
class Top<Item extends { readonly path: string }> {
  readonly items: Item[] = []
  private readonly size: number
  private readonly ranks: (item: Item) => readonly number[]

  constructor(size: number, ranks: (item: Item) => readonly number[]) {
    this.size = size
    this.ranks = ranks
  }

  take(item: Item): void {
    this.items.push(item)
    this.items.sort((a, b) => this.compare(a, b))
    this.items.length = Math.min(this.items.length, this.size)
  }

  private compare(a: Item, b: Item): number {
    const [left, right] = [this.ranks(a), this.ranks(b)]
    const differing = left.findIndex((rank, i) => rank !== right[i])
    if (differing >= 0) return (right[differing] ?? 0) - (left[differing] ?? 0)
    return a.path < b.path ? -1 : 1
  }
}
