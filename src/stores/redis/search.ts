/** Jobs by a filter: the index that has them in the order asked for is walked, a bounded part of it in one call. */
import { comparePositions, inSequence, isListed, scanMax, type Position } from '../../core/cursor.ts'
import { Heap, type HeapItem } from '../../core/heap.ts'
import { isEnded, isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter, ListOrder } from '../../store.ts'
import { idsOf, walkBlocks, type Entry } from './blocks.ts'
import type { Commands, Reply } from './connection.ts'
import { countsByName, figuresFrom } from './figures.ts'
import { memberId, type Keys } from './keys.ts'
import { leasedIds } from './leases.ts'
import { dataAt, rowsFrom, scored, unreadableOf, type SetAside } from './loading.ts'
import { finished, started, waiting } from './grown.ts'
import { separator } from './history-text.ts'
import { scriptText, unlessUnreadable, type StoredRow } from './row-text.ts'
import type { Scripts } from './scripts.ts'
import { matches } from '../remote/match.ts'

/** In which order jobs are looked at, and how many of them. */
interface Range {
  readonly by: ListOrder
  readonly newestFirst: boolean
  /** Starts after this position; null = at the first. */
  readonly after: Position | null
  /** Ends at this number of an enqueue, and leaves out jobs that have ended after it. */
  readonly until?: number
  readonly limit: number
}

interface FoundJob {
  readonly id: string
  readonly row: StoredRow
}

interface Found {
  readonly jobs: readonly FoundJob[]
  /** The position to go on after; null at the end. */
  readonly next: Position | null
}

type SearchScripts = Pick<Scripts<'due' | 'figures' | 'look'>, 'run'>

/** Entries that are read in one round trip. */
const chunk = 500
/** Reads the rows of jobs: one command of the server takes some of them, for it answers nobody else meanwhile. */
const readRows = (key: string, ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / chunk) }, (_, i) => [
    'HMGET',
    key,
    ...ids.slice(i * chunk, (i + 1) * chunk),
  ])
/** Rows that one call looks through for texts, by scripts: some 100 ms. */
const lookedMax = 40_000
/** Of more types than these, all rows are read. */
const lookedTypesMax = 10
/** Up to this many leased or ended jobs are gathered and sorted; of more, all jobs are looked at in their order. */
const fewMax = 4 * scanMax

export class Search {
  private readonly redis: Commands
  private readonly keys: Keys
  private readonly scripts: SearchScripts

  private readonly setAside: SetAside

  constructor(redis: Commands, keys: Keys, scripts: SearchScripts, setAside: SetAside) {
    this.setAside = setAside
    this.redis = redis
    this.keys = keys
    this.scripts = scripts
  }

  async find(filter: JobFilter, eligible: (state: JobState) => boolean, range: Range): Promise<Found> {
    const types = anyOf(filter.type)
    const among = statesOf(filter, (state) => eligible(state) && isListed(range.by, state))
    const counts = await this.counts()
    const wanted: Wanted = { filter, among, types, counts }
    /** Jobs of these states and types that have not been looked at. */
    let left = countOf(wanted, among)
    const jobs: FoundJob[] = []
    let looked = 0
    let last: Position | null = null
    const { until = Infinity } = range
    const walk = { endsEarly: false }
    if (left === 0) return { jobs, next: null }
    for await (const entries of this.chunks(wanted, range, walk)) {
      const rows = await this.rows(
        entries.map(([id]) => id),
        filter,
      )
      for (const [i, [id, position]] of entries.entries()) {
        const row = rows[i] ?? null
        if (looked === scanMax) return { jobs, next: last }
        if (row !== null && row.seq > until) return { jobs, next: null }
        const isAmong =
          row !== null && isAt(row, range.by, position) && among.has(row.state) && types?.has(row.type) !== false
        if (isAmong && passes(id, row, filter, until)) {
          if (jobs.length === range.limit) return { jobs, next: last }
          jobs.push({ id, row })
        }
        looked++
        last = position
        if (isAmong && --left === 0) return { jobs, next: null }
      }
    }
    return { jobs, next: walk.endsEarly ? last : null }
  }

