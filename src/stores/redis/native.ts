/**
 * The most frequent writes as scripts of their own, where the chart's table decides everything: claims, inserts of new
 * jobs that find room, ends of attempts of plain jobs. They take one round trip. All other cases are left to the core.
 */
import { shortfallOf } from '../../core/claim.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { failureOf } from '../../core/fingerprint.ts'
import { statesTagged, countersAfter, nextArrow, type JobState } from '../../core/lifecycle.ts'
import type { Settlement } from '../../core/settlement.ts'
import type {
  ClaimAnswer,
  ClaimedJob,
  ClaimRequest,
  Demand,
  HeartbeatPayload,
  RateLimit,
  SettleAnswer,
  Shortfall,
  Store,
} from '../../store.ts'
import type { RemoteDriver } from '../remote/driver.ts'
import type { LeasedRows } from '../remote/leased-rows.ts'
import { discardAside, extendPart, insertPart, settlePart, writesOf } from '../remote/operations.ts'
import { insertParts, joined, partMax, partsOf, wholeRowsMax } from '../remote/parts.ts'
import type { Reply } from './connection.ts'
import { texts } from './loading.ts'
import type { PlainClaim, PlainEnds } from './exchange.ts'
import { claimFrom, entryEnd, finished } from './grown.ts'
import { separator } from './history-text.ts'
import { insertNew, RowTexts } from './insert.ts'
import { claimedGrown, claimedWhole, GrownRow, type Beside, type ClaimOfType } from './records.ts'
import { flagLetters, inlineMax, scriptText, StoredRow, textOf, textOfScript } from './row-text.ts'
import { claimed } from './scripts/claim.ts'
import { plainMax } from './scripts/exchange-plain.ts'
import { plainEvents } from './scripts/settle.ts'
import { prune, retain } from './prune.ts'
import type { Redis, UnreadJob } from './server.ts'

/**
 * The writes of the store.
 * @param native where it is false, a test compares the scripts with the way of the core
 */
export function redisWritesOf(opened: () => Redis, native: boolean): Pick<Store, Writes> {
  const writes = writesOf(() => opened().driver)
  const rows = new RowTexts()
  return {
    ...writes,
    async insert(requests) {
      const { server, driver } = opened()
      const parts = insertParts(requests)
      const inLine = parts.length === 1
      return joined(parts, (part) =>
        insertPart(driver, part, native ? { attempt: () => insertNew(server, rows, part), inLine } : undefined),
      )
    },
    claim: async (request) => claim(opened(), request),
    async settle(settlements) {
      const redis = opened()
      return joined(
        partsOf(settlements, ({ output }) => output, weightOf),
        (part) => (native && maySettle(redis, part) ? settlePlain(redis, part) : settlePart(redis.driver, part)),
      )
    },
    async extend(request) {
      const { server, driver } = opened()
      const seen = driver.inLine(() => server.seen(request.worker))
      const extended = joined(partsOf(request.heartbeats), (part) =>
        extendPart(driver, part, request.leaseMs, {
          first: () => extendClaims(opened(), part, request.leaseMs),
        }),
      )
      const [answers] = await Promise.all([extended, seen])
      return answers
    },
    async discard(ids) {
      const { server, driver } = opened()
      return discardAside(await writes.discard(ids), (left) => driver.inTurn(() => server.dropAside(left)))
    },
    retain: async (policies) => retain(opened(), policies),
    prune: async (limit) => prune(opened(), limit),
  }
}

type Writes = keyof ReturnType<typeof writesOf> | 'insert' | 'claim' | 'settle' | 'extend' | 'retain' | 'prune'

const timed = statesTagged('timed')

// ── settle ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const plain: ReadonlySet<string> = new Set(plainEvents)
/** The row of a failed job is written whole, with its error in three places. */
const weightOf = ({ error }: Settlement): number => (error === undefined ? 1 : partMax / wholeRowsMax)
/** Rows with these letters are left to the core. */
const notPlain = [flagLetters.machine, flagLetters.key]

/**
 * May these be settled by the script? This process must have claimed them, so that it knows their fields; the script
 * itself checks for changes by other processes.
 */
