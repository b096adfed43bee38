/** Retention: what the core decides over the indexes of ended jobs, and the policies that it decides by. */
import { endedStates, looksMax, prune as choose, type EndedState, type PruneUnit } from '../../core/prune.ts'
import { keptMax } from '../../core/retention.ts'
import type { PruneAnswer, RetentionPolicies, RetentionPolicy } from '../../store.ts'
import type { Reply } from './connection.ts'
import { partMax, partsOf } from '../remote/parts.ts'
import type { Redis, RedisServer } from './server.ts'
import { countsByName, figuresFrom } from './figures.ts'
import { scored, texts } from './loading.ts'
import { scriptText, textOfScript } from './row-text.ts'

/** Policies that one call sets: a script holds up every other client. */
const policiesMax = 200

/** The name of the policy of all types without one: no type has it. */
const others = ''

/**
 * Removes ended jobs as the core decides; each is removed if it has not changed meanwhile. Also takes a step of
 * removing what is kept for limits that nobody uses.
 */
async function pruneEnded({ server, driver }: Redis, limit: number): Promise<PruneAnswer> {
  const {
    facts,
    answer,
    others: left,
  } = await driver.inLine(async () => {
    const loaded = await loadedFacts(server)
    let pruned = choose(loaded.begin(), limit)
    // It has read further than was loaded: that is loaded, and it decides again.
    while (pruned.pruned < limit && (await loaded.loadMissing(server))) pruned = choose(loaded.begin(), limit)
    if (loaded.hasOldLimits) await server.run('forget', [])
    const { going, looks } = loaded
    if (loaded.goesOn) pruned = { ...pruned, nextAt: null, more: true }
    if (going.length === 0 && looks.length === 0) return { facts: loaded, answer: pruned, others: new Set<string>() }
    const skipped = await removed(server, going, looks)
    return { facts: loaded, answer: pruned, others: new Set(skipped) }
  })
  if (left.size > 0) {
    const withMachine = facts.going.filter(({ id }) => left.has(id))
    const needs = withMachine.map(({ id }) => ({ kind: 'row', id }) as const)
    await driver.write((transaction) => transaction.removeEnded(withMachine), { needs })
  }
  return answer
}

/**
 * Removes jobs by scripts of a bounded number of jobs, which are sent together. The last one sets the looks: where an
 * earlier one was in vain, the types are looked at again.
 * @returns the ids of those that are left to the core
 */
async function removed(server: RedisServer, going: readonly EndedId[], looks: Facts['looks']): Promise<string[]> {
  const parts = going.length === 0 ? [going] : partsOf(going)
  const skipped = await Promise.all(
    parts.map(async (part, i) => {
      const setsLooks = looks.length > 0 && i === parts.length - 1
      // Empty lists would not be told from objects by the script's JSON.
      const request = { ...(setsLooks && { looks }), ...(part.length > 0 && { trims: trimsOf(part) }) }
      const [, others] = await server.run('remove', [JSON.stringify(request), ...runsOf(part)])
      return texts(others)
    }),
  )
  return skipped.flat()
}

/** How many jobs are decided about at once: to ask which are there takes several round trips. */
const decidedMax = 5 * partMax

/**
 * What is asked for in one call: a script holds up every other client. An index that is looked at counts as so many
 * jobs, and so many are asked for of each at least.
 */
const asked = { most: 1_000, perIndex: 10, least: 16 } as const

/** The same, in steps of a bounded number of jobs. Afterwards the index of terms is filled on. */
export async function prune(redis: Redis, limit: number): Promise<PruneAnswer> {
  const { filling, time } = redis.server
  for (let pruned = 0; ;) {
    const answer = await pruneEnded(redis, Math.min(limit - pruned, decidedMax))
    pruned += answer.pruned
    if (answer.more && pruned < limit) continue
    const goesOn = !answer.more && (await filling.turn())
    return { ...answer, pruned, ...(goesOn && { nextAt: Math.min(answer.nextAt ?? Infinity, time.now()) }) }
  }
}

