/**
 * Ends of runs that the core writes, and the claim that is asked for behind them: a worker claims in the turn in which
 * it settles, and a commit costs more than what it does for a job. They are one turn of the driver:
 *
 *   ends and claims by the core, one commit ─▶ ends and claims of plain jobs, one call ─▶ claims that this has left
 *
 * The ends do not depend on the claim: if the commit of both fails, or others have changed what it was based on, the
 * ends are committed alone.
 */
import { claimable } from '../../core/compiled-arrows.ts'
import type { Settlement } from '../../core/settlement.ts'
import type { ClaimAnswer, ClaimRequest, Demand, SettleAnswer } from '../../store.ts'
import { claimAll, claimNeeds } from './claim.ts'
import type { RemoteDriver } from './driver.ts'
import { ofLeased, settleEach, settlePart } from './operations.ts'
import { joined, partsOf } from './parts.ts'
import { isPlainDemand, type Carry, type PlainClaim, type PlainWrites } from './plain.ts'
import type { Transaction } from './transaction.ts'

/** A claim that goes with ends. */
interface Joined {
  readonly request: ClaimRequest
  readonly answer: PromiseWithResolvers<ClaimAnswer>
}

/** Ends whose turn has not come. */
interface Waiting {
  /** How many calls had been asked for then: a claim joins the ends only if it is the next one. */
  readonly asked: number
  claim: Joined | null
}

/** Of one call: what is asked, or answered, of plain jobs and of others. */
interface Parted<T> {
  readonly plain: readonly T[]
  readonly others: readonly T[]
}

type Ended = Parted<SettleAnswer>

/** `claimed` null: not yet. */
type Both = readonly [ended: readonly SettleAnswer[], claimed: ClaimAnswer | null]

interface EndsAndClaimsOptions {
  readonly driver: RemoteDriver
  /** Without it the core writes everything. */
  readonly plain: PlainWrites | undefined
  readonly carry: Carry
}

export class EndsAndClaims {
  private waiting: Waiting | null = null
  private readonly coreTypes = new CoreTypes()
  private readonly options: EndsAndClaimsOptions

  constructor(options: EndsAndClaimsOptions) {
    this.options = options
  }

  settle(settlements: readonly Settlement[]): Promise<SettleAnswer[]> {
    return joined(
      partsOf(settlements, ({ output }) => output),
      (part) => this.settlePart(part),
    )
  }

  private async settlePart(settlements: readonly Settlement[]): Promise<SettleAnswer[]> {
    const { plain } = this.options
    const ids = new Set(settlements.map(({ id }) => id))
    const isPlain = settlements.map((each) => ids.size === settlements.length && plain?.mayComplete(each) === true)
    const ends: Parted<Settlement> = {
      plain: settlements.filter((_, i) => isPlain[i]),
      others: settlements.filter((_, i) => !isPlain[i]),
    }
    const ended = ends.others.length > 0 ? await this.endInTurn(ends) : await this.endInLine(ends.plain)
    let [taken, rest] = [0, 0]
    return isPlain.map((each) => (each ? ended.plain[taken++] : ended.others[rest++]) as SettleAnswer)
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const { driver, plain, carry } = this.options
    const { waiting } = this
    if (waiting !== null && waiting.claim === null && waiting.asked === driver.asked) {
      const answer = Promise.withResolvers<ClaimAnswer>()
      waiting.claim = { request, answer }
      return answer.promise
    }
    const byCore = (demand: readonly Demand[]): Promise<ClaimAnswer> => {
      const left = { ...request, demand }
      return driver.write((transaction) => claimAll(transaction, left), { needs: claimNeeds(left) })
    }
    const demand = this.parted(request)
    if (plain === undefined || demand.plain.length === 0) return byCore(request.demand)
    const own = await driver.inLine(() => carry(() => plain.claim({ ...request, demand: demand.plain })))
    if (own !== null) this.coreTypes.learn(demand.plain, own)
    const left = [...demand.others, ...(own?.others ?? demand.plain)]
    return inOrder(request, [own, left.length === 0 ? null : await restOf(own, byCore(left))])
  }