function maySettle({ driver }: Redis, settlements: readonly Settlement[]): boolean {
  const ids = new Set<string>()
  for (const settlement of settlements) {
    const { id, event, logs, checkpoint, cancelTaken, unsupported, gather, outcome } = settlement
    const isOfMachine =
      checkpoint !== undefined || cancelTaken === true || gather !== undefined || outcome !== undefined
    if (
      isOfMachine ||
      unsupported !== undefined ||
      !plain.has(event) ||
      (logs !== undefined && logs.length > 0) ||
      ids.has(id)
    )
      return false
    ids.add(id)
    const row = driver.leased.of(id)
    if (row instanceof GrownRow && event === 'COMPLETE') continue
    const stored = row instanceof GrownRow ? row.stored : row
    if (!(stored instanceof StoredRow) || notPlain.some((letter) => stored.has.includes(letter))) return false
    if (event === 'FAIL' && stored.field('onDead') !== '') return false
  }
  return true
}

/** What the scripts get that end attempts, and the settlements in the order in which they do them. */
interface SettleCall {
  readonly types: readonly string[]
  /** The arguments of the script `settle`. */
  readonly items: () => string[]
  readonly order: readonly number[]
  /** How many of the first are ends of jobs whose rows grow. */
  readonly done: number
  /** Null: there are others. */
  readonly plain: PlainEnds | null
}

function settleCall({ leased }: RemoteDriver, settlements: readonly Settlement[]): SettleCall {
  const runs = new Map<ClaimOfType, number[]>()
  const types = new Set<string>()
  const others: number[] = []
  const texts: string[] = []
  for (const [i, settlement] of settlements.entries()) {
    const row = leased.of(settlement.id)
    const output = (texts[i] = textOf(settlement.output))
    if (row instanceof GrownRow && isDone(settlement, row.claim.token) && output.length <= inlineMax) {
      types.add(row.claim.type)
      const run = runs.get(row.claim)
      if (run === undefined) runs.set(row.claim, [i])
      else run.push(i)
    } else others.push(i)
  }
  const grown = [...runs.values()].flat()
  const ids = grown.map((i) => (settlements[i] as Settlement).id)
  const outputs = grown.flatMap((i, place) => (texts[i] === '' ? [] : [String(place + 1), texts[i] as string]))
  const items = (): string[] => [
    String(runs.size),
    ...runArguments(runs),
    ...ids,
    ...(runs.size > 0 ? [String(outputs.length / 2), ...outputs] : []),
    ...others.flatMap((i) => otherArguments(settlements[i] as Settlement)),
  ]
  const plain = others.length === 0 ? plainEndsOf(runs, ids, outputs) : null
  return { types: [...types], items, order: [...grown, ...others], done: grown.length, plain }
}

const runArguments = (runs: ReadonlyMap<ClaimOfType, readonly number[]>): string[] =>
  [...runs].flatMap(([{ suffix, name, type, worker, startedAt }, { length }]) => [
    suffix,
    name,
    scriptText(type),
    scriptText(worker),
    JSON.stringify(worker),
    String(startedAt),
    String(length),
  ])

const otherArguments = ({ id, token, attempt, event, to, fatal, ...rest }: Settlement): string[] => [
  id,
  scriptText(token),
  String(attempt),
  `${event} ${to}${fatal === true ? '!' : ''}`,
  extrasOf(rest),
]

/** Null if they are too many, of several workers, or have ids that a list of them as one text cannot have. */
function plainEndsOf(
  runs: ReadonlyMap<ClaimOfType, readonly number[]>,
  ids: readonly string[],
  outputs: readonly string[],
): PlainEnds | null {
  const [worker, ...otherWorkers] = new Set(runs.keys().map((claim) => claim.worker))
  if (worker === undefined || otherWorkers.length > 0 || ids.length > plainMax.ends) return null
  if (ids.some((id) => id.includes(separator))) return null
  return { worker, runs: [...runs].map(([claim, { length }]) => ({ claim, amount: length })), ids, outputs }
}