  /** Those of some jobs that pass the filter now, in the order of their enqueue. */
  async among(
    ids: readonly string[],
    filter: JobFilter,
    eligible: (state: JobState) => boolean,
    until: number,
  ): Promise<readonly FoundJob[]> {
    const types = anyOf(filter.type)
    const states = statesOf(filter, eligible)
    const rows = await this.rows(ids, filter)
    const found = ids.flatMap((id, i): FoundJob[] => {
      const row = rows[i] ?? null
      if (row === null) return []
      const isAmong = states.has(row.state) && types?.has(row.type) !== false
      return isAmong && row.seq <= until && passes(id, row, filter, until) ? [{ id, row }] : []
    })
    return found.toSorted((a, b) => a.row.seq - b.row.seq)
  }

  /** The rows of jobs, with their meta if the filter asks for it. */
  private async rows(ids: readonly string[], filter: JobFilter): Promise<(StoredRow | null)[]> {
    if (ids.length === 0) return []
    const readers = readRows(this.keys.jobs, ids)
    const replies = await this.redis.pipeline([
      ...readers,
      ...(filter.meta === undefined ? [] : [['HMGET', this.keys.data('meta'), ...ids]]),
    ])
    const [rows, metas] = [replies.slice(0, readers.length).flat(), replies.slice(readers.length)]
    const read = rowsFrom(rows)
    const unreadable = unreadableOf(ids, rows, read)
    if (unreadable.length > 0) await this.setAside(unreadable)
    if (metas.length === 0) return read
    return read.map((row, i) => row?.withData(dataAt(i, ['meta'], metas), ['meta']) ?? null)
  }

  /** How many jobs there are of each state, and of each state and type. */
  private async counts(): Promise<ReadonlyMap<string, number>> {
    return countsByName(figuresFrom((await this.scripts.run('figures', ['']))[3]))
  }

  /** Entries among which all are that pass the filter, in the order of the range. */
  private async *chunks(wanted: Wanted, range: Range, walk: Walk): AsyncGenerator<readonly Entry[]> {
    if (range.by === 'finished') yield* this.byEnd(this.endedIndexes(wanted), range)
    else if (range.by === 'due') yield* this.byDueTime(range)
    else yield* this.byEnqueue(wanted, range, walk)
  }

  private async *byEnqueue(wanted: Wanted, range: Range, walk: Walk): AsyncGenerator<readonly Entry[]> {
    const indexes = await this.smallestIndexes(wanted.filter)
    if (indexes.length > 0) {
      const walks = indexes.map((index) => this.walk(index, range))
      return yield* merged(walks, range)
    }
    const few = await this.few(wanted, range)
    const texts = textsOf(wanted)
    if (few !== null) for (let i = 0; i < few.length; i += chunk) yield few.slice(i, i + chunk)
    else if (texts.length > 0) yield* this.looked(texts, range, walk)
    else yield* walkBlocks(this.redis, this.keys.all, range)
  }

  /**
   * Of all jobs those that have certain texts in their rows. The server looks for them: it takes nearly three times as
   * long to read and parse every row here.
   */
  private async *looked(texts: Texts, range: Range, walk: Walk): AsyncGenerator<Entry[]> {
    const { after, newestFirst, until = Infinity, limit } = range
    const upto = String(Math.min(until, Number.MAX_SAFE_INTEGER))
    const terms = [newestFirst ? '1' : '', upto, JSON.stringify(texts)]
    let from = after === null ? '' : String(after.number)
    let most = Math.min(limit + 1, chunk)
    for (let rows = 0; rows < lookedMax; most = chunk) {
      const [, , reply] = await this.scripts.run('look', ['', from, ...terms, String(most)])
      const [looked, last, found] = reply as readonly [number, string, readonly Reply[]]
      rows += looked
      const entries = scored(found).map(([id, number]): Entry => [id, inSequence(number)])
      from = last
      // No job is there, but the search may have to go on behind it.
      if (from !== '') entries.push([noJob, inSequence(Number(from))])
      if (entries.length > 0) yield entries
      if (from === '') return
    }
    walk.endsEarly = true
  }

