/**
 * Settlements and claims, which go in one script if they are of one turn. Where all of them are plain they go to a
 * script that does nothing else; what that has to look at closer it leaves to the others.
 */
import type { Hint } from '../../store.ts'
import { Exchange } from '../remote/exchange.ts'
import type { Reply } from './connection.ts'
import { typesText } from './figures.ts'
import { scriptText } from './row-text.ts'
import { namedEndsMax } from './scripts/lua.ts'

type Answer = readonly Reply[]

/** Jobs of one claim and type that end, in this place of the list of all. */
interface PlainRun {
  readonly claim: { readonly name: string; readonly type: string; readonly suffix: string; readonly startedAt: number }
  readonly amount: number
}

/** Ends of jobs whose rows grow, and of no others. */
export interface PlainEnds {
  readonly worker: string
  readonly runs: readonly PlainRun[]
  readonly ids: readonly string[]
  /** In pairs: the place of the job in the list, which begins at 1, and its output. */
  readonly outputs: readonly string[]
}

interface Settlements {
  /** Those of the jobs, as far as they are known. */
  readonly types: readonly string[]
  /** The arguments of the script `settle`. */
  readonly items: () => readonly string[]
  /** Null: not all of them are plain. */
  readonly plain: PlainEnds | null
}

/** A demand without limits. */
interface PlainDemand {
  readonly type: string
  readonly max: number
  /** What the claim appends to a row behind the end of the lease. */
  readonly tail: string
}

/** A claim of types without limits. */
export interface PlainClaim {
  readonly worker: string
  readonly token: string
  readonly leaseMs: number
  readonly demands: readonly PlainDemand[]
}

interface Claim {
  readonly types: readonly string[]
  /** The argument of the script `claim`. */
  readonly request: () => string
  /** Null: it is not plain, or goes on. */
  readonly plain: PlainClaim | null
}

/** The server, as far as it is called here. */
interface ExchangeCalls {
  /** Runs a script; gives what follows the time and the wake-ups in its answer. */
  run(name: 'settle' | 'claim' | 'exchange', request: readonly string[]): Promise<Answer>
  /** Runs the script of plain ends and claims; null if it wrote nothing, because another has to look closer. */
  runPlain(request: readonly string[]): Promise<PlainAnswer | null>
  /** Tells those who watch here. */
  notify(hints: readonly Hint[]): void
}

/** The answer of the script of plain ends and claims. */
export interface PlainAnswer {
  /** The time of its transitions. */
  readonly at: string
  /** The number before the first of them. */
  readonly base: number
  readonly ids: Reply
  readonly rows: Reply
  /** Of each part of them how many, their type, and what was appended to their rows. */
  readonly runs: readonly Reply[]
  /** Of each demand how many jobs are queued. */
  readonly left: readonly Reply[]
}

/**
 * After a call that another script had to look at closer, the next goes there at once, then the next two, and so on, as
 * long as it is in vain; up to so many.
 */
const othersMax = 32

export class RedisExchange extends Exchange<Settlements, Claim, Answer, Answer> {
  private readonly calls: ExchangeCalls
  /** How many calls go to the other scripts at once. */
  private others = 0
  /** How many the last refusal has sent there. */
  private lastOthers = 0

  constructor(calls: ExchangeCalls) {
    super()
    this.calls = calls
  }

  protected send(ends: Settlements | null, claim: Claim | null): Promise<readonly [Answer, Answer]> {
    return this.mayBePlain(ends, claim) ? this.sendPlain(ends, claim) : this.sendAny(ends, claim)
  }

  private mayBePlain(ends: Settlements | null, claim: Claim | null): boolean {
    if (ends?.plain === null || claim?.plain === null) return false
    if (ends !== null && claim !== null && ends.plain?.worker !== claim.plain?.worker) return false
    if (this.others === 0) return true
    this.others--
    return false
  }

