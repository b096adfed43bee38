/**
 * One search over everything by which jobs are found. What the store counts or has an index of is looked for among all
 * jobs, everything else among those that were enqueued last.
 */
import { failuresIn } from './failures.ts'
import type { Clock } from '../core/clock.ts'
import type { FindHit, FindKind, FindResult } from '../core/find.ts'
import { messagePattern } from '../core/fingerprint.ts'
import { jobStates, isEnded } from '../core/lifecycle.ts'
import type { Counts, Store } from '../store.ts'
import { hitOf, Terms } from './find-terms.ts'

/** Types whose machines are asked for, those with most jobs first. */
const machineTypesMax = 50
/** A shorter beginning is near to everything. */
const nearCharsMin = 2

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
  const [terms, others] = await Promise.all([Terms.of(store, clock, limit, text), otherHits(store, text, limit)])
  const searched = order.map((kind) => ({ kind, newest: terms.newestOf(kind) }))
  const result = (hits: readonly FindHit[], near: string | null = null): FindResult => {
    return { text, hits: hits.toSorted(byRank), searched, near }
  }
  const asTyped = [...(await termHits(store, terms, text)), ...others]
  if (asTyped.length > 0) return result(asTyped)
  // What is found in any case has been looked for already.
  const lower = text.toLowerCase()
  const inLower = lower === text ? [] : await termHits(store, terms, lower, isSameInAnyCase)
  if (inLower.length > 0) return { ...result(inLower), as: lower }
  const near = await nearest(terms, text)
  return near === null
    ? result([])
    : result(
        (await terms.beginningWith(near)).map((term) => hitOf(term, text)),
        near,
      )
}

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

const isSameInAnyCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const byRank = (a: FindHit, b: FindHit): number =>
  Number(b.exact) - Number(a.exact) || order.indexOf(a.kind) - order.indexOf(b.kind)

/** The longest beginning of a text that any term begins with; null if it is too short to tell anything. */
async function nearest(terms: Terms, text: string): Promise<string | null> {
  let [known, unknown] = [nearCharsMin - 1, text.length]
  while (unknown - known > 1) {
    const chars = Math.floor((known + unknown) / 2)
    const start = text.slice(0, chars)
    if (start.isWellFormed() && (await terms.beginningWith(start)).length > 0) known = chars
    else unknown = chars
  }
  return known < nearCharsMin ? null : text.slice(0, known)
}

// ── what the store counts ──────────────────────────────────────────────────────────────────────────────────────────

const unended = jobStates.filter((state) => !isEnded(state))

/** Types, states and tags of machines, and errors. */
async function otherHits(store: Store, text: string, limit: number): Promise<readonly FindHit[]> {
  const word = text.toLowerCase()
  const [counts, groups] = await Promise.all([store.counts(), failuresIn(store, { limit: 1_000 })])
  const types = Object.entries(counts.types)
    .filter(([type]) => type.toLowerCase().includes(word))
    .map(([type, states]): FindHit => ({
      kind: 'type',
      value: type,
      name: null,
      more: false,
      exact: type === text,
      filter: { type },
      jobs: Object.values(states).reduce((sum, each) => sum + each, 0),
    }))
  const pattern = messagePattern(text).toLowerCase()
  const failures = groups
    .filter(({ name, code, message }) => {
      const all = `${name}: ${message} ${code ?? ''}`.toLowerCase()
      return all.includes(word) || (pattern.includes(' ') && all.includes(pattern))
    })
    .map(({ type, fingerprints, name, message, dead }): FindHit => ({
      kind: 'failure',
      value: `${name}: ${message}`,
      name: type,
      jobs: dead,
      more: false,
      exact: false,
      filter: { type, failure: fingerprints },
    }))
  return [
    ...types.toSorted((a, b) => b.jobs - a.jobs).slice(0, limit),
    ...(await machineHits(store, counts, text, limit)),
    ...failures.toSorted((a, b) => b.jobs - a.jobs).slice(0, limit),
  ]
}

async function machineHits(store: Store, counts: Counts, text: string, limit: number): Promise<readonly FindHit[]> {
  const word = text.toLowerCase()
  const live = Object.entries(counts.types)
    .map(([type, states]) => ({ type, jobs: unended.reduce((sum, state) => sum + states[state], 0) }))
    .filter(({ jobs }) => jobs > 0)
    .toSorted((a, b) => b.jobs - a.jobs)
    .slice(0, machineTypesMax)
  const found = await Promise.all(
    live.map(async ({ type }) => {
      const { states, tags } = await store.machineCounts(type)
      const hits = (kind: 'machineState' | 'machineTag', names: Readonly<Record<string, number>>): FindHit[] =>
        Object.entries(names)
          .filter(([name]) => name.toLowerCase().includes(word))
          .map(([value, jobs]) => ({
            kind,
            value,
            name: type,
            jobs,
            more: false,
            exact: value === text,
            filter: { type, [kind]: value },
          }))
      return [...hits('machineState', states), ...hits('machineTag', tags)]
    }),
  )
  const all = found.flat().toSorted((a, b) => b.jobs - a.jobs)
  return ['machineState', 'machineTag'].flatMap((kind) => all.filter((hit) => hit.kind === kind).slice(0, limit))
}