  /** To be called once for each claim. */
  private parted({ demand }: ClaimRequest): Parted<Demand> {
    const { plain } = this.options
    if (plain === undefined) return { plain: [], others: demand }
    const { countsLeased = false } = plain
    const isPlain = demand.map((each) => isPlainDemand(each, countsLeased) && !this.coreTypes.takes(each))
    return { plain: demand.filter((_, i) => isPlain[i]), others: demand.filter((_, i) => !isPlain[i]) }
  }

  private async endInLine(plain: readonly Settlement[]): Promise<Ended> {
    const { driver } = this.options
    const done = await driver.inLine(() => this.complete(plain))
    return { plain: done ?? (await settlePart(driver, plain)), others: [] }
  }

  private async complete(settlements: readonly Settlement[]): Promise<SettleAnswer[] | null> {
    const { plain, carry } = this.options
    return plain === undefined ? null : carry(() => plain.complete(settlements))
  }

  // ── in a turn ────────────────────────────────────────────────────────────────────────────────────────────────────

  private endInTurn(ends: Parted<Settlement>): Promise<Ended> {
    const { driver } = this.options
    const ended = Promise.withResolvers<Ended>()
    void driver.inTurn(async () => {
      if (this.waiting === waiting) this.waiting = null
      await (waiting.claim === null ? this.endAlone(ends, ended) : this.endAndClaim(ends, ended, waiting.claim))
    })
    const waiting: Waiting = { asked: driver.asked, claim: null }
    this.waiting = waiting
    return ended.promise
  }

  private async endAlone(ends: Parted<Settlement>, ended: PromiseWithResolvers<Ended>): Promise<void> {
    const both = [this.completeNow(ends.plain), this.settleNow(ends.others)] as const
    ended.resolve(Promise.all(both).then(([plain, others]) => ({ plain, others })))
    await Promise.allSettled(both)
  }

  private async endAndClaim(
    ends: Parted<Settlement>,
    ended: PromiseWithResolvers<Ended>,
    { request, answer }: Joined,
  ): Promise<void> {
    try {
      const demand = this.parted(request)
      const [others, claimed] = await this.transact(ends.others, { ...request, demand: demand.others })
      const completed = this.completeNow(ends.plain)
      ended.resolve(completed.then((plain) => ({ plain, others })))
      const own = await restOf(claimed, this.claimPlain({ ...request, demand: demand.plain }))
      const left = [...(claimed === null ? demand.others : []), ...own.others]
      const known = inOrder(request, [own, claimed])
      answer.resolve(
        left.length === 0 ? known : inOrder(request, [known, await restOf(known, this.claimNow(request, left))]),
      )
      await completed
    } catch (error) {
      ended.reject(error)
      answer.reject(error)
    }
  }

  /** Ends and claims together, or else ends. */
  private async transact(settlements: readonly Settlement[], request: ClaimRequest): Promise<Both> {
    const { driver } = this.options
    if (request.demand.length === 0) return [await this.settleNow(settlements), none]
    const types = new Set(request.demand.map(({ type }) => type))
    const operate = (transaction: Transaction): Both => {
      const ended = settleEach(transaction, settlements)
      // Such a job is in no index yet.
      const isQueued = transaction.changes.rows.some(({ state, type }) => claimable.has(state) && types.has(type))
      return [ended, isQueued ? null : claimAll(transaction, request)]
    }
    const { believe, needs } = ofLeased(driver, settlements)
    const prepare = { believe, needs: [...needs, ...claimNeeds(request)], instead: async () => null }
    // If the store is away, the ends alone fail, too, and tell it.
    const both = await driver.writeInTurn<Both | null>(operate, prepare).catch(() => null)
    return both ?? [await this.settleNow(settlements), null]
  }