/** Sets policies: all ended jobs are looked at again if one has changed. */
export async function retain({ server, driver }: Redis, policies: RetentionPolicies): Promise<void> {
  const all = [[others, policies.others] as const, ...policies.types]
  for (let i = 0; i < all.length; i += policiesMax) {
    const args = all.slice(i, i + policiesMax).flatMap(([type, policy]) => [scriptText(type), JSON.stringify(policy)])
    await driver.inLine(() => server.run('retain', args))
  }
}

/** The types that are due, with the policies, numbers and first ended jobs of each. */
async function loadedFacts(server: RedisServer): Promise<Facts> {
  const { redis, keys, time } = server
  const now = time.now()
  const [first, next, limits] = await redis.pipeline([
    ['ZRANGE', keys.looks, '-inf', String(now), 'BYSCORE', 'LIMIT', '0', String(looksMax)],
    // Types of which nothing will be removed have the time +inf.
    ['ZRANGE', keys.looks, `(${now}`, '(+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES'],
    ['ZRANGE', keys.limitLooks, '-inf', String(now), 'BYSCORE', 'LIMIT', '0', '1'],
  ])
  const hasOldLimits = texts(limits).length > 0
  const due = texts(first)
  const nextAt = scored(next)[0]?.[1] ?? Infinity
  if (due.length === 0) return new Facts(now, nextAt, hasOldLimits, due, [], new Map())
  // Together: where one of them fails, nobody would wait for the other.
  const [policies, [, , figures]] = await Promise.all([
    redis.send(['HMGET', keys.retention, ...due, others]),
    server.run('figures', due),
  ])
  const counts = countsByName(figuresFrom(figures))
  return new Facts(now, nextAt, hasOldLimits, due, policies as readonly Reply[], counts)
}

/** Jobs of a type whose ends have numbers without a gap: the type, the first number, how many, and their ids. */
function runsOf(going: readonly EndedId[]): string[] {
  const args: string[] = []
  for (let from = 0; from < going.length;) {
    const { type, endedBy } = going[from] as EndedId
    let to = from + 1
    while (going[to]?.type === type && going[to]?.endedBy === endedBy + to - from) to++
    args.push(scriptText(type), String(endedBy), String(to - from))
    for (; from < to; from++) args.push((going[from] as EndedId).id)
  }
  return args
}

/** Of each state and type the number of the last that goes. */
function trimsOf(going: readonly EndedId[]): (readonly [state: string, type: string, number: number])[] {
  const groups = Map.groupBy(going, ({ state, type }) => nameOf(type, state))
  return [...groups.values()].map((those) => {
    const { state, type, endedBy } = those.at(-1) as EndedId
    return [state, scriptText(type), endedBy]
  })
}

/** An ended job, as its index names it. */
interface EndedId {
  readonly id: string
  readonly type: string
  readonly state: EndedState
  readonly finishedAt: number
  readonly endedBy: number
}

/** Some entries of an index of ended jobs, the first ones. */
interface Entries {
  readonly limit: number
  readonly found: readonly EndedId[]
}

const noEntries: Entries = { limit: 0, found: [] }

/** How many entries are asked for of an index. */
interface Asked {
  readonly type: string
  readonly state: EndedState
  readonly limit: number
}

class Facts implements PruneUnit<EndedId> {
  readonly now: number
  /** Is there anything kept for limits of types that has not been used for long? */
  readonly hasOldLimits: boolean
  going: EndedId[] = []
  /** Types, when they are to be looked at again, and of how many ended jobs of each state at once. */
  looks: (readonly [type: string, at: string, upTo: Readonly<Record<string, number>>])[] = []
  nextLookAt: number
  private readonly firstAt: number
  private readonly due: readonly string[]
  private readonly policies = new Map<string, RetentionPolicy | null>()
  private readonly counts: ReadonlyMap<string, number>
  private readonly entries = new Map<string, Entries>()
  /** Were there only entries of jobs that are there no more, as far as was looked? These are gone now. */
  goesOn = false
  /** Types of which more may have to go than were found. */
  private readonly unfinished = new Set<string>()
  /** What is to be loaded before it can be decided; by type and state. */
  private missing = new Map<string, Asked>()
  /** Entries that were given where more may be there; and what is to be loaded, if all of these go. */
  private part: { readonly jobs: readonly EndedId[]; readonly next: Asked } | null = null

