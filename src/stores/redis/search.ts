/** Jobs by a filter: the index that has them in the order asked for is walked, a bounded part of it in one call. */
import { comparePositions, inSequence, isListed, scanMax, type Position } from '../../core/cursor.ts'
import { isEnded, isLeased, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter, ListOrder } from '../../store.ts'
import { walkBlocks, type Entry } from './blocks.ts'
import type { Commands } from './connection.ts'
import { figuresOfEach } from './each-type.ts'
import { allTypes, figuresFrom, type TypeFigures } from './figures.ts'
import { memberId, type Keys } from './keys.ts'
import { leasedIds } from './leases.ts'
import { dataAt, rowsFrom, scored, unreadableOf, type SetAside } from './loading.ts'
import { finished } from './grown.ts'
import { separator } from './history-text.ts'
import {
  bounded,
  lookThrough,
  lookThroughEnded,
  wantedStates,
  type Looks,
  type LookScripts,
  type Span,
  type Wanted,
} from './looking.ts'
import { scriptText, unlessUnreadable, type StoredRow } from './row-text.ts'
import type { Scripts } from './scripts.ts'
import { fillAllTerms, prefixesOf, spansOf, termCount, walkHaving, walkTerm, type SpanQuery } from './terms.ts'
import { chunk, merged, upTo, walkList, type EntryWalk } from './walks.ts'
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

export interface FoundJob {
  readonly id: string
  readonly row: StoredRow
}

interface Found<Job = FoundJob> {
  readonly jobs: readonly Job[]
  /** The position to go on after; null at the end. */
  readonly next: Position | null
}

type SearchScripts = Pick<Scripts<'due' | 'figures' | 'fill' | 'having' | 'terms'>, 'run'> & LookScripts

/** Reads the rows of jobs: one command of the server takes some of them, for it answers nobody else meanwhile. */
const readRows = (key: string, ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / chunk) }, (_, i) => [
    'HMGET',
    key,
    ...ids.slice(i * chunk, (i + 1) * chunk),
  ])