  private async completeNow(settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    if (settlements.length === 0) return []
    return (await this.complete(settlements)) ?? this.settleNow(settlements)
  }

  private settleNow(settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    const { driver } = this.options
    return driver.writeInTurn((each) => settleEach(each, settlements), ofLeased(driver, settlements))
  }

  private async claimPlain(request: ClaimRequest): Promise<PlainAnswer> {
    const { plain, carry } = this.options
    const { demand } = request
    if (plain === undefined || demand.length === 0) return { ...none, others: demand }
    const answer = await carry(() => plain.claim(request))
    if (answer === null) return { ...none, others: demand }
    this.coreTypes.learn(demand, answer)
    return answer
  }

  private claimNow(request: ClaimRequest, demand: readonly Demand[]): Promise<ClaimAnswer> {
    const left = { ...request, demand }
    return this.options.driver.writeInTurn((each) => claimAll(each, left), { needs: claimNeeds(left) })
  }
}

/**
 * Types without limits whose jobs are no plain ones, as those with a delay or a priority: their claims as plain jobs
 * find none, and go to the core after that. The next claim goes there at once, then the next two, and so on, as long as
 * it is in vain.
 */
class CoreTypes {
  /** How many claims of a type go to the core at once, and how many the last one in vain has sent there. */
  private readonly byType = new Map<string, { left: number; readonly sent: number }>()

  /** Does the core claim this? */
  takes({ type }: Demand): boolean {
    const known = this.byType.get(type)
    if (known === undefined || known.left === 0) return false
    known.left--
    return true
  }

  /** A claim as plain jobs was answered. */
  learn(demand: readonly Demand[], { jobs, others }: PlainAnswer): void {
    const found = new Set(jobs.map(({ type }) => type))
    const left = new Set(others.map(({ type }) => type))
    for (const { type } of demand) {
      const sent = Math.min(2 * (this.byType.get(type)?.sent ?? 0) || 1, coreClaimsMax)
      if (left.has(type) && !found.has(type)) this.byType.set(type, { left: sent, sent })
      else this.byType.delete(type)
    }
  }
}

/** So many claims of a type go to the core before it is looked whether plain jobs have come. */
const coreClaimsMax = 32

type PlainAnswer = Pick<PlainClaim, 'jobs' | 'shortfalls' | 'others'>

const none: PlainAnswer = { jobs: [], shortfalls: [], others: [] }

/**
 * The rest of a claim of which a part was carried out. Jobs that were claimed are answered also if it fails: otherwise
 * nobody would run them until their lease ends. The next claim meets the error.
 */
const restOf = <T extends ClaimAnswer>(claimed: ClaimAnswer | null, rest: Promise<T>): Promise<T | PlainAnswer> =>
  claimed === null || claimed.jobs.length === 0 ? rest : rest.catch(() => none)

const hasAny = (answer: ClaimAnswer | null): answer is ClaimAnswer =>
  answer !== null && answer.jobs.length + answer.shortfalls.length > 0

/** Answers to a claim as one: by the order of its demands, as each is, and for a type in that of the answers. */
function inOrder({ demand }: ClaimRequest, answers: readonly (ClaimAnswer | null)[]): ClaimAnswer {
  const [first = none, ...others] = answers.filter(hasAny)
  if (others.length === 0) return { jobs: first.jobs, shortfalls: first.shortfalls }
  const jobs = [first, ...others].flatMap((answer) => answer.jobs)
  const shortfalls = [first, ...others].flatMap((answer) => answer.shortfalls)
  if (demand.length === 1) return { jobs, shortfalls }
  const places = new Map(demand.map(({ type }, i) => [type, i]))
  const sorted = <T extends { readonly type: string }>(items: readonly T[]): T[] =>
    items.toSorted((a, b) => (places.get(a.type) ?? 0) - (places.get(b.type) ?? 0))
  return { jobs: sorted(jobs), shortfalls: sorted(shortfalls) }
}
