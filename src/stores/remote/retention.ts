/** Retention over documents: what the core decides over the first ended jobs of each type. */
import { inSequence } from '../../core/cursor.ts'
import { endedStates, prune, type EndedState, type PruneUnit } from '../../core/prune.ts'
import type { PruneAnswer, RetentionPolicies, RetentionPolicy } from '../../store.ts'
import type { RemoteDriver } from './driver.ts'
import type { EndedFacts, EndedQuery } from './ended.ts'
import type { TypeFigures } from './figures.ts'
import { mayBeCompleted } from './plain.ts'
import type { StorePort } from './port.ts'
import type { Transaction } from './transaction.ts'

/** The name of the policy of all types without one: no type has it. */
const others = ''

/** What is kept under each name. */
interface KeptPolicy {
  readonly type: string
  readonly policy: RetentionPolicy
}

export const retain = (driver: RemoteDriver, { types, others: general }: RetentionPolicies): Promise<void> =>
  driver.write((transaction) => {
    const all = [[others, general] as const, ...types]
    transaction.each(
      all,
      ([type, policy]) => {
        const text = JSON.stringify({ type, policy } satisfies KeptPolicy)
        if (transaction.cell('retention', type) !== text) transaction.setCell('retention', type, text)
      },
      rethrow,
    )
  })

function rethrow(error: { readonly message: string }): never {
  throw new TypeError(error.message)
}

type Policies = ReadonlyMap<string, RetentionPolicy>

/** When a type is looked at again, unless something has changed of what this was decided by. */
interface Look {
  readonly at: number
  readonly by: string
  /** What `by` was last made of: as long as these are the same objects, it is not made again. */
  figures: TypeFigures | undefined
  policies: Policies
}

export class Retention {
  private readonly port: StorePort
  /** By type. It is only known here: another process looks for itself. */
  private readonly looks = new Map<string, Look>()
  private readonly begins: Begins
  /** How many of a type and state have gone in the last prune. */
  private readonly gone = new Map<string, number>()
  /** The policies as they were read last, and their texts. */
  private known: { readonly texts: readonly string[]; readonly policies: Policies } = { texts: [], policies: new Map() }

  constructor(port: StorePort) {
    this.port = port
    this.begins = new Begins(port)
  }

  /** The same object for the same texts. */
  private policiesOf(texts: readonly string[]): Policies {
    const { known } = this
    if (texts.length === known.texts.length && texts.every((text, i) => text === known.texts[i])) return known.policies
    const kept = texts.map((text) => JSON.parse(text) as KeptPolicy)
    this.known = { texts, policies: new Map(kept.map(({ type, policy }) => [type, policy])) }
    return this.known.policies
  }

  async prune(driver: RemoteDriver, limit: number): Promise<PruneAnswer> {
    const set = driver.newSet()
    await driver.server.load([{ kind: 'values', cells: 'retention' }], set)
    const { byType } = await this.port.figures()
    const policies = this.policiesOf(set.valuesOf('retention'))
    const facts = new Facts(driver.server.now(), byType, policies, this.looks, this.gone)
    this.begins.check(facts.now)
    let answer = prune(facts.begin(), limit)
    while (await facts.loadMissing(this.port, this.begins)) answer = prune(facts.begin(), limit)
    const { plain } = this.port
    const removed =
      plain === undefined || facts.going.length === 0
        ? null
        : await driver.inTurn(async () => plain.remove(facts.going.filter((job) => job.plain)))
    const left = facts.going.filter((job) => removed?.has(job) !== true)
    const going = left.map(({ id, lastSeq }) => ({ id, endedBy: lastSeq }))
    const needs = going.map(({ id }) => ({ kind: 'row', id }) as const)
    if (going.length > 0) await driver.write((each: Transaction) => each.removeEnded(going), { needs })
    facts.keep()
    return answer
  }
}

/** What was found is known for so long, ms: what a repair brings back may have ended before it. */
const beginsMs = 600_000

/**
 * Where the ended jobs of a type and state begin: those that end later follow. A search from the first number on would
 * pass over all that were removed as long as the server keeps them for a transaction that is open.
 */
class Begins {
  private readonly port: StorePort
  private readonly first = new Map<string, number>()
  private epoch: string | undefined
  private until = 0

  constructor(port: StorePort) {
    this.port = port
  }

  /** Forgets what may be wrong by now. */
  check(now: number): void {
    const epoch = this.port.epoch?.()
    if (epoch === this.epoch && now < this.until) return
    this.first.clear()
    this.epoch = epoch
    this.until = now + beginsMs
  }

  from(name: string): number {
    return this.first.get(name) ?? 0
  }

  found(name: string, [first]: readonly EndedFacts[]): void {
    if (first !== undefined) this.first.set(name, first.lastSeq)
  }
}

/** By documents. */
async function endedDocuments(port: StorePort, { type, state, from, limit }: EndedQuery): Promise<EndedFacts[]> {
  const order = { by: 'finished', newestFirst: false, after: from === 0 ? null : inSequence(from - 1) } as const
  const { documents } = await port.find({ ...order, filter: { type }, states: new Set([state]), limit })
  return documents.map((document) => {
    const { id, seq, lastSeq, finishedAt } = document
    return { id, type, seq, lastSeq, finishedAt, plain: mayBeCompleted(document) }
  })
}