/** Is it the end of a job that has nothing but an output? */
const isDone = (settlement: Settlement, token: string): boolean =>
  settlement.event === 'COMPLETE' &&
  settlement.to === finished &&
  settlement.attempt === 1 &&
  settlement.token === token &&
  settlement.checkin === undefined &&
  settlement.reason === undefined &&
  settlement.error === undefined &&
  settlement.delayMs === undefined

async function settlePlain({ server, driver }: Redis, settlements: readonly Settlement[]): Promise<SettleAnswer[]> {
  const { order, done, ...ends } = settleCall(driver, settlements)
  const [base, now, unexpected] = await driver.inLine(() => server.exchange.end(ends))
  const others = new Map((unexpected as readonly (readonly Reply[])[]).map(([i, ...other]) => [Number(i), other]))
  const at = Number(now)
  let seq = Number(base)
  const answers: SettleAnswer[] = []
  const left: number[] = []
  for (let place = 0; place < order.length; place++) {
    const i = order[place] as number
    const settlement = settlements[i] as Settlement
    const other = others.get(place)
    driver.leased.forget(settlement.id)
    if (other === undefined && place < done) answers[i] = doneAnswer(++seq, at)
    else if (other === undefined) answers[i] = expected(settlement, ++seq, at)
    else if (other[0] === 'generic') left.push(i)
    else if (other[0] === 'lost') answers[i] = lostAnswer(settlement)
    else answers[i] = unexpectedAnswer(other, ++seq, at)
  }
  if (left.length > 0) {
    const byCore = await settlePart(
      driver,
      left.map((i) => settlements[i] as Settlement),
    )
    for (const [k, i] of left.entries()) answers[i] = byCore[k] as SettleAnswer
  }
  return answers
}

function unexpectedAnswer([, from, to, attempt, due]: readonly Reply[], seq: number, at: number): SettleAnswer {
  return {
    outcome: 'settled',
    seq,
    at,
    from: from as JobState,
    to: to as JobState,
    attempt: Number(attempt),
    dueAt: due === '' ? null : Number(due),
  }
}

const extrasOf = ({ delayMs, output, error, checkin, reason }: Partial<Settlement>): string =>
  delayMs === undefined && output === undefined && error === undefined && checkin === undefined && reason === undefined
    ? ''
    : `${delayMs ?? ''}\0${textOf(output)}\0${textOf(checkin)}\0${textOf(reason)}\0${textOf(error)}\0${groupOf(error)}\0`

/** The group of an error. */
function groupOf(error: ErrorRecord | undefined): string {
  if (error === undefined) return ''
  const { code, ...failure } = failureOf(error)
  return JSON.stringify({ ...failure, ...(code !== null && { code }) })
}

/** The answer to a settlement of a job that was still in the state of a claimed one. */
function expected({ event, to, attempt, fatal, delayMs }: Settlement, seq: number, at: number): SettleAnswer {
  const counters = { attempt, maxAttempts: to === 'retrying' ? attempt + 1 : attempt, generation: 1 }
  const arrow = nextArrow(claimed, event, counters, fatal)
  const spent = arrow === null ? attempt : countersAfter(arrow, counters).attempt
  const dueAt = timed.has(to) ? Math.ceil(at + (delayMs ?? 0)) : null
  return { outcome: 'settled', seq, at, from: claimed, to, attempt: spent, dueAt }
}

/** The answer to the end of a job whose row grows. */
const doneAnswer = (seq: number, at: number): SettleAnswer => ({
  outcome: 'settled',
  seq,
  at,
  from: claimed,
  to: finished,
  attempt: 1,
  dueAt: null,
})

const lostAnswer = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: claimed,
  to,
  attempt,
  dueAt: null,
})

// ── heartbeats ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Extends the leases of claims of which all jobs are named, and nothing else. @returns the heartbeats of these */
async function extendClaims(
  { server, driver }: Redis,
  heartbeats: readonly HeartbeatPayload[],
  leaseMs: number,
): Promise<ReadonlySet<HeartbeatPayload>> {
  const bare = heartbeats.filter((heartbeat) => isBare(driver.leased, heartbeat))
  if (bare.length === 0) return new Set()
  const nameOf = ({ id }: HeartbeatPayload): string => (driver.leased.of(id) as GrownRow).claim.name
  const claims = [...Map.groupBy(bare, nameOf)]
  const args = claims.flatMap(([name, those]) => [name, String(those.length), ...those.map(({ id }) => id)])
  const [, done] = await server.run('extend', [String(leaseMs), ...args])
  return new Set(claims.flatMap(([, those], i) => ((done as readonly Reply[])[i] === 1 ? those : [])))
}