  /** Indexes of fewer jobs than all, by enqueue, that together have each job once; none: all jobs. */
  private async smallestIndexes({
    failure,
    unsupported,
    parent,
    machineState,
    machineTag,
  }: JobFilter): Promise<readonly string[]> {
    const { keys } = this
    const choices = [
      ...(failure === undefined ? [] : [[...new Set([failure].flat())].map((each) => keys.failing(each))]),
      ...(unsupported === true ? [[keys.unsupported]] : []),
      ...(parent === undefined ? [] : [[keys.children(parent)]]),
      ...(machineState === undefined ? [] : [[keys.machineState(machineState)]]),
      ...(machineTag === undefined ? [] : [[keys.machineTag(machineTag)]]),
    ]
    if (choices.length < 2) return choices[0] ?? []
    const cards = (await this.redis.pipeline(choices.flat().map((name) => ['ZCARD', name]))).map(Number)
    const sizes = choices.map((names) => sum(cards.splice(0, names.length)))
    return choices[sizes.indexOf(Math.min(...sizes))] ?? []
  }

  /** The indexes of ended jobs of these states and types (null: of all), as far as there are any. */
  private endedIndexes({ among, types, counts }: Wanted): readonly string[] {
    return [...counts].flatMap(([name, count]) => {
      const colon = name.indexOf(':')
      const [state, type] = [name.slice(0, colon) as JobState, name.slice(colon + 1)]
      const isWanted = colon > 0 && count > 0 && among.has(state) && isEnded(state) && types?.has(type) !== false
      return isWanted ? [this.keys.ended(state, type)] : []
    })
  }

  /** @param first how many entries are read first; then as many as one round trip takes */
  private async *walk(index: string, { after, newestFirst }: Range, first = chunk): AsyncGenerator<readonly Entry[]> {
    let size = first
    for (let from = after?.number ?? null; ; size = chunk) {
      const [start, end] = newestFirst
        ? [from === null ? '+inf' : `(${from}`, '-inf']
        : [from === null ? '-inf' : `(${from}`, '+inf']
      const order = newestFirst ? ['REV'] : []
      const command = ['ZRANGE', index, start, end, 'BYSCORE', ...order, 'LIMIT', '0', String(size), 'WITHSCORES']
      const entries = scored(await this.redis.send(command)).map(([id, number]): Entry => [id, inSequence(number)])
      if (entries.length > 0) yield entries
      if (entries.length < size) return
      from = entries.at(-1)?.[1].number ?? null
    }
  }

  /**
   * Jobs of which all are leased or have ended, where they are few: their own indexes are in another order.
   * @returns null where they are not
   */
  private async few(wanted: Wanted, { after, newestFirst }: Range): Promise<readonly Entry[] | null> {
    const { among, counts } = wanted
    const elsewhere = [...among].filter((state) => !isLeased(state) && !isEnded(state))
    if (countOf(wanted, elsewhere) > 0) return null
    const count = countOf(wanted, among)
    const total = sum(jobStates.map((state) => counts.get(state) ?? 0))
    if (count > fewMax || count * 20 > total) return null
    // The indexes also name jobs that are in another state by now.
    const ended = await idsOf(this.redis, this.endedIndexes(wanted), 2 * count + chunk)
    if (ended === null) return null
    const leased = [...among].some(isLeased) ? await leasedIds(this.redis, this.keys) : []
    const ids = [...new Set([...leased, ...ended])]
    const rows = rowsFrom((await this.redis.pipeline(readRows(this.keys.jobs, ids))).flat())
    // One may have come into another state before its index was read.
    if (elsewhere.length > 0 && countOf({ ...wanted, counts: await this.counts() }, elsewhere) > 0) return null
    const entries = ids.map((id, i): Entry => [id, inSequence(rows[i]?.seq ?? 0)])
    const compare = (a: Position, b: Position): number => (newestFirst ? -1 : 1) * comparePositions(a, b)
    return entries
      .filter(([, position]) => position.number > 0 && (after === null || compare(position, after) > 0))
      .toSorted(([, a], [, b]) => compare(a, b))
  }

  /** Jobs in the order of their due times. */
  private async *byDueTime({ after, newestFirst }: Range): AsyncGenerator<readonly Entry[]> {
    for (let from = after; ;) {
      const start = from === null ? ['', ''] : [String(from.dueAt), String(from.number).padStart(16, '0')]
      const [, , reply] = await this.scripts.run('due', ['', ...start, newestFirst ? '1' : '', String(chunk)])
      const entries = scored(reply).map(([member, dueAt]): Entry => {
        return [memberId(member), { dueAt, number: Number(member.slice(0, 16)) }]
      })
      if (entries.length > 0) yield entries
      if (entries.length < chunk) return
      from = entries.at(-1)?.[1] ?? null
    }
  }

