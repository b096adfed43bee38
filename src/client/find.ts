/**
 * One search over everything by which jobs are found. What the store counts or has an index of is looked for among all
 * jobs, everything else among those that were enqueued last.
 */
import { failuresIn } from './failures.ts'
import type { Clock } from '../core/clock.ts'
import type { FindHit, FindKind, FindResult } from '../core/find.ts'
import { messagePattern } from '../core/fingerprint.ts'
import { jobStates, isEnded } from '../core/lifecycle.ts'
import { termKinds, type FoundTerm, type TermKind } from '../core/terms.ts'
import type { Counts, JobFilter, JobPage, JobRecord, Store } from '../store.ts'

/** Jobs that are looked at where the store has no index, and how many in one call. */
const newestMax = 5_000
const pageMax = 500
/** Jobs of a term are counted up to this number. */
const countMax = 1_000
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
  const ofTerms = (await terms.beginningWith(text)).map((term) => hitOf(term, text))
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

function hitOf({ kind, name, value, isNumber, jobs, more }: FoundTerm, text: string): FindHit {
  const ofMeta = { meta: { [name ?? '']: isNumber ? Number(value) : value } }
  const filter: JobFilter | null = kind === 'id' ? null : kind === 'meta' ? ofMeta : { [kind]: value }
  return { kind: kind === 'id' ? 'job' : kind, value, name: name ?? null, jobs, more, exact: value === text, filter }
}

// ── terms ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Terms of all jobs, as far as the store has indexes of them, and otherwise of the jobs that were enqueued last. */
class Terms {
  private readonly store: Store
  private readonly limit: number
  private readonly unindexed: ReadonlySet<TermKind>
  /** Terms of these kinds, ascending. */
  private readonly newest: readonly FoundTerm[]
  /** The answers of the store. */
  private readonly answers: Map<string, readonly FoundTerm[]>

  private constructor(
    store: Store,
    limit: number,
    unindexed: ReadonlySet<TermKind>,
    newest: readonly FoundTerm[],
    answers: Map<string, readonly FoundTerm[]>,
  ) {
    this.store = store
    this.limit = limit
    this.unindexed = unindexed
    this.newest = newest
    this.answers = answers
  }

  /** @param text is asked for first: the answer tells which indexes there are */
  static async of(store: Store, clock: Clock, limit: number, text: string): Promise<Terms> {
    const { kinds, terms } = (await store.terms?.({ text, limit, countMax })) ?? { kinds: [], terms: [] }
    const unindexed = new Set(termKinds.filter((kind) => !kinds.includes(kind)))
    const newest = unindexed.size === 0 ? [] : await newestTerms(store, clock, unindexed)
    return new Terms(store, limit, unindexed, newest, new Map([[text, terms]]))
  }

  async beginningWith(text: string): Promise<readonly FoundTerm[]> {
    const { store, limit } = this
    const known = this.answers.get(text) ?? (await store.terms?.({ text, limit, countMax }))?.terms ?? []
    this.answers.set(text, known)
    const begin = this.newest.filter(({ value }) => value.startsWith(text)).toSorted(byValue)
    return [...known, ...termKinds.flatMap((kind) => begin.filter((term) => term.kind === kind).slice(0, limit))]
  }

  /** The number of the newest jobs among which hits of a kind are looked for; null: all jobs are. */
  newestOf(kind: FindKind): number | null {
    return this.unindexed.has(kind === 'job' ? 'id' : (kind as TermKind)) ? newestMax : null
  }
}

/** All terms of some kinds of the jobs that were enqueued last. */
async function newestTerms(store: Store, clock: Clock, kinds: ReadonlySet<TermKind>): Promise<readonly FoundTerm[]> {
  const found = new Map<string, FoundTerm>()
  const add = (kind: TermKind, value: string, ofMeta: Pick<FoundTerm, 'name' | 'isNumber'> = {}): void => {
    if (!kinds.has(kind)) return
    const key = JSON.stringify([kind, value, ofMeta])
    found.set(key, { kind, ...ofMeta, value, jobs: (found.get(key)?.jobs ?? 0) + 1, more: false })
  }
  if (kinds.size === 1 && kinds.has('id')) {
    for await (const page of newestPages(store, clock, ['id'])) for (const { id } of page) add('id', id)
    return [...found.values()]
  }
  let isAll = false
  const fields = ['id', 'key', 'concurrencyKey', 'tags', 'meta'] as const
  for await (const page of newestPages(store, clock, fields)) {
    for (const { id, key, concurrencyKey, tags, meta } of page) {
      add('id', id)
      if (key !== null) add('key', key)
      if (concurrencyKey !== null) add('concurrencyKey', concurrencyKey)
      for (const tag of tags) add('tag', tag)
      for (const [name, value] of Object.entries(meta)) {
        if (typeof value === 'string') add('meta', value, { name })
        else if (typeof value === 'number') add('meta', String(value), { name, isNumber: true })
      }
    }
    isAll = page.next === undefined
  }
  return [...found.values()].map((term) => ({ ...term, more: !isAll && term.kind !== 'id' }))
}

/** The jobs that were enqueued last. */
async function* newestPages<Name extends keyof JobRecord>(
  store: Store,
  clock: Clock,
  fields: readonly Name[],
): AsyncGenerator<JobPage<Pick<JobRecord, Name>>> {
  let looked = 0
  for (let after: string | undefined; looked < newestMax;) {
    const page = await store.list({ order: 'newest', limit: pageMax, fields, ...(after !== undefined && { after }) })
    yield page
    looked += page.length
    after = page.next
    if (after === undefined) return
    await new Promise<void>((resolve) => clock.nextTurn(resolve))
  }
}

const byValue = (a: FoundTerm, b: FoundTerm): number => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0)

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