  /** @param due as scripts write types; the replies are in this order, and then the policy of the other types */
  constructor(
    now: number,
    nextAt: number,
    hasOldLimits: boolean,
    due: readonly string[],
    policies: readonly Reply[],
    counts: ReadonlyMap<string, number>,
  ) {
    this.now = now
    this.hasOldLimits = hasOldLimits
    this.counts = counts
    this.firstAt = this.nextLookAt = nextAt
    this.due = due.map(textOfScript)
    const policyOf = (reply: Reply | undefined): RetentionPolicy | null =>
      typeof reply === 'string' ? (JSON.parse(reply) as RetentionPolicy) : null
    const general = policyOf(policies.at(-1))
    for (const [i, type] of this.due.entries()) {
      this.policies.set(type, policyOf(policies[i]) ?? general)
    }
  }

  begin(): this {
    this.going = []
    this.looks = []
    this.missing = new Map()
    this.nextLookAt = this.firstAt
    return this
  }

  /** Loads the entries that the decision has missed. @returns were there any? */
  async loadMissing(server: RedisServer): Promise<boolean> {
    if (this.missing.size === 0) return false
    const missing: Asked[] = []
    let weight = 0
    // What is left out is still missing when it has decided again.
    for (const each of this.missing.values()) {
      weight += each.limit + asked.perIndex
      if (missing.length > 0 && weight > asked.most) break
      missing.push(each)
    }
    const args = missing.flatMap(({ type, state, limit }) => [state, scriptText(type), String(limit)])
    const [, reply] = await server.run('ended', args)
    for (const [i, { type, state, limit }] of missing.entries()) {
      const [isPart, runs] = (reply as readonly (readonly [number, readonly (readonly string[])[]])[])[i] ?? [0, []]
      const found = runs.flatMap(([finishedAt, first, ...ids]) =>
        ids.map((id, n): EndedId => ({ id, type, state, finishedAt: Number(finishedAt), endedBy: Number(first) + n })),
      )
      if (isPart === 1) this.unfinished.add(type)
      this.goesOn ||= isPart === 1 && found.length === 0
      this.entries.set(nameOf(type, state), { limit: isPart === 1 ? Infinity : limit, found })
    }
    return true
  }

  typesToPrune(): readonly string[] {
    return this.due
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.policies.get(type) ?? null
  }

  endedCount(type: string, state: EndedState): number {
    return this.counts.get(nameOf(type, state)) ?? 0
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly EndedId[] {
    const name = nameOf(type, state)
    const known = this.entries.get(name) ?? noEntries
    const jobs = known.found.slice(0, limit)
    if (known.limit >= limit || known.found.length < known.limit) return jobs
    // Of many types with some jobs to go as many as may go of each would be too much to look at.
    const least = Math.max(asked.least, Math.ceil(decidedMax / this.due.length))
    const next = { type, state, limit: Math.min(limit, Math.max(least, 4 * known.limit)) }
    if (known.limit === 0) this.missing.set(name, next)
    else this.part = { jobs, next }
    return jobs
  }

  removeEnded(jobs: readonly EndedId[]): void {
    this.going.push(...jobs)
    if (this.part?.jobs !== jobs) return
    const { type, state } = this.part.next
    this.missing.set(nameOf(type, state), this.part.next)
  }

  lookAgain(type: string, at: number): void {
    if (this.unfinished.has(type)) at = this.now
    this.nextLookAt = Math.min(this.nextLookAt, at)
    if (endedStates.some((state) => this.missing.has(nameOf(type, state)))) return
    // Its numbers change with what is removed: the next prune looks at it again.
    if (this.going.some((job) => job.type === type)) return
    const upTo = endedStates.map((state) => [state, this.keptMax(type, state)])
    this.looks.push([scriptText(type), at === Infinity ? '+inf' : String(at), Object.fromEntries(upTo)])
  }

  /** Up to how many jobs of the state the type is looked at no earlier. */
  private keptMax(type: string, state: EndedState): number {
    const kept = this.endedCount(type, state)
    const bounds = this.retentionOf(type)?.[state]
    if (bounds === undefined) return Number.MAX_SAFE_INTEGER
    return kept === 0 ? 0 : Math.min(keptMax(bounds, kept), Number.MAX_SAFE_INTEGER)
  }
}

const nameOf = (type: string, state: EndedState): string => `${state}:${type}`
