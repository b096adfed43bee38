/**
 * An index of terms: keys, concurrency keys, tags and members of meta. One sorted set has a member for each of a job,
 * in the order of bytes: letter of the kind, term, number of the job, id. It is filled behind, in the order of the
 * enqueues: a job that is removed before costs nothing, nor does a job without terms. It also tells in which parts of
 * that order each type has jobs.
 */
import { inSequence, type Position } from '../../core/cursor.ts'
import { isIndexedMeta, type FoundTerm, type FoundTerms, type TermKind, type TermQuery } from '../../core/terms.ts'
import type { JobFilter } from '../../store.ts'
import type { Entry } from './blocks.ts'
import type { Command, Commands, Reply } from './connection.ts'
import type { Keys } from './keys.ts'
import { scored, texts } from './loading.ts'
import { noJob, type Span } from './looking.ts'
import { separator } from './history-text.ts'
import { scriptText, textOfScript } from './row-text.ts'
import { answers, type Scripts } from './scripts.ts'
import { chunk, merged, type EntryWalk } from './walks.ts'

/** What a member begins with. */
export const termLetters = { key: 'k', concurrencyKey: 'c', tag: 't', meta: 'm' } as const satisfies Partial<
  Record<TermKind, string>
>
/** What an entry of a type begins with, and what follows these. */
export const spanLetter = 'y'
export const spanPast = 'z'
type IndexedKind = keyof typeof termLetters
const kinds = Object.keys(termLetters) as IndexedKind[]

/** Of no more jobs than these behind the index it is filled: where few jobs are kept, there is none. */
const unindexedMax = 20_000
/** So often there is a turn of filling, ms. */
export const roundMs = 1_000
/** Calls of the script in one turn, ended as soon as they have taken so long, ms. */
const turn = { calls: 40, ms: 50 }
/** Jobs that are entered for one who waits for an answer. */
const askedJobs = 30_000

/** Members of one term: what they begin with. */
const prefixOf = (kind: IndexedKind, value: string, own = ''): string =>
  `${termLetters[kind]}${scriptText(value)}${separator}${own}`

/** Follows the digits of the numbers. */
const pastDigits = ':'

/** The prefixes of the terms that all jobs have which a filter asks for. */
export function prefixesOf({ key, concurrencyKey, tag, meta = {} }: JobFilter): readonly string[] {
  const of = (kind: IndexedKind, value: string | undefined): string[] =>
    value === undefined ? [] : [prefixOf(kind, value)]
  const ofMeta = Object.entries(meta).flatMap(([name, value]) =>
    isIndexedMeta(value)
      ? [prefixOf('meta', String(value), `${scriptText(name)}${separator}${typeof value === 'string' ? 't' : 'i'}`)]
      : [],
  )
  return [...of('key', key), ...of('concurrencyKey', concurrencyKey), ...of('tag', tag), ...ofMeta]
}

/** A command that counts the jobs of a term. */
export const termCount = (keys: Keys, prefix: string): Command => [
  'ZLEXCOUNT',
  keys.byTerm,
  `[${prefix}`,
  `(${prefix}${pastDigits}`,
]

interface TermWalk {
  readonly after: Position | null
  readonly newestFirst: boolean
  /** No job with a number above it. */
  readonly upto: number
}

/** The jobs of a term. @param first how many entries are read first; then as many as one round trip takes */
export async function* walkTerm(
  redis: Commands,
  keys: Keys,
  prefix: string,
  { after, newestFirst, upto }: TermWalk,
  first: number,
): EntryWalk {
  let size = first
  const at = (number: number): string => `${prefix}${String(number).padStart(16, '0')}`
  const past = `(${at(upto + 1)}`
  for (let from = after?.number ?? null; ;) {
    const bounds = newestFirst
      ? [from === null || from > upto ? past : `(${at(from)}`, `[${prefix}`]
      : [from === null ? `[${prefix}` : `[${at(from + 1)}`, past]
    const order = newestFirst ? ['REV'] : []
    const reply = await redis.send(['ZRANGE', keys.byTerm, ...bounds, 'BYLEX', ...order, 'LIMIT', '0', String(size)])
    const entries = texts(reply).map((member): Entry => {
      const place = member.slice(prefix.length)
      return [place.slice(16), inSequence(Number(place.slice(0, 16)))]
    })
    if (entries.length > 0) yield entries
    if (entries.length < size) return
    from = entries.at(-1)?.[1].number ?? null
    size = chunk
  }
}

/**
 * Of an index in the order of the enqueues the jobs that have all of some terms. They are compared in the server, some
 * at a time: where each has ended stands an entry of no job.
 * @param first so many are found in the first call at least, if there are as many
 */
export async function* walkHaving(
  scripts: Pick<Scripts<'having'>, 'run'>,
  index: string,
  prefixes: readonly string[],
  { after, newestFirst }: Pick<TermWalk, 'after' | 'newestFirst'>,
  first: number,
): EntryWalk {
  let from = after === null ? '' : String(after.number)
  let most = first
  do {
    const request = ['', index, from, newestFirst ? '1' : '', String(most), ...prefixes]
    const [, , reply] = await scripts.run('having', request)
    const [last, found] = reply as readonly [string, readonly Reply[]]
    const entries = scored(found).map(([id, number]): Entry => [id, inSequence(number)])
    from = last
    most = chunk
    if (from !== '') entries.push([noJob, inSequence(Number(from))])
    if (entries.length > 0) yield entries
  } while (from !== '')
}

/** A part of the order of the enqueues in which a type has jobs. */
interface TypeSpan extends Span {
  /** When the first and the last of its jobs were enqueued, ms. */
  readonly firstAt: number
  readonly lastAt: number
}

