/**
 * One search over everything by which jobs are found. What the store counts or has an index of is looked for among all
 * jobs, everything else among those that were enqueued last.
 */
import type { Clock } from '../core/clock.ts'
import type { FindHit, FindKind, FindResult } from '../core/find.ts'
import type { Store } from '../store.ts'
import { Names } from './find-names.ts'
import { hitOf, Terms } from './find-terms.ts'

/** A shorter beginning is near to everything; one of less than half of the text is not near to it. */
const nearCharsMin = 3
/** Many ids are random, and names are looked through for any part: some have any three or four characters. */
const nearLongMin = 5

const order: readonly FindKind[] = [
  'job',
  'key',
  'meta',
  'tag',
  'concurrencyKey',
  'type',
  'machineState',
  'machineTag',
  'failure',
]

/** @param limit hits of each kind at most */
export async function find(store: Store, clock: Clock, text: string, limit: number): Promise<FindResult> {
  const [terms, names] = await Promise.all([Terms.of(store, clock, limit, text), Names.of(store, limit)])
  const searched = order.map((kind) => ({ kind, newest: terms.newestOf(kind) }))
  const result = ({ hits, others }: Found, near: string | null = null): FindResult => ({
    text,
    hits: hits.toSorted(byRank),
    searched,
    near,
    ...(others.length > 0 && { others }),
  })
  const named = names.with(text)
  const asTyped = { ...named, hits: [...(await termHits(store, terms, text)), ...named.hits] }
  if (!isNothing(asTyped)) return result(asTyped)
  // What is found in any case has been looked for already.
  const lower = text.toLowerCase()
  const inLower = lower === text ? [] : await termHits(store, terms, lower, isSameInAnyCase)
  if (inLower.length > 0) return { ...result({ hits: inLower, others: [] }), as: lower }
  const alike = names.alike(text)
  if (alike !== null) {
    const { hits, others } = names.with(alike)
    return result({ hits: hits.map(inexact), others }, alike)
  }
  for (const each of new Set([text, lower])) {
    const near = await nearest(terms, names, each)
    if (near !== null) return result(await nearHits(terms, names, near), near)
  }
  return result({ hits: [], others: [] })
}

type Found = ReturnType<Names['with']>

const isNothing = ({ hits, others }: Found): boolean => hits.length === 0 && others.length === 0

const byRank = (a: FindHit, b: FindHit): number =>
  Number(b.exact) - Number(a.exact) || order.indexOf(a.kind) - order.indexOf(b.kind)

const isSameInAnyCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Hits by ids, keys, tags and members of meta. */
async function termHits(
  store: Store,
  terms: Terms,
  text: string,
  isSameName: (a: string, b: string) => boolean = (a, b) => a === b,
): Promise<readonly FindHit[]> {
  const [begun, members, [job = null]] = await Promise.all([
    terms.beginningWith(text),
    terms.membersOf(text, isSameName),
    store.get([text]),
  ])
  const hits = [...begun.map((term) => hitOf(term, text)), ...members]
  // An id has an index in every store.
  const isListed = job === null || hits.some(({ kind, exact }) => kind === 'job' && exact)
  return isListed ? hits : [hitOf({ kind: 'id', value: text, jobs: 1, more: false }, text), ...hits]
}

// ── what is near ───────────────────────────────────────────────────────────────────────────────────────────────────

/** The longest beginning of a text that anything has; null if none is long enough to tell anything. */
async function nearest(terms: Terms, names: Names, text: string): Promise<string | null> {
  const least = Math.max(nearCharsMin, Math.ceil(text.length / 2))
  const is = async (chars: number): Promise<boolean> => {
    const start = text.slice(0, chars)
    return start.isWellFormed() && !isNothing(await nearHits(terms, names, start))
  }
  // Ids and names count from a length on: a longer beginning may have hits where a shorter one has none.
  const long = await longest(Math.max(least, nearLongMin), text.length, is)
  const chars = long ?? (await longest(least, Math.min(nearLongMin, text.length), is))
  return chars === null ? null : text.slice(0, chars)
}

/** The last number from `least` to before `end` that passes, if all before it do; null: none does. */
async function longest(
  least: number,
  end: number,
  passes: (chars: number) => Promise<boolean>,
): Promise<number | null> {
  let [known, unknown] = [least - 1, end]
  while (unknown - known > 1) {
    const chars = Math.floor((known + unknown) / 2)
    if (await passes(chars)) known = chars
    else unknown = chars
  }
  return known < least ? null : known
}

async function nearHits(terms: Terms, names: Names, start: string): Promise<Found> {
  const isLong = start.length >= nearLongMin
  const begun = (await terms.beginningWith(start)).filter(({ kind }) => kind !== 'id' || isLong)
  const named = isLong ? names.with(start).hits : []
  return { hits: [...begun.map((term) => hitOf(term, start)), ...named].map(inexact), others: [] }
}

/** None has all of the text. */
const inexact = (hit: FindHit): FindHit => ({ ...hit, exact: false })
