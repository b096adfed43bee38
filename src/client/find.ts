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
  const [terms, others, [job = null]] = await Promise.all([
    Terms.of(store, clock, limit, text),
    otherHits(store, text, limit),
    store.get([text]),
  ])
  const [begun, members] = await Promise.all([terms.beginningWith(text), terms.membersOf(text, (a, b) => a === b)])
  const ofTerms = [...begun.map((term) => hitOf(term, text)), ...members]
  // An id has an index in every store.
  const isListed = job === null || ofTerms.some(({ kind, exact }) => kind === 'job' && exact)
  const ofJob = isListed ? [] : [hitOf({ kind: 'id', value: text, jobs: 1, more: false }, text)]
  const hits = [...ofJob, ...ofTerms, ...others].toSorted(byRank)
  const searched = order.map((kind) => ({ kind, newest: terms.newestOf(kind) }))
  if (hits.length > 0) return { text, hits, searched, near: null }
  const near = await nearest(terms, text)
  const nearHits = near === null ? [] : (await terms.beginningWith(near)).map((term) => hitOf(term, text))
  return { text, hits: nearHits.toSorted(byRank), searched, near }
}

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
