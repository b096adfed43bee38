/**
 * Jobs that no index tells: the server looks through rows for states and texts. It takes nearly three times as long to
 * read and parse every row here.
 */
import { inSequence, type Position } from '../../core/cursor.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Entry } from './blocks.ts'
import type { Reply } from './connection.ts'
import { scored } from './loading.ts'
import { scriptText } from './row-text.ts'
import type { Scripts } from './scripts.ts'
import { chunk, type EntryWalk } from './walks.ts'

export type LookScripts = Pick<Scripts<'look' | 'lookEnded'>, 'run'>

/** What is in the rows of all jobs that are looked for. */
export interface Wanted {
  /** Lists of texts, of each of which one is in the row. */
  readonly texts: readonly (readonly string[])[]
  /** Left out: any. */
  readonly states?: Readonly<Record<string, true>>
}

/** States as scripts get them. */
export const wantedStates = (states: Iterable<JobState>): Record<string, true> =>
  Object.fromEntries([...states].map((state) => [state, true]))

/** Numbers of enqueues: above the first, up to the second. */
export interface Span {
  readonly above: number
  readonly upto: number
}

interface LookRange {
  /** Starts after this position; null = at the first. */
  readonly after: Position | null
  readonly newestFirst: boolean
  readonly limit: number
}

/** How jobs are looked at. */
export interface Looks {
  /** Are there more, though this call looks at no more? */
  endsEarly: boolean
}

/** Rows that one call looks through, and scripts that it runs: some 100 ms. */
const rowsMax = 40_000
const scriptsMax = 200
/** Calls of scripts that compare terms in one search: some 100 ms. */
const callsMax = 20
/** An id that no job has. */
export const noJob = ''

/** Jobs in the order of their enqueue. @param spans in the same order */
export async function* lookThrough(
  scripts: LookScripts,
  wanted: Wanted,
  spans: AsyncIterable<Span> | Iterable<Span>,
  { after, newestFirst, limit }: LookRange,
  looks: Looks,
): EntryWalk {
  const request = JSON.stringify(wanted)
  let most = Math.min(limit + 1, chunk)
  let rows = 0
  let calls = 0
  for await (const { above, upto } of spans) {
    if (after !== null && (newestFirst ? after.number <= above + 1 : after.number >= upto)) continue
    const first = newestFirst ? Math.min(after?.number ?? Infinity, upto + 1) : Math.max(after?.number ?? 0, above)
    let from = first >= Number.MAX_SAFE_INTEGER ? '' : String(first)
    do {
      if (rows >= rowsMax || calls >= scriptsMax) {
        looks.endsEarly = true
        return
      }
      const bounds = [newestFirst ? '1' : '', String(above), String(Math.min(upto, Number.MAX_SAFE_INTEGER))]
      const [, , reply] = await scripts.run('look', ['', from, ...bounds, String(most), request])
      const [looked, last, found] = reply as readonly [number, string, readonly Reply[]]
      rows += looked
      calls++
      most = chunk
      from = last
      const entries = scored(found).map(([id, number]): Entry => [id, inSequence(number)])
      // No job is there, but the search may have to go on behind it.
      if (from !== '') entries.push([noJob, inSequence(Number(from))])
      if (entries.length > 0) yield entries
    } while (from !== '')
  }
}

/** Ends a search behind so many entries of no job. */
export async function* bounded(walk: EntryWalk, looks: Looks): EntryWalk {
  let calls = 0
  for await (const entries of walk) {
    const end = entries.findIndex(([id]) => id === noJob && ++calls === callsMax)
    if (end === -1) {
      yield entries
      continue
    }
    looks.endsEarly = true
    yield entries.slice(0, end + 1)
    return
  }
}

interface EndedQuery {
  readonly state: JobState
  readonly type: string
  /** When they have ended, ms: from the first on, before the second. */
  readonly since: number
  readonly before: number
}

/**
 * All jobs of a state and type that are looked for, in the order of their ends.
 * @returns null where there are too many to look at
 */
export async function lookThroughEnded(
  scripts: LookScripts,
  wanted: Wanted,
  { state, type, since, before }: EndedQuery,
): Promise<readonly Entry[] | null> {
  const times = [since, before].map((at) => String(Math.min(at, Number.MAX_SAFE_INTEGER)))
  const found: Entry[] = []
  let rows = 0
  let calls = 0
  for (let from = '0'; from !== ''; calls++) {
    if (rows >= rowsMax || calls >= scriptsMax) return null
    const request = ['', state, scriptText(type), from, ...times, JSON.stringify(wanted)]
    const [, , reply] = await scripts.run('lookEnded', request)
    const [looked, last, ids] = reply as readonly [number, string, readonly Reply[]]
    for (const [id, number] of scored(ids)) found.push([id, inSequence(number)])
    rows += looked
    from = last
  }
  return found
}