/** A job to which nothing has happened since its claim, and a heartbeat that says nothing else. */
function isBare(leased: LeasedRows, { id, token, attempt, ...rest }: HeartbeatPayload): boolean {
  const row = leased.of(id)
  const { checkin, logs, steps, lastMessageNumber } = rest
  return (
    row instanceof GrownRow &&
    row.claim.token === token &&
    attempt === 1 &&
    checkin === undefined &&
    (logs === undefined || logs.length === 0) &&
    steps === undefined &&
    lastMessageNumber === undefined
  )
}

// ── claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const claim = (redis: Redis, { worker, leaseMs, token, startedAt, demand }: ClaimRequest): Promise<ClaimAnswer> =>
  redis.driver.inLine(async () => {
    const request = {
      worker: scriptText(worker),
      workerText: JSON.stringify(worker),
      leaseMs,
      token: scriptText(token),
      tokenPlain: token,
      tokenText: JSON.stringify(token),
      ...(startedAt !== undefined && { since: startedAt }),
      demand: demand.map(demandForScript),
    }
    const plain = isPlainClaim(demand) ? { worker, token, leaseMs, demands: demand.map(plainDemand) } : null
    return claimParts(redis, request, demand, plain)
  })

/** Has it no limit, and is it one call? */
const isPlainClaim = (demand: readonly Demand[]): boolean =>
  demand.reduce((sum, { max }) => sum + max, 0) <= plainMax.claims &&
  demand.every(
    ({ limits: { concurrency, perKey, rate, keyRate }, keyShares }) =>
      concurrency === null && perKey === null && rate === null && keyRate === undefined && keyShares !== true,
  )

const plainDemand = ({ type, max, maxAttempts, onDead }: Demand): PlainClaim['demands'][number] => ({
  type,
  max,
  tail: `,${maxAttempts ?? null},${JSON.stringify(onDead ?? null)}${entryEnd}`,
})

/** What most demands do not have is left out. */
interface ScriptDemand {
  readonly type: string
  readonly max: number
  concurrency?: number
  perKey?: number
  rate?: RateLimit
  keyRate?: RateLimit
  keyShares?: true
  maxAttempts?: string
  onDead?: string
  onDeadText?: string
}

function demandForScript({ type, max, limits, maxAttempts, keyShares, onDead }: Demand): ScriptDemand {
  const { concurrency, perKey, rate, keyRate } = limits
  const made: ScriptDemand = { type: scriptText(type), max }
  if (concurrency !== null) made.concurrency = concurrency
  if (perKey !== null) made.perKey = perKey
  if (rate !== null) made.rate = rate
  if (keyRate !== undefined) made.keyRate = keyRate
  if (keyShares === true) made.keyShares = keyShares
  if (maxAttempts !== undefined) made.maxAttempts = String(maxAttempts)
  if (onDead !== undefined) {
    made.onDead = scriptText(onDead)
    made.onDeadText = JSON.stringify(onDead)
  }
  return made
}

interface ScriptClaim {
  readonly worker: string
  readonly tokenPlain: string
  readonly demand: readonly ScriptDemand[]
}

