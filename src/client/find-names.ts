/** Names that are found by any part, in any case: types, states and tags of machines, errors, workers, schedules. */
import { failuresIn } from './failures.ts'
import type { FindHit, FindOther } from '../core/find.ts'
import { messagePattern } from '../core/fingerprint.ts'
import { jobStates, isEnded } from '../core/lifecycle.ts'
import type { Counts, Store } from '../store.ts'

/** Types whose machines are asked for, those with most jobs first. */
const machineTypesMax = 50
/** Among shorter words many differ in one letter only. */
const alikeCharsMin = 5

interface Name<Hit> {
  readonly hit: Hit
  /** Where a text is looked for. */
  readonly text: string
}

interface Found {
  readonly hits: readonly FindHit[]
  readonly others: readonly FindOther[]
}

/** What the store counts, and the workers and schedules: few enough to be looked through. */
export class Names {
  private readonly limit: number
  /** Those with most jobs first. */
  private readonly hits: readonly Name<FindHit>[]
  private readonly others: readonly Name<FindOther>[]

  private constructor(limit: number, hits: readonly Name<FindHit>[], others: readonly Name<FindOther>[]) {
    this.limit = limit
    this.hits = hits
    this.others = others
  }

  /** @param limit of each kind */
  static async of(store: Store, limit: number): Promise<Names> {
    const [counts, failures, others] = await Promise.all([store.counts(), failureNames(store), otherNames(store)])
    const names = [...typeNames(counts), ...(await machineNames(store, counts)), ...failures]
    const hits = names.toSorted((a, b) => b.hit.jobs - a.hit.jobs)
    return new Names(limit, hits, others)
  }

  with(text: string): Found {
    const word = text.toLowerCase()
    const pattern = messagePattern(text).toLowerCase()
    const isOfMessage = pattern.includes(' ')
    const hits = this.hits.filter(
      ({ hit, text: all }) => all.includes(word) || (hit.kind === 'failure' && isOfMessage && all.includes(pattern)),
    )
    const others = this.others.filter(({ text: all }) => all.includes(word))
    return {
      hits: this.ofEachKind(hits).map((hit) => ({ ...hit, exact: hit.kind !== 'failure' && hit.value === text })),
      others: this.ofEachKind(others),
    }
  }

  /** A word of the names that differs from a text in one letter: the one that most names have; null: none. */
  alike(text: string): string | null {
    const word = text.toLowerCase()
    if (word.length < alikeCharsMin) return null
    const names = new Map<string, number>()
    for (const { text: all } of [...this.hits, ...this.others]) {
      for (const each of new Set(all.split(/[^\p{L}\p{N}]+/u))) {
        if (differsInOne(word, each)) names.set(each, (names.get(each) ?? 0) + 1)
      }
    }
    const [[best] = [null]] = [...names].toSorted(([, a], [, b]) => b - a)
    return best
  }

  private ofEachKind<Hit extends { readonly kind: string }>(names: readonly Name<Hit>[]): readonly Hit[] {
    const kinds = new Set(names.map(({ hit }) => hit.kind))
    return [...kinds].flatMap((kind) =>
      names.flatMap(({ hit }) => (hit.kind === kind ? [hit] : [])).slice(0, this.limit),
    )
  }
}

/** Is one letter wrong, missing, too much, or in the place of its neighbour? */
function differsInOne(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let from = 0
  while (from < a.length && a[from] === b[from]) from++
  const [restA, restB] = [a.slice(from), b.slice(from)]
  if (a.length > b.length) return restA.slice(1) === restB
  if (a.length < b.length) return restA === restB.slice(1)
  const isSwapped = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
  return restA.slice(1) === restB.slice(1) || isSwapped
}

// ── names ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const unended = jobStates.filter((state) => !isEnded(state))

const typeNames = (counts: Counts): Name<FindHit>[] =>
  Object.entries(counts.types).map(([type, states]) => ({
    text: type.toLowerCase(),
    hit: {
      kind: 'type',
      value: type,
      name: null,
      more: false,
      exact: false,
      filter: { type },
      jobs: Object.values(states).reduce((sum, each) => sum + each, 0),
    },
  }))

async function failureNames(store: Store): Promise<Name<FindHit>[]> {
  const groups = await failuresIn(store, { limit: 1_000 })
  return groups.map(({ type, fingerprints, name, code, message, count, dead }) => ({
    text: `${name}: ${message} ${code ?? ''}`.toLowerCase(),
    hit: {
      kind: 'failure',
      value: `${name}: ${message}`,
      name: type,
      jobs: dead,
      failed: count,
      more: false,
      exact: false,
      filter: { type, failure: fingerprints },
    },
  }))
}

async function machineNames(store: Store, counts: Counts): Promise<Name<FindHit>[]> {
  const live = Object.entries(counts.types)
    .map(([type, states]) => ({ type, jobs: unended.reduce((sum, state) => sum + states[state], 0) }))
    .filter(({ jobs }) => jobs > 0)
    .toSorted((a, b) => b.jobs - a.jobs)
    .slice(0, machineTypesMax)
  const found = await Promise.all(
    live.map(async ({ type }) => {
      const { states, tags } = await store.machineCounts(type)
      const names = (kind: 'machineState' | 'machineTag', all: Readonly<Record<string, number>>): Name<FindHit>[] =>
        Object.entries(all).map(([value, jobs]) => ({
          text: value.toLowerCase(),
          hit: { kind, value, name: type, jobs, more: false, exact: false, filter: { type, [kind]: value } },
        }))
      return [...names('machineState', states), ...names('machineTag', tags)]
    }),
  )
  return found.flat()
}

async function otherNames(store: Store): Promise<Name<FindOther>[]> {
  const [workers, schedules] = await Promise.all([store.workers(), store.schedules.list()])
  return [
    ...workers.map(({ id, name, host }): Name<FindOther> => ({
      text: `${name} ${host} ${id}`.toLowerCase(),
      hit: { kind: 'worker', name, of: host },
    })),
    ...schedules.map(({ name, job }): Name<FindOther> => ({
      text: name.toLowerCase(),
      hit: { kind: 'schedule', name, of: job.type },
    })),
  ]
}