/** Ended jobs that the decision has asked for. */
interface Asked {
  readonly name: string
  readonly type: string
  readonly state: EndedState
  readonly limit: number
}

/** Of a type and state as many are read at first as have gone in the last prune, times this. */
const spare = 1.25
/** If all of them go, so many are read at least. */
const partMin = 100

class Facts implements PruneUnit<EndedFacts> {
  readonly now: number
  going: EndedFacts[] = []
  nextLookAt = Infinity
  private readonly byType: ReadonlyMap<string, TypeFigures>
  private readonly policies: Policies
  private readonly looks: Map<string, Look>
  private readonly due: readonly string[]
  /** When the next of the other types is looked at. */
  private readonly firstAt: number
  private newLooks = new Map<string, number>()
  private readonly entries = new Map<string, { readonly limit: number; readonly found: readonly EndedFacts[] }>()
  private missing = new Map<string, Asked>()
  private asked: Asked | null = null
  private goingBy = new Map<string, number>()
  private readonly gone: Map<string, number>

  constructor(
    now: number,
    byType: ReadonlyMap<string, TypeFigures>,
    policies: Policies,
    looks: Map<string, Look>,
    gone: Map<string, number>,
  ) {
    this.now = now
    this.byType = byType
    this.policies = policies
    this.looks = looks
    this.gone = gone
    this.due = [...byType.keys()].filter((type) => this.isDue(type))
    const due = new Set(this.due)
    this.firstAt = looks
      .entries()
      .reduce((first, [type, { at }]) => (due.has(type) ? first : Math.min(first, at)), Infinity)
  }

  begin(): this {
    this.going = []
    this.missing = new Map()
    this.goingBy = new Map()
    this.newLooks = new Map()
    this.nextLookAt = this.firstAt
    return this
  }

  /** What a look at a type depends on: others that end do not change when the first one goes, see `goesAt`. */
  private factsOf(type: string): string {
    const policy = this.retentionOf(type)
    const facts = endedStates.map((state) => {
      const kept = this.endedCount(type, state)
      if (policy === null || kept === 0) return kept
      const { count, countMax = Infinity } = policy[state]
      if (kept > countMax) return kept
      return kept > count ? 'beyond' : 'within'
    })
    return JSON.stringify([facts, policy])
  }

  private isDue(type: string): boolean {
    const look = this.looks.get(type)
    if (look === undefined || look.at <= this.now) return true
    const figures = this.byType.get(type)
    if (look.figures === figures && look.policies === this.policies) return false
    if (look.by !== this.factsOf(type)) return true
    look.figures = figures
    look.policies = this.policies
    return false
  }

  typesToPrune(limit: number): readonly string[] {
    return this.due.slice(0, limit)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.policies.get(type) ?? this.policies.get(others) ?? null
  }

  endedCount(type: string, state: EndedState): number {
    return this.byType.get(type)?.counts[state] ?? 0
  }

  /** Those that are known. More are asked for only if all of them go: mostly few do. */
  firstEnded(type: string, state: EndedState, limit: number): readonly EndedFacts[] {
    const name = `${state}:${type}`
    this.asked = { name, type, state, limit }
    const known = this.entries.get(name)
    const before = this.gone.get(name) ?? 0
    if (known === undefined) this.missing.set(name, { ...this.asked, limit: limit + Math.ceil(before * spare) })
    return known?.found.slice(0, limit) ?? []
  }

  /** Loads the entries that the decision has missed. @returns were there any? */
  async loadMissing(port: StorePort, begins: Begins): Promise<boolean> {
    const missing = [...this.missing.values()]
    const load = async ({ name, type, state, limit }: Asked): Promise<void> => {
      const query = { type, state, from: begins.from(name), limit }
      const found = await (port.ended?.(query) ?? endedDocuments(port, query))
      begins.found(name, found)
      this.entries.set(name, { limit, found })
    }
    await Promise.all(missing.map(load))
    return missing.length > 0
  }

  /** @param jobs of those that were found last */
  removeEnded(jobs: readonly EndedFacts[]): void {
    this.going.push(...jobs)
    const { asked } = this
    if (asked === null) return
    const { limit = 0, found = [] } = this.entries.get(asked.name) ?? {}
    this.goingBy.set(asked.name, jobs.length)
    const isAll = jobs.length === found.length && found.length === limit && limit < asked.limit
    if (isAll) this.missing.set(asked.name, { ...asked, limit: Math.min(asked.limit, Math.max(limit * 4, partMin)) })
  }

  lookAgain(type: string, at: number): void {
    this.newLooks.set(type, at)
    this.nextLookAt = Math.min(this.nextLookAt, at)
  }

  /** A type of which something was removed is looked at anew: its numbers have changed, and may be the same again. */
  keep(): void {
    for (const name of this.entries.keys()) this.gone.set(name, this.goingBy.get(name) ?? 0)
    const { policies } = this
    for (const [type, at] of this.newLooks) {
      this.looks.set(type, { at, by: this.factsOf(type), figures: this.byType.get(type), policies })
    }
    for (const { type } of this.going) this.looks.delete(type)
  }
}