/** Of more types than these, all rows are looked at. */
const typesMax = 20
/** To read a job that an index has takes as long as to look through so many rows. */
const readCost = 4
/** Leased and ended jobs are gathered and sorted if they are no more; of more, all are looked at in their order. */
const fewMax = 40_000

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
    const search: Filtered = { filter, among, types, ...(await this.numbers(filter)) }
    /** Jobs of these states and types that have not been looked at. */
    let left = countOf(search, among)
    const jobs: FoundJob[] = []
    let looked = 0
    let last: Position | null = null
    const { until = Infinity } = range
    const looks: Looks = { endsEarly: false }
    if (left === 0) return { jobs, next: null }
    for await (const entries of this.chunks(search, range, looks)) {
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
    return { jobs, next: looks.endsEarly ? last : null }
  }

  /**
   * Ids alone of the jobs that have one term: those in the index are not read.
   * @returns null where anything else is asked for
   */
  async findIds(filter: JobFilter, range: Range): Promise<Found<Pick<FoundJob, 'id'>> | null> {
    const [prefix] = prefixesOf(filter)
    const asked = { filter, among: statesOf(filter, () => true), types: anyOf(filter.type) }
    if (prefix === undefined || range.by !== 'enqueued' || !isOneThing(asked)) return null
    const search: Filtered = { ...asked, ...(await this.numbers(filter)) }
    const jobs: Pick<FoundJob, 'id'>[] = []
    let last: Position | null = null
    const looks: Looks = { endsEarly: false }
    for await (const entries of this.byTerm(prefix, search, range, looks)) {
      const behind = entries.filter(([, { number }]) => number > search.indexed)
      const rows = await this.rows(
        behind.map(([id]) => id),
        filter,
      )
      const isFound = new Set(
        behind.filter(([id, position], i) => {
          const row = rows[i] ?? null
          return row !== null && isAt(row, 'enqueued', position) && passes(id, row, filter, Infinity)
        }),
      )
      for (const entry of entries) {
        const [id, position] = entry
        if (position.number <= search.indexed || isFound.has(entry)) {
          if (jobs.length === range.limit) return { jobs, next: last }
          jobs.push({ id })
        }
        last = position
      }
    }
    return { jobs, next: looks.endsEarly ? last : null }
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

  private async numbers(filter: JobFilter): Promise<Numbers> {
    const numbers = await this.figures(filter)
    // Rows do not tell meta.
    const fills = filter.meta !== undefined && numbers.indexed > 0
    return fills && (await fillAllTerms(this.scripts)) ? this.figures(filter) : numbers
  }

  /** Of the types that the filter names, and of all together. */
  private async figures({ type }: JobFilter): Promise<Numbers> {
    const types = [allTypes, ...(anyOf(type) ?? [])].map(scriptText)
    const [, , last, figures, indexed] = await this.scripts.run('figures', ['', ...types])
    return { byType: figuresFrom(figures), last: Number(last), indexed: Number(indexed) }
  }

  /** With the numbers of each type that is searched: there may be thousands, and most searches do not need them. */
  private async eachType(search: Filtered): Promise<Filtered> {
    if (search.types !== null || search.byType.size > 1) return search
    const each = await figuresOfEach(this.redis, this.keys, this.scripts)
    return { ...search, byType: new Map([...search.byType, ...each]) }
  }

  /** Entries among which all are that pass the filter, in the order of the range. */
  private async *chunks(search: Filtered, range: Range, looks: Looks): EntryWalk {
    if (range.by === 'finished') yield* (await this.narrowByEnd(search, range)) ?? this.byEnd(search, range)
    else if (range.by === 'due') yield* this.byDueTime(range)
    else yield* this.byEnqueue(search, range, looks)
  }

  private async *byEnqueue(search: Filtered, range: Range, looks: Looks): EntryWalk {
    const narrow = await this.narrowest(search)
    const isFewer = narrow === null || narrow.cost > readCost * countOf(search, search.among)
    // Where the time of the enqueue is asked for, parts of its order are left out.
    const mayBeOfStates = isFewer && !isWithin(search) && !isAnyJob(search)
    const ofStates = mayBeOfStates ? await this.byStates(search, range, looks) : null
    if (ofStates !== null) yield* ofStates
    else if (narrow !== null && (isOneThing(search) || narrow.cost <= lookCost(await this.eachType(search))))
      yield* narrow.entries(range, looks)
    else yield* this.looked(search, range, looks)
  }

  /** Of all jobs those that may be what is looked for, by their rows. */
  private async *looked(search: Filtered, range: Range, looks: Looks): EntryWalk {
    const { newestFirst, until = Infinity } = range
    // Of few jobs all are looked at: then it is known when the last one has been.
    const wanted = rowsOf(search, countOf(search, search.among) <= scanMax ? [] : textsOfTerms(search.filter))
    const upto = Math.min(search.indexed, until)
    const isAny = wanted.texts.length === 0 && wanted.states === undefined && !isWithin(search)
    if (isAny) return yield* walkBlocks(this.redis, this.keys.all, range)
    const ofTypes = upto === 0 ? search : await this.eachType(search)
    const types = [...typesOf(ofTypes)]
    if (upto === 0 || types.length > typesMax) {
      return yield* lookThrough(this.scripts, wanted, [{ above: 0, upto: until }], range, looks)
    }
    const spans = spansOf(this.redis, this.keys, { ...range, upto, types, isWanted: isSpanOf(ofTypes) })
    const rest: Span = { above: upto, upto: until }
    yield* lookThrough(this.scripts, wanted, inTurn(newestFirst ? [[rest], spans] : [spans, [rest]]), range, looks)
  }

  /** The jobs that have something that the filter asks for, where indexes have them: of several the fewest. */
  private async narrowest(search: Filtered): Promise<Narrow | null> {
    const { keys, redis } = this
    const { filter, last, indexed } = search
    const { failure, unsupported, parent, machineState, machineTag } = filter
    const indexes = [
      ...(failure === undefined ? [] : [[...new Set([failure].flat())].map((each) => keys.failing(each))]),
      ...(unsupported === true ? [[keys.unsupported]] : []),
      ...(parent === undefined ? [] : [[keys.children(parent)]]),
      ...(machineState === undefined ? [] : [[keys.machineState(machineState)]]),
      ...(machineTag === undefined ? [] : [[keys.machineTag(machineTag)]]),
    ]
    const prefixes = prefixesOf(filter)
    if (indexes.length + prefixes.length === 0) return null
    const replies = await redis.pipeline([
      ['HLEN', keys.jobs],
      ...indexes.flat().map((name) => ['ZCARD', name]),
      ...prefixes.map((prefix) => termCount(keys, prefix)),
    ])
    const [jobs = 0, ...sizes] = replies.map(Number)
    const inOrder = indexes.map((names): Narrow => ({
      cost: readCost * sum(sizes.splice(0, names.length)),
      entries: (range) =>
        merged(
          names.map((name) => this.walk(name, range, first(range))),
          range.newestFirst,
          first(range),
        ),
    }))
    // They are looked through. Numbers are also those of other transitions.
    const left = Math.min(jobs, last - indexed)
    const byTerm = prefixes.map((prefix, i): Narrow => ({
      cost: readCost * (sizes[i] ?? 0) + left,
      entries: (range, looks) => this.byTerm(prefix, search, range, looks),
    }))
    const all = [...inOrder, ...(indexed === 0 ? [] : byTerm)]
    return all.toSorted((a, b) => a.cost - b.cost)[0] ?? null
  }

  /** The jobs of a term: those that the index has, and those behind it. */
  private byTerm(prefix: string, search: Filtered, range: Range, looks: Looks): EntryWalk {
    const { after, newestFirst, until = Infinity } = range
    const upto = Math.min(search.indexed, until)
    const walk = walkTerm(this.redis, this.keys, prefix, { after, newestFirst, upto }, first(range))
    return this.withRest(walk, search, range, looks)
  }

  /** Jobs of a walk that are in the index of terms; those behind that may be what is looked for, by their rows. */
  private async *withRest(walk: EntryWalk, search: Filtered, range: Range, looks: Looks): EntryWalk {
    const { newestFirst, until = Infinity } = range
    const upto = Math.min(search.indexed, until)
    const wanted = rowsOf(search, textsOfTerms(search.filter))
    const rest = lookThrough(this.scripts, wanted, [{ above: upto, upto: until }], range, looks)
    if (newestFirst) yield* rest
    if (looks.endsEarly) return
    yield* bounded(upTo(walk, upto, newestFirst), looks)
    if (!newestFirst && !looks.endsEarly) yield* rest
  }

  /** @param first how many entries are read first; then as many as one round trip takes */
  private async *walk(index: string, { after, newestFirst }: Range, first: number): EntryWalk {
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
   * Jobs by their states, where these have indexes: in the order of the enqueue; or in another one, where they are few.
   * @returns null where they are not
   */
  private async byStates(asked: Filtered, range: Range, looks: Looks): Promise<EntryWalk | null> {
    const { among, filter } = asked
    if (countOf(asked, elsewhereOf(asked)) > 0) return null
    const search = await this.eachType(asked)
    const ofOrder = isEndAsked(filter) ? timed : orderedStates
    const ordered = [...among].filter((state) => ofOrder.has(state))
    const others = new Set([...among].filter((state) => !ofOrder.has(state)))
    const prefixes = prefixesOf(filter)
    const from = prefixes.length === 0 ? range : indexedPart(range, search)
    const few = countOf(search, others) === 0 ? [] : await this.few({ ...search, among: others }, from)
    if (few === null) return null
    // A job may pass from one of these indexes to another while they are read: a selection is to have it all the same.
    const kinds = [few.length > 0, ordered.some((state) => timed.has(state)), ordered.some(isEnded)]
    if (range.until !== undefined && kinds.filter(Boolean).length > 1) return null
    const walks = countedTypes(search, ordered).map(([state, type]) => {
      const index = this.keys.inOrder(state, type)
      return prefixes.length === 0
        ? this.walk(index, from, first(range))
        : walkHaving(this.scripts, index, prefixes, from, first(range))
    })
    const walk = merged([...walks, walkList(few)], range.newestFirst, first(range))
    return prefixes.length === 0 ? walk : this.withRest(walk, search, range, looks)
  }

  /**
   * Jobs of which all are leased or have ended, where they are few: their own indexes are in another order.
   * @returns null where they are not
   */
  private async few(search: Filtered, { after, newestFirst }: Range): Promise<readonly Entry[] | null> {
    const { among, filter } = search
    const { finishedAfter, finishedBefore } = filter
    const isTimed = isEndAsked(filter)
    const count = countOf(search, among)
    if (!isTimed && (count > fewMax || count * readCost > rowsLooked(search))) return null
    const leased = isTimed || ![...among].some(isLeased) ? [] : await leasedIds(this.redis, this.keys)
    const rows = rowsFrom((await this.redis.pipeline(readRows(this.keys.jobs, leased))).flat())
    // Claims also name jobs that are no longer leased.
    const entries = leased.flatMap((id, i): Entry[] => {
      const row = rows[i] ?? null
      return row !== null && isLeased(row.state) ? [[id, inSequence(row.seq)]] : []
    })
    const times = { since: finishedAfter ?? 0, before: finishedBefore ?? Infinity }
    for (const [state, type] of countedTypes(search, [...among].filter(isEnded))) {
      const ended = await lookThroughEnded(this.scripts, { texts: textsOfTerms(filter) }, { state, type, ...times })
      if (ended === null) return null
      entries.push(...ended)
    }
    // One may have come into another state before its index was read.
    const elsewhere = elsewhereOf(search)
    if (elsewhere.length > 0 && countOf({ ...search, ...(await this.figures(filter)) }, elsewhere) > 0) return null
    const sorted = sortedFrom(entries, after, newestFirst)
    // One may have ended since its lease was read, or again.
    return sorted.filter(([id], i) => id !== sorted[i - 1]?.[0])
  }

  /** Jobs in the order of their due times. */
  private async *byDueTime({ after, newestFirst }: Range): EntryWalk {
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

  /** The same of few jobs that have something that the filter asks for; null where they are not few. */
  private async narrowByEnd(search: Filtered, range: Range): Promise<EntryWalk | null> {
    const narrow = await this.narrowest(search)
    const most = readCost * Math.min(scanMax, countOf(search, search.among))
    if (narrow === null || narrow.cost > most) return null
    const { after, newestFirst } = range
    const found: Entry[] = []
    const inOrder: Range = { ...range, by: 'enqueued', after: null, newestFirst: false }
    for await (const entries of narrow.entries(inOrder, { endsEarly: false })) {
      const rows = await this.rows(
        entries.map(([id]) => id),
        {},
      )
      for (const [i, row] of rows.entries()) {
        const id = entries[i]?.[0]
        if (row !== null && id !== undefined && isEnded(row.state)) found.push([id, inSequence(row.last)])
      }
    }
    return walkList(sortedFrom(found, after, newestFirst))
  }

  /** Ended jobs in the order of their end: each state and type has an index in that order. */
  private async *byEnd(search: Filtered, range: Range): EntryWalk {
    const counted = countedTypes(await this.eachType(search), [...search.among].filter(isEnded))
    const indexes = counted.map(([state, type]) => this.keys.ended(state, type))
    yield* merged(
      indexes.map((index) => walkBlocks(this.redis, index, range)),
      range.newestFirst,
      first(range),
    )
  }
}

/** Which jobs are looked for: by a filter, of these states and types (null: of all). */
interface Filtered extends Numbers {
  readonly filter: JobFilter
  readonly among: ReadonlySet<JobState>
  readonly types: ReadonlySet<string> | null
}

interface Numbers {
  readonly byType: ReadonlyMap<string, TypeFigures>
  /** The number of the last transition, and that up to which jobs are in the index of terms. */
  readonly last: number
  readonly indexed: number
}

/** Jobs that indexes have, in the order of their enqueue. */
interface Narrow {
  /** As `lookCost`. */
  readonly cost: number
  readonly entries: (range: Range, looks: Looks) => EntryWalk
}

/** Are all jobs looked for? */
const isAnyJob = ({ filter, among, types }: Omit<Filtered, keyof Numbers>): boolean =>
  types === null && among.size === jobStates.length && Object.values(filter).every((each) => each === undefined)

/** States of a search that have no index of their own but the queues. */
const elsewhereOf = ({ among }: Pick<Filtered, 'among'>): readonly JobState[] =>
  [...among].filter((state) => !timed.has(state) && !isLeased(state) && !isEnded(state))

/** How many jobs of the types are in some states. */
const countOf = ({ types, byType }: Pick<Filtered, 'types' | 'byType'>, states: Iterable<JobState>): number => {
  const figures = [...(types ?? [allTypes])].flatMap((type) => byType.get(type) ?? [])
  return sum([...states].map((state) => sum(figures.map(({ counts }) => counts[state]))))
}

/** The types that have jobs of the search. */
const typesOf = (search: Filtered): ReadonlySet<string> =>
  new Set(countedTypes(search, search.among).map(([, type]) => type))

/** How many rows are looked through for it at most. */
const rowsLooked = (search: Filtered): number =>
  countOf({ ...search, types: search.indexed === 0 ? null : typesOf(search) }, jobStates)

/** Is one thing asked for, so that all that its index has is found? */
const isOneThing = ({ filter, among, types }: Omit<Filtered, keyof Numbers>): boolean =>
  types === null &&
  among.size === jobStates.length &&
  Object.values(filter).filter((each) => each !== undefined).length === 1 &&
  Object.keys(filter.meta ?? {}).length < 2

/** What it costs to find all jobs of a search in this way, as a number of rows that are looked through. */
function lookCost(search: Filtered): number {
  const { meta, failure, unsupported, parent, machineState, machineTag } = search.filter
  const isTold = [meta, failure, unsupported, parent, machineState, machineTag].every((each) => each === undefined)
  return rowsLooked(search) + (isTold ? 0 : readCost * countOf(search, search.among))
}

/** The states of these and the types that have jobs of the search. */
const countedTypes = ({ types, byType }: Filtered, states: Iterable<JobState>): (readonly [JobState, string])[] =>
  [...states].flatMap((state) =>
    [...byType].flatMap(([type, { counts }]) =>
      type !== allTypes && types?.has(type) !== false && counts[state] > 0 ? [[state, type] as const] : [],
    ),
  )

/** Is the time of the enqueue asked for? */
const isWithin = ({ filter: { enqueuedAfter, enqueuedBefore } }: Filtered): boolean =>
  enqueuedAfter !== undefined || enqueuedBefore !== undefined

/** Is the time of the end asked for? */
const isEndAsked = ({ finishedAfter, finishedBefore }: JobFilter): boolean =>
  finishedAfter !== undefined || finishedBefore !== undefined

/** A job is in none of the other states without a claim. */
const isClaimed = (state: JobState): boolean => isLeased(state) || state === finished

/** May a part of the order of the enqueues have a job of the search? */
function isSpanOf({ filter, among, byType }: Filtered): SpanQuery['isWanted'] {
  const { enqueuedAfter = -Infinity, enqueuedBefore = Infinity } = filter
  const areClaimed = [...among].every(isClaimed)
  return ({ above, firstAt, lastAt }, type) =>
    lastAt >= enqueuedAfter &&
    firstAt < enqueuedBefore &&
    !(areClaimed && above >= (byType.get(type)?.claimedUpTo ?? Infinity))
}

/** Those behind a position, in order. */
function sortedFrom(entries: readonly Entry[], after: Position | null, newestFirst: boolean): readonly Entry[] {
  const compare = (a: Position, b: Position): number => (newestFirst ? -1 : 1) * comparePositions(a, b)
  return entries
    .filter(([, position]) => after === null || compare(position, after) > 0)
    .toSorted(([, a], [, b]) => compare(a, b))
}

/** A range without the jobs behind the index of terms, where these are the first. */
const indexedPart = (range: Range, { indexed }: Numbers): Range =>
  range.newestFirst && (range.after === null || range.after.number > indexed)
    ? { ...range, after: inSequence(indexed + 1) }
    : range

/** Entries that are read first: mostly those are enough. */
const first = ({ limit }: Range): number => Math.min(limit + 1, chunk)

async function* inTurn<T>(lists: readonly (AsyncIterable<T> | Iterable<T>)[]): AsyncGenerator<T> {
  for (const list of lists) yield* list
}

const timed = statesTagged('timed')
/** States of which each has, by type, an index in the order of the enqueue. */
const orderedStates: ReadonlySet<JobState> = new Set(
  jobStates.filter((state) => timed.has(state) || (isEnded(state) && state !== finished)),
)

/** A field as a row has it. */
const field = (text: string): string => `${separator}${scriptText(text)}${separator}`

/** What the rows of all jobs have that are looked for. */
function rowsOf(search: Filtered, terms: Wanted['texts']): Wanted {
  const { among, types } = search
  const texts = [...(types !== null && types.size <= typesMax ? [[...types].map(field)] : []), ...terms]
  return among.size === jobStates.length ? { texts } : { texts, states: wantedStates(among) }
}

const textsOfTerms = ({ tag, key, concurrencyKey }: JobFilter): Wanted['texts'] => [
  ...[tag, key].flatMap((text) => (text === undefined ? [] : [[JSON.stringify(text)]])),
  ...(concurrencyKey === undefined ? [] : [[field(concurrencyKey)]]),
]

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

/** What else filters ask for stands in no row, or has to be read with more of it. */
const toldMembers: ReadonlySet<string> = new Set(['type', 'state', 'tag', 'key', 'concurrencyKey'])

/** Does a job pass a filter, and had it not ended after `until`? A job that cannot be read passes none. */
function passes(id: string, row: StoredRow, filter: JobFilter, until: number): boolean {
  if (isEnded(row.state) && row.last > until) return false
  // Types and states were looked at.
  if (Object.keys(filter).every((name) => toldMembers.has(name))) {
    const { tag, key, concurrencyKey } = filter
    return (
      (tag === undefined || row.tags.includes(tag)) &&
      (key === undefined || row.key === key) &&
      (concurrencyKey === undefined || row.concurrencyKey === concurrencyKey)
    )
  }
  return unlessUnreadable(() => matches(row.decode(id), filter)) === true
}