  private async sendAny(ends: Settlements | null, claim: Claim | null): Promise<readonly [Answer, Answer]> {
    const items = ends?.items() ?? []
    if (claim === null) return [await this.calls.run('settle', [typesText(ends?.types ?? []), ...items]), []]
    if (ends === null) return [[], await this.calls.run('claim', [typesText(claim.types), claim.request()])]
    const all = typesText(new Set([...ends.types, ...claim.types]))
    const [settled, claimed] = await this.calls.run('exchange', [all, claim.request(), ...items])
    return [settled as Answer, claimed as Answer]
  }

  private async sendPlain(ends: Settlements | null, claim: Claim | null): Promise<readonly [Answer, Answer]> {
    const own = { ends: ends?.plain ?? null, claim: claim?.plain ?? null }
    const answer = await this.calls.runPlain(argumentsOf(own.ends, own.claim))
    this.lastOthers = answer === null ? Math.min(2 * this.lastOthers || 1, othersMax) : 0
    this.others = this.lastOthers
    if (answer === null) return this.sendAny(ends, claim)
    const { at, base, ids, rows, runs } = answer
    const ended = own.ends?.ids ?? []
    const { ready, shortfalls } = foundOf(own.claim?.demands ?? [], answer)
    const hints = [...(ended.length > 0 ? [endedHint(ended)] : []), ...ready]
    if (hints.length > 0) this.calls.notify(hints)
    return [
      [base, at, []],
      [base + ended.length, ids, rows, runs, [], shortfalls, [], []],
    ]
  }
}

const endedHint = (ids: readonly string[]): Hint =>
  ids.length > namedEndsMax ? { kind: 'ended' } : { kind: 'ended', ids: [...ids] }

function argumentsOf(ends: PlainEnds | null, claim: PlainClaim | null): string[] {
  const places = new Map<string, string>()
  const placeOf = (type: string): string => {
    const place = places.get(type) ?? String(places.size + 1)
    places.set(type, place)
    return place
  }
  const claims = new Map<string, number>()
  const runs: string[] = []
  const startedAt: number[] = []
  for (const { claim: own, amount } of ends?.runs ?? []) {
    const place = claims.get(own.name) ?? claims.size + 1
    claims.set(own.name, place)
    startedAt[place - 1] = own.startedAt
    runs.push(own.suffix, placeOf(own.type), String(place), String(amount))
  }
  const demands = (claim?.demands ?? []).flatMap(({ type, max, tail }) => [placeOf(type), String(max), tail])
  const ids = ends?.ids ?? []
  const worker = ends?.worker ?? claim?.worker ?? ''
  const token = claim?.token ?? ''
  return [
    typesText(places.keys()),
    String(runs.length / 4),
    String(claims.size),
    String(demands.length / 3),
    scriptText(worker),
    JSON.stringify(worker),
    token,
    JSON.stringify(token),
    String(claim?.leaseMs ?? 0),
    ids.join('\0'),
    ids.length === 0 ? '' : JSON.stringify(endedHint(ids)),
    ...runs,
    ...[...claims].flatMap(([name, place]) => [name, String(startedAt[place - 1])]),
    ...demands,
    ...(ends?.outputs ?? []),
  ]
}

/** What the demands of a claim have found: of which types there is more, and why others gave fewer jobs. */
function foundOf(
  demands: readonly PlainDemand[],
  { runs, left }: PlainAnswer,
): { readonly ready: readonly Hint[]; readonly shortfalls: readonly Reply[] } {
  const ready: Hint[] = []
  const shortfalls: Reply[] = []
  let run = 0
  for (const [i, { type, max }] of demands.entries()) {
    const queued = Number(left[i])
    const name = scriptText(type)
    const isOwn = runs[run + 1] === name
    const taken = isOwn ? Number(runs[run]) : 0
    if (isOwn) run += 3
    if (taken < max) shortfalls.push([name, 0, queued])
    else if (queued > 0) ready.push({ kind: 'ready', type, atMost: queued })
  }
  return { ready, shortfalls }
}