export interface SpanQuery extends TermWalk {
  readonly types: readonly string[]
  readonly isWanted: (span: TypeSpan, type: string) => boolean
}

/** Spans that are looked through as one. */
const joinedMax = 20

/** The parts in which any of some types has jobs, in their order; those that follow each other as one. */
export async function* spansOf(
  redis: Commands,
  keys: Keys,
  { types, isWanted, ...range }: SpanQuery,
): AsyncGenerator<Span> {
  const walks = types.map((type) => spansOfType(redis, keys, type, range, isWanted))
  let open: Span | null = null
  let joined = 0
  for await (const entries of merged(walks, range.newestFirst)) {
    for (const [id, { number }] of entries) {
      const span = { above: number - 1, upto: Number(id) }
      // Several types have jobs in it.
      if (open !== null && span.above >= open.above && span.upto <= open.upto) continue
      const isNext = open !== null && (range.newestFirst ? span.upto === open.above : span.above === open.upto)
      if (open !== null && isNext && joined < joinedMax) {
        open = { above: Math.min(open.above, span.above), upto: Math.max(open.upto, span.upto) }
        joined++
        continue
      }
      if (open !== null) yield open
      open = span
      joined = 0
    }
  }
  if (open !== null) yield open
}

/** As entries: the first number, and as the id the last one. */
async function* spansOfType(
  redis: Commands,
  keys: Keys,
  type: string,
  range: TermWalk,
  isWanted: SpanQuery['isWanted'],
): EntryWalk {
  const prefix = `${spanLetter}${scriptText(type)}${separator}`
  const { after, newestFirst } = range
  const take = (entries: readonly Entry[]): readonly Entry[] =>
    entries.flatMap(([rest, position]): Entry[] => {
      const [upto = 0, firstAt = 0, lastAt = 0] = [0, 16, 32].map((at) => Number(rest.slice(at, at + 16)))
      return isWanted({ above: position.number - 1, upto, firstAt, lastAt }, type) ? [[String(upto), position]] : []
    })
  if (!newestFirst && after !== null) {
    // The one that the position is in.
    const before = { ...range, after: inSequence(after.number + 1), newestFirst: true }
    const { value } = await walkTerm(redis, keys, prefix, before, 1).next()
    if (value !== undefined) yield take(value)
  }
  for await (const entries of walkTerm(redis, keys, prefix, range, chunk)) yield take(entries)
}

type TermScripts = Pick<Scripts<'fill' | 'terms'>, 'run'>

/** How many jobs a step has entered, if it has left some; or was it refused, because the memory is full? */
type Filled = 'all' | number | 'full'

const isSome = (filled: Filled): filled is number => typeof filled === 'number'

async function fillStep(scripts: TermScripts, most: number, isTurn: boolean): Promise<Filled> {
  try {
    const entered = Number((await scripts.run('fill', ['', String(most), isTurn ? '1' : '']))[2])
    return entered === 0 ? 'all' : entered
  } catch (error) {
    if (answers(error, 'OOM')) return 'full'
    throw error
  }
}

/** Fills the index in turns: of all processes one has a turn at a time. */
export class TermFilling {
  private readonly scripts: TermScripts
  /** Monotonic, ms. */
  private readonly now: () => number
  private nextAt = -Infinity

  constructor(scripts: TermScripts, now: () => number) {
    this.scripts = scripts
    this.now = now
  }

  /** @returns is it to go on? */
  async turn(): Promise<boolean> {
    const startedAt = this.now()
    if (startedAt < this.nextAt) return false
    this.nextAt = startedAt + roundMs
    let filled = await fillStep(this.scripts, unindexedMax, true)
    for (let calls = 1; isSome(filled) && calls < turn.calls && this.now() - startedAt < turn.ms; calls++) {
      filled = await fillStep(this.scripts, unindexedMax, false)
    }
    return isSome(filled)
  }
}

/** Fills the index to its end, for one who searches. @returns is it at its end? */
export async function fillAllTerms(scripts: TermScripts): Promise<boolean> {
  for (let jobs = 0; jobs < askedJobs;) {
    const filled = await fillStep(scripts, 0, false)
    if (!isSome(filled)) return filled === 'all'
    jobs += filled
  }
  return false
}

/** Kinds are found only once all jobs are in the index. */
export async function findTerms(scripts: TermScripts, { text, limit, countMax }: TermQuery): Promise<FoundTerms> {
  if (!(await fillAllTerms(scripts))) return { kinds: [], terms: [] }
  const request = ['', scriptText(text), String(limit), String(countMax + 1), ...kinds.map((kind) => termLetters[kind])]
  const [, , found] = await scripts.run('terms', request)
  const terms = (found as readonly (readonly Reply[])[]).flatMap((of, i) =>
    termsFrom(kinds[i] as IndexedKind, of, countMax),
  )
  return { kinds, terms }
}

/** @param reply prefixes and numbers of jobs in turn */
function termsFrom(kind: IndexedKind, reply: readonly Reply[], countMax: number): FoundTerm[] {
  return Array.from({ length: reply.length / 2 }, (_, i) => {
    const [value, name, type] = String(reply[2 * i])
      .slice(1)
      .split(separator)
    const jobs = Number(reply[2 * i + 1])
    return {
      kind,
      ...(kind === 'meta' && { name: textOfScript(name ?? '') }),
      ...(type === 'i' && { isNumber: true as const }),
      value: textOfScript(value ?? ''),
      jobs: Math.min(jobs, countMax),
      more: jobs > countMax,
    }
  })
}