  /** Ended jobs in the order of their end: each state and type has an index in that order. */
  private byEnd(indexes: readonly string[], range: Range): AsyncGenerator<readonly Entry[]> {
    return merged(
      indexes.map((index) => walkBlocks(this.redis, index, range)),
      range,
    )
  }
}

/** Which jobs are looked for: by a filter, of these states and types (null: of all). */
interface Wanted {
  readonly filter: JobFilter
  readonly among: ReadonlySet<JobState>
  readonly types: ReadonlySet<string> | null
  /** How many jobs there are, by `state` and `state:type`. */
  readonly counts: ReadonlyMap<string, number>
}

/** How many jobs of the types are in some states. */
function countOf({ types, counts }: Wanted, states: Iterable<JobState>): number {
  const names = [...states].flatMap((state) => (types === null ? state : [...types].map((type) => `${state}:${type}`)))
  return sum(names.map((name) => counts.get(name) ?? 0))
}

/** How jobs are looked at. */
interface Walk {
  /** Are there more, though this call looks at no more? */
  endsEarly: boolean
}

/** An id that no job has. */
const noJob = ''

/** Lists of texts, of each of which one is in the row. */
type Texts = readonly (readonly string[])[]

/** States of rows that grow: their texts do not say it. */
const grownStates: ReadonlySet<JobState> = new Set([waiting, started, finished])

/** What is in the rows of all jobs that are looked for; nothing if that says little. */
function textsOf(wanted: Wanted): Texts {
  const { filter, among, types } = wanted
  const field = (text: string): string => `${separator}${scriptText(text)}${separator}`
  const isTold = [...among].every((state) => !grownStates.has(state))
  const ofCounted = [
    ...(types !== null && types.size <= lookedTypesMax ? [[...types].map(field)] : []),
    ...(isTold ? [[...among].map(field)] : []),
  ]
  // Of few jobs all are read: then it is known when the last one has been.
  if (countOf(wanted, among) <= scanMax) return ofCounted
  return [
    ...ofCounted,
    ...[filter.tag, filter.key].flatMap((text) => (text === undefined ? [] : [[JSON.stringify(text)]])),
    ...(filter.concurrencyKey === undefined ? [] : [[field(filter.concurrencyKey)]]),
  ]
}

/** The next entry of an index that is walked. */
interface Head extends HeapItem {
  entry: Entry
  readonly walk: AsyncGenerator<Entry, undefined>
}

/** Several walks as one, in the order of their numbers. */
async function* merged(
  chunks: readonly AsyncGenerator<readonly Entry[]>[],
  { newestFirst }: Pick<Range, 'newestFirst'>,
): AsyncGenerator<readonly Entry[]> {
  const heads = new Heap<Head>(({ entry: [, a] }, { entry: [, b] }) =>
    newestFirst ? a.number > b.number : a.number < b.number,
  )
  const walks = chunks.map(singly)
  const entries = await Promise.all(walks.map((walk) => walk.next()))
  for (const [i, { value: entry }] of entries.entries()) {
    if (entry !== undefined) heads.push({ entry, walk: walks[i] as Head['walk'], heapIndex: -1 })
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

async function* singly(chunks: AsyncGenerator<readonly Entry[]>): AsyncGenerator<Entry, undefined> {
  for await (const entries of chunks) yield* entries
  return undefined
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

const statesOf = ({ state }: JobFilter, eligible: (state: JobState) => boolean): ReadonlySet<JobState> => {
  const wanted = anyOf(state)
  return new Set(jobStates.filter((each) => eligible(each) && wanted?.has(each) !== false))
}

function anyOf<T extends string>(wanted: T | readonly T[] | undefined): ReadonlySet<string> | null {
  if (wanted === undefined) return null
  return new Set<string>(typeof wanted === 'string' ? [wanted] : wanted)
}

/** Does a job stand where an index names it? It may have been there before, or another one of its id. */
const isAt = (row: StoredRow, by: ListOrder, { number }: Position): boolean =>
  number === (by === 'finished' ? row.last : row.seq)

/** Does a job pass a filter, and had it not ended after `until`? A job that cannot be read passes none. */
const passes = (id: string, row: StoredRow, filter: JobFilter, until: number): boolean =>
  !(isEnded(row.state) && row.last > until) && unlessUnreadable(() => matches(row.decode(id), filter)) === true
