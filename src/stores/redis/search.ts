/** Jobs by a filter: the index that has them in the order asked for is walked, a bounded part of it in one call. */
import { hasMeta, inTime, scanMax } from '../../core/cursor.ts'
import { isEnded, isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { JobMeta } from '../../core/record.ts'
import type { Parent } from '../../core/machine-record.ts'
import type { JobFilter } from '../../store.ts'
import type { Command, Redis, Reply } from './connection.ts'
import { memberId, type Keys } from './keys.ts'
import { countsFrom, rowsFrom, scored, texts } from './loading.ts'
import type { Fields, ParsedRow } from './row-text.ts'

/** In which order jobs are looked at, and how many of them. */
interface Range {
  /** By the end instead of the enqueue: then only ended jobs are found. */
  readonly byEnd: boolean
  readonly newestFirst: boolean
  /** Starts after this number of a job; null = at the first. */
  readonly after: number | null
  /** Ends at this number of an enqueue, and leaves out jobs that have ended after it. */
  readonly until?: number
  readonly limit: number
}

interface FoundJob {
  readonly id: string
  readonly row: ParsedRow
}

interface Found {
  readonly jobs: readonly FoundJob[]
  /** The number to go on after; null at the end. */
  readonly next: number | null
}

/** An entry of an index: the id, and the number that the order goes by. */
type Entry = readonly [id: string, number: number]

/** Entries that are read in one round trip. */
const chunk = 500
/** Up to this many leased or ended jobs are gathered and sorted; of more, all jobs are looked at in their order. */
const fewMax = 4 * scanMax

export class Search {
  private readonly redis: Redis
  private readonly keys: Keys

  constructor(redis: Redis, keys: Keys) {
    this.redis = redis
    this.keys = keys
  }

  async find(filter: JobFilter, eligible: (state: JobState) => boolean, range: Range): Promise<Found> {
    const types = anyOf(filter.type)
    const states = anyOf(filter.state)
    const among = new Set(jobStates.filter((state) => eligible(state) && (!range.byEnd || isEnded(state)) && states?.has(state) !== false)) // prettier-ignore
    const counts = countsFrom(await this.redis.send(['HGETALL', this.keys.counts]))
    const countOf = (state: JobState): number =>
      types === null ? (counts.get(state) ?? 0) : sum([...types].map((type) => counts.get(`${state}:${type}`) ?? 0))
    /** Jobs of these states and types that have not been looked at. */
    let left = sum([...among].map(countOf))
    const jobs: FoundJob[] = []
    let looked = 0
    let last: number | null = null
    const { until = Infinity } = range
    if (left === 0) return { jobs, next: null }
    for await (const entries of this.chunks(filter, among, counts, range)) {
      const rows = await this.rows(entries, filter)
      for (const [i, [id, number]] of entries.entries()) {
        const [row, meta] = rows[i] ?? [null, null]
        const fields: Fields = row?.fields ?? {}
        if (looked === scanMax) return { jobs, next: last }
        if (Number(fields.seq) > until) return { jobs, next: null }
        const endedLater = isEnded(fields.state as JobState) && Number(fields.last) > until
        const isAmong = among.has(fields.state as JobState) && types?.has(fields.type ?? '') !== false
        if (row !== null && isAmong && !endedLater && passes(fields, meta, filter)) {
          if (jobs.length === range.limit) return { jobs, next: last }
          jobs.push({ id, row })
        }
        looked++
        last = number
        if (isAmong && --left === 0) return { jobs, next: null }
      }
    }
    return { jobs, next: null }
  }

  /** The rows of entries, with their meta if the filter asks for it. */
  private async rows(entries: readonly Entry[], filter: JobFilter): Promise<[ParsedRow | null, string | null][]> {
    const ids = entries.map(([id]) => id)
    const [rows, metas] = await this.redis.pipeline([
      ['HMGET', this.keys.jobs, ...ids],
      ...(filter.meta === undefined ? [] : [['HMGET', this.keys.data('meta'), ...ids]]),
    ])
    return rowsFrom(rows).map((row, i) => {
      const meta = Array.isArray(metas) ? (metas as readonly Reply[])[i] : null
      return [row, typeof meta === 'string' ? meta : null]
    })
  }

  /** Entries among which all are that pass the filter, in the order of the range. */
  private async *chunks(
    filter: JobFilter,
    among: ReadonlySet<JobState>,
    counts: ReadonlyMap<string, number>,
    range: Range,
  ): AsyncGenerator<readonly Entry[]> {
    if (range.byEnd) {
      yield* this.byEnd([...among], range)
      return
    }
    const index = await this.smallestIndex(filter)
    const few = index === null ? await this.few(among, counts, range) : null
    if (few === null) yield* this.walk(index ?? this.keys.all, range)
    else for (let i = 0; i < few.length; i += chunk) yield few.slice(i, i + chunk)
  }

  /** An index of fewer jobs than all, in the order of their enqueue. */
  private async smallestIndex({
    failure,
    unsupported,
    parent,
    machineState,
    machineTag,
  }: JobFilter): Promise<string | null> {
    const { keys } = this
    const names = [
      ...(failure === undefined ? [] : [keys.failing(failure)]),
      ...(unsupported === true ? [keys.unsupported] : []),
      ...(parent === undefined ? [] : [keys.children(parent)]),
      ...(machineState === undefined ? [] : [keys.machineState(machineState)]),
      ...(machineTag === undefined ? [] : [keys.machineTag(machineTag)]),
    ]
    if (names.length < 2) return names[0] ?? null
    const sizes = (await this.redis.pipeline(names.map((name) => ['ZCARD', name]))).map(Number)
    return names[sizes.indexOf(Math.min(...sizes))] ?? null
  }

  private async *walk(index: string, { after, newestFirst }: Range): AsyncGenerator<readonly Entry[]> {
    for (let from = after; ;) {
      const [start, end] = newestFirst ? [from === null ? '+inf' : `(${from}`, '-inf'] : [from === null ? '-inf' : `(${from}`, '+inf'] // prettier-ignore
      const order = newestFirst ? ['REV'] : []
      const command = ['ZRANGE', index, start, end, 'BYSCORE', ...order, 'LIMIT', '0', String(chunk), 'WITHSCORES']
      const entries = scored(await this.redis.send(command))
      if (entries.length > 0) yield entries
      if (entries.length < chunk) return
      from = entries.at(-1)?.[1] ?? null
    }
  }

  /** Leased and ended jobs, where they are few: their own indexes are in another order. */
  private async few(
    among: ReadonlySet<JobState>,
    counts: ReadonlyMap<string, number>,
    { after, newestFirst }: Range,
  ): Promise<readonly Entry[] | null> {
    const atHand = [...among].every((state) => isLeased(state) || isEnded(state))
    const count = sum([...among].map((state) => counts.get(state) ?? 0))
    if (!atHand || count > fewMax) return null
    const total = sum(jobStates.map((state) => counts.get(state) ?? 0))
    if (count * 20 > total) return null
    const leased: readonly Command[] = [...among].some(isLeased) ? [['ZRANGE', this.keys.leases, '0', '-1']] : []
    const ended = [...among].filter(isEnded).map((state): Command => ['ZRANGE', this.keys.ended(state), '0', '-1'])
    const replies = await this.redis.pipeline([...leased, ...ended])
    const ids = replies.flatMap((reply, i) =>
      texts(reply).map((member) => (i < leased.length ? memberId(member) : member.slice(member.indexOf(':') + 1))),
    )
    if (ids.length === 0) return []
    const numbers = texts(await this.redis.send(['ZMSCORE', this.keys.all, ...ids])).map(Number)
    const entries = ids.map((id, i): Entry => [id, numbers[i] ?? 0])
    const isNext = ([, number]: Entry): boolean =>
      number > 0 && (newestFirst ? number < (after ?? Infinity) : number > (after ?? 0))
    return entries.filter(isNext).toSorted((a, b) => (newestFirst ? b[1] - a[1] : a[1] - b[1]))
  }

  /** Ended jobs of some states in the order of their end: each state has its own in that order. */
  private async *byEnd(states: readonly JobState[], range: Range): AsyncGenerator<readonly Entry[]> {
    const walks = states.map((state) => singly(this.walk(this.keys.ended(state), range)))
    const heads = await Promise.all(walks.map((walk) => walk.next()))
    let entries: Entry[] = []
    for (;;) {
      let first = -1
      for (const [i, { value }] of heads.entries()) {
        const best = heads[first]?.value
        if (value !== undefined && (best === undefined || (range.newestFirst ? value[1] > best[1] : value[1] < best[1]))) first = i // prettier-ignore
      }
      const head = heads[first]?.value
      if (head !== undefined) entries.push([head[0].slice(head[0].indexOf(':') + 1), head[1]])
      if (entries.length === chunk || (head === undefined && entries.length > 0)) {
        yield entries
        entries = []
      }
      if (head === undefined) return
      heads[first] = await (walks[first] as (typeof walks)[number]).next()
    }
  }
}

async function* singly(chunks: AsyncGenerator<readonly Entry[]>): AsyncGenerator<Entry, undefined> {
  for await (const entries of chunks) yield* entries
  return undefined
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

function anyOf<T extends string>(wanted: T | readonly T[] | undefined): ReadonlySet<string> | null {
  if (wanted === undefined) return null
  return new Set<string>(typeof wanted === 'string' ? [wanted] : wanted)
}

function passes(fields: Fields, kept: string | null, filter: JobFilter): boolean {
  const { tag, key, concurrencyKey, meta, failure, unsupported, parent, machineState, machineTag } = filter
  const has = (text: string | undefined, name: string): boolean =>
    text !== undefined && (JSON.parse(text) as readonly string[]).includes(name)
  const parentOf = (): string | undefined =>
    fields.parent === undefined ? undefined : (JSON.parse(fields.parent) as Parent).id
  return (
    (tag === undefined || has(fields.tags, tag)) &&
    (key === undefined || fields.key === key) &&
    (concurrencyKey === undefined || fields.concurrencyKey === concurrencyKey) &&
    (meta === undefined || hasMeta(JSON.parse(kept ?? '{}') as JobMeta, meta)) &&
    (failure === undefined || fields.failure === failure) &&
    (unsupported === undefined || fields.unsupported !== undefined) &&
    (parent === undefined || parentOf() === parent) &&
    (machineState === undefined || has(fields.machineStates, machineState)) &&
    (machineTag === undefined || has(fields.machineTags, machineTag)) &&
    inTime(filter, Number(fields.enqueuedAt), isEnded(fields.state as JobState) ? Number(fields.finishedAt) : null)
  )
}
