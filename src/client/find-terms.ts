/** Ids, keys, tags and members of meta that begin with a text, on every store. */
import type { Clock } from '../core/clock.ts'
import type { FindHit, FindKind } from '../core/find.ts'
import { metaMember } from '../core/meta-member.ts'
import { termKinds, type FoundTerm, type TermKind } from '../core/terms.ts'
import type { JobFilter, JobPage, JobRecord, Store } from '../store.ts'

/** Jobs that are looked at where the store has no index, and how many in one call. */
const newestMax = 5_000
const pageMax = 500
/** Jobs of a term are counted up to this number. */
const countMax = 1_000
/** Terms among which the members of one name are looked for: the store has them by value, of all names. */
const membersMax = 100

/** Terms of all jobs, as far as the store has indexes of them, and otherwise of the jobs that were enqueued last. */
export class Terms {
  private readonly store: Store
  private readonly limit: number
  private readonly unindexed: ReadonlySet<TermKind>
  /** Terms of these kinds, ascending. */
  private readonly newest: readonly FoundTerm[]
  /** The answers of the store, by the limit and the text. */
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
    return new Terms(store, limit, unindexed, newest, new Map([[`${limit} ${text}`, terms]]))
  }

  /** @param limit of each kind */
  async beginningWith(text: string, limit = this.limit): Promise<readonly FoundTerm[]> {
    const key = `${limit} ${text}`
    const known = this.answers.get(key) ?? (await this.store.terms?.({ text, limit, countMax }))?.terms ?? []
    this.answers.set(key, known)
    const begin = this.newest.filter(({ value }) => value.startsWith(text)).toSorted(byValue)
    return [...known, ...termKinds.flatMap((kind) => begin.filter((term) => term.kind === kind).slice(0, limit))]
  }

  /**
   * The members of meta that a text such as `customer=cus_9` means: of this name, with a value that begins so. In
   * quotes it means texts only.
   * @param isSame compares names
   */
  async membersOf(text: string, isSame: (a: string, b: string) => boolean): Promise<readonly FindHit[]> {
    const member = metaMember(text)
    if (member === null || member[1] === '') return []
    const [name, value] = member
    const start = String(value)
    const isQuoted = !text.endsWith(`=${start}`)
    const members = (await this.beginningWith(start, membersMax)).filter(
      (term) => term.kind === 'meta' && isSame(term.name ?? '', name) && !(isQuoted && term.isNumber),
    )
    const isListed = members.some((term) => term.value === start)
    const others = isListed || this.unindexed.has('meta') ? [] : await this.exactMember(name, value)
    return [...others, ...members.slice(0, this.limit).map((term) => hitOf(term, start))]
  }

  /** A member before which there are too many others, or of which there is no index, such as `true`. */
  private async exactMember(name: string, value: string | number | boolean): Promise<readonly FindHit[]> {
    const filter = { meta: { [name]: value } }
    const found = await this.store.list({ ...filter, limit: countMax, fields: ['id'] })
    if (found.length === 0) return []
    const more = found.next !== undefined
    return [{ kind: 'meta', value: String(value), name, jobs: found.length, more, exact: true, filter }]
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

const valueOf = ({ value, isNumber }: FoundTerm): string | number => (isNumber ? Number(value) : value)

/** @param text is searched */
export function hitOf(term: FoundTerm, text: string): FindHit {
  const { kind, name, value, jobs, more } = term
  const ofMeta = { meta: { [name ?? '']: valueOf(term) } }
  const filter: JobFilter | null = kind === 'id' ? null : kind === 'meta' ? ofMeta : { [kind]: value }
  return { kind: kind === 'id' ? 'job' : kind, value, name: name ?? null, jobs, more, exact: value === text, filter }
}