/** Claims what is asked for, in scripts of a bounded number of jobs and bytes. */
async function claimParts(
  { server, driver }: Redis,
  request: ScriptClaim,
  demands: readonly Demand[],
  plain: PlainClaim | null,
): Promise<ClaimAnswer> {
  const jobs: ClaimedJob[] = []
  const shortfalls: Shortfall[] = []
  const unreadable: string[] = []
  for (let { demand } = request; ;) {
    const answer = await server.exchange.claim({
      types: demands.map(({ type }) => type),
      request: () => JSON.stringify({ ...request, demand }),
      // The rest of a claim that was cut has the same token.
      plain: demand === request.demand ? plain : null,
    })
    const [, , , , , reasons, cut, aside] = answer
    const { claimed, unread } = claimedJobs(answer, request)
    for (const { job, row } of claimed) driver.leased.keep(job.id, row)
    if (unread.length > 0) await server.setClaimedAside(unread, request.worker)
    unreadable.push(...texts(aside), ...unread.map(({ id }) => id))
    for (const { job } of claimed) jobs.push(job)
    shortfalls.push(...(reasons as readonly Reply[]).map((facts) => shortfallFrom(demands, facts as readonly Reply[])))
    const types = new Set(cut as readonly Reply[])
    if (types.size === 0) return { jobs, shortfalls, ...(unreadable.length > 0 && { unreadable }) }
    const counts = Map.groupBy(claimed, ({ job }) => scriptText(job.type))
    demand = demand
      .filter(({ type }) => types.has(type))
      .map((each) => ({ ...each, max: each.max - (counts.get(each.type)?.length ?? 0) }))
  }
}

interface ClaimedJobs {
  readonly claimed: readonly NonNullable<ReturnType<typeof claimedWhole>>[]
  /** Jobs that cannot be read. */
  readonly unread: readonly UnreadJob[]
}

/** The jobs in the answer of the script `claim`. */
function claimedJobs(answer: readonly Reply[], request: ScriptClaim): ClaimedJobs {
  const [base, ids, rows, runs, beside] = answer as readonly [string, string[], string[], (string | number)[], Reply[]]
  const besideOf = new Map(
    beside.map((each) => {
      const [place, ...rest] = each as readonly Reply[]
      return [Number(place), rest as unknown as Beside]
    }),
  )
  const claimed: NonNullable<ReturnType<typeof claimedWhole>>[] = []
  const unread: UnreadJob[] = []
  let place = 0
  for (let run = 0; run < runs.length; run += 3) {
    const [type, suffix] = [runs[run + 1] as string, runs[run + 2] as string]
    const claim = suffix === '' ? null : claimOfType(textOfScript(type), suffix, request)
    const end = place + Number(runs[run])
    for (; place < end; place++) {
      const [id, text] = [ids[place] as string, rows[place] as string]
      const job =
        claim === null
          ? claimedWhole(id, text, besideOf.get(place + 1) ?? nothingBeside)
          : claimedGrown(id, text, Number(base) + place + 1, claim)
      if (job === null) unread.push({ id, type, claim: claim?.name ?? '' })
      else claimed.push(job)
    }
  }
  return { claimed, unread }
}

const nothingBeside: Beside = [[], [], '', []]

function claimOfType(type: string, suffix: string, { worker, tokenPlain: token }: ScriptClaim): ClaimOfType {
  const { at, leaseEnd, maxAttempts } = claimFrom(suffix)
  return {
    type,
    suffix,
    token,
    worker: textOfScript(worker),
    name: `${leaseEnd} ${token}`,
    startedAt: at,
    maxAttempts,
    common: null,
  }
}

/** Why a type gave fewer jobs than were asked for, by the rules of the core. */
function shortfallFrom(demands: readonly Demand[], facts: readonly Reply[]): Shortfall {
  const [type, paused, ...numbers] = facts
  const [queued = 0, leasedCount = 0, open, keysAt, rateFree = 0, rateAt] = numbers.map(numberOrNull)
  const demand = demands.find((each) => each.type === textOfScript(String(type)))
  if (demand === undefined) throw new TypeError(`a claim has answered for ${String(type)}, which was not asked for`)
  return shortfallOf(demand, {
    queue: { paused: paused === 1, queued: queued ?? 0, leasedCount: leasedCount ?? 0, capped: false },
    freeClaims: () => Math.max(0, rateFree ?? 0),
    freeAt: () => rateAt ?? 0,
    hasOpenKey: () => open === 1,
    keysFreeAt: () => keysAt ?? null,
  })
}

const numberOrNull = (reply: Reply): number | null => (reply === '' || reply === null ? null : Number(reply))
