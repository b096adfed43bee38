/**
 * The most frequent writes as scripts of their own, where the chart's table decides everything: claims, inserts of new
 * jobs that find room, ends of attempts of plain jobs. They take one round trip. All other cases are left to the core.
 */
import { shortfallOf } from '../../core/claim.ts'
import { bornReady, bornTimed } from '../../core/insert.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { failureOf } from '../../core/fingerprint.ts'
import { JobRow, Terms, Tick } from '../../core/job-row.ts'
import { statesTagged, countersAfter, nextArrow, type JobState } from '../../core/lifecycle.ts'
import type { Settlement } from '../../core/settlement.ts'
import type {
  ClaimAnswer,
  ClaimedJob,
  ClaimRequest,
  Demand,
  InsertAnswer,
  InsertRequest,
  NewJob,
  SettleAnswer,
  Shortfall,
  Store,
} from '../../store.ts'
import { keyName } from '../remote/cells.ts'
import { insertPart, settlePart, writesOf } from '../remote/operations.ts'
import { insertParts, joined, partsOf } from '../remote/parts.ts'
import type { Reply } from './connection.ts'
import { texts } from './loading.ts'
import { claimedFrom } from './records.ts'
import { flagLetters, headFields, rowTextOf, scriptText, StoredRow, textOfScript } from './row-text.ts'
import { claimed } from './scripts/claim.ts'
import { plainEvents } from './scripts/settle.ts'
import { prune, retain } from './prune.ts'
import type { Redis, RedisServer } from './server.ts'

/**
 * The writes of the store.
 * @param native where it is false, a test compares the scripts with the way of the core
 */
export function redisWritesOf(opened: () => Redis, native: boolean): Pick<Store, Writes> {
  const writes = writesOf(() => opened().driver)
  return {
    ...writes,
    async insert(requests) {
      const { server, driver } = opened()
      return joined(insertParts(requests), (part) =>
        insertPart(driver, part, native ? () => insertNew(server, part) : undefined),
      )
    },
    claim: async (request) => claim(opened(), request),
    async settle(settlements) {
      const redis = opened()
      return joined(
        partsOf(settlements, ({ output }) => output),
        (part) => (native && maySettle(redis, part) ? settlePlain(redis, part) : settlePart(redis.driver, part)),
      )
    },
    async extend(request) {
      const { server, driver } = opened()
      const seen = driver.inLine(() => server.seen(request.worker))
      const [answers] = await Promise.all([writes.extend(request), seen])
      return answers
    },
    async discard(ids) {
      const answer = await writes.discard(ids)
      if (answer.notFound.length === 0) return answer
      // Jobs that cannot be read are found by nothing but their ids.
      const { server, driver } = opened()
      const dropped = await driver.inTurn(() => server.dropAside(answer.notFound))
      const notFound = answer.notFound.filter((id) => !dropped.includes(id))
      return { ...answer, discarded: [...answer.discarded, ...dropped], notFound }
    },
    retain: async (policies) => retain(opened(), policies),
    prune: async (limit) => prune(opened(), limit),
  }
}

type Writes = keyof ReturnType<typeof writesOf> | 'claim' | 'retain' | 'prune'

const timed = statesTagged('timed')

// ── insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The first field of a new row's head that is not written by the script. */
const ownFields = headFields.indexOf('attempt')

/** @returns null if the core has to decide; then nothing was written */
async function insertNew(server: RedisServer, requests: readonly InsertRequest[]): Promise<InsertAnswer[][] | null> {
  const args = insertArgsOf(requests)
  if (args === null) return null
  const [outcome, base, now] = await server.run('insert', args)
  if (outcome === 'generic') return null
  const at = Number(now)
  let seq = Number(base)
  return requests.map(({ jobs }) =>
    jobs.map(({ id, runAt, delayMs }) => {
      const due = Math.ceil(runAt ?? at + delayMs)
      const dueAt = due > at ? due : null
      return { outcome: 'inserted', id, state: dueAt === null ? bornReady : bornTimed, seq: ++seq, at, dueAt }
    }),
  )
}

function insertArgsOf(requests: readonly InsertRequest[]): string[] | null {
  const rooms = new Map<string | null, number>()
  const counts = new Map<string | null, number>()
  const ids = new Set<string>()
  const names = new Set<string>()
  const args: string[] = []
  const common = new CommonRows()
  let last = 0
  for (const { jobs, capacity, queue } of requests) {
    // Jobs that are handed over need a free slot.
    if (queue?.capacity === 0) return null
    for (const job of jobs) {
      const name = job.key === null ? '' : keyName(job.type, job.key)
      if (!isPlain(job) || ids.has(job.id) || names.has(name)) return null
      ids.add(job.id)
      if (name !== '') names.add(name)
      for (const type of [null, job.type]) counts.set(type, (counts.get(type) ?? 0) + 1)
      try {
        const row = common.indexOf(job, name)
        const own = `${dueText(job)}\n${name}\n${textOf(job.meta)}`
        args.push(job.id, textOf(job.input), row === last && own === '\n\n' ? '' : `${row} ${own}`)
        last = row
      } catch {
        // The core reports which job cannot be written, for that request alone.
        return null
      }
    }
    const limits: [string | null, number | undefined | null][] = [
      [null, capacity],
      [queue?.type ?? null, queue?.capacity],
    ]
    for (const [type, limit] of limits) {
      const room = limit === undefined || limit === null ? Infinity : limit - (counts.get(type) ?? 0)
      if (jobs.length > 0 && room < (rooms.get(type) ?? Infinity)) rooms.set(type, room)
    }
  }
  const queueRooms = [...rooms].flatMap(([type, room]) => (type === null ? [] : [[scriptText(type), room]]))
  const terms = { room: rooms.get(null), ...(queueRooms.length > 0 && { queueRooms }) }
  return [JSON.stringify(terms), String(common.rows.length), ...common.rows, ...args]
}

const isPlain = ({ parent, version, checkpoint }: NewJob): boolean =>
  parent === undefined && version === undefined && checkpoint === undefined

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const dueText = ({ runAt, delayMs }: NewJob): string =>
  runAt !== null ? String(runAt) : delayMs > 0 ? `+${delayMs}` : ''

/** The rows of new jobs, from `attempt` on: each is sent once. */
class CommonRows {
  readonly rows: string[] = []
  private readonly indexes = new Map<string, number>()
  private last: NewJob | null = null
  private lastIndex = 0

  /** The index of the row of a job; the first is 1. */
  indexOf(job: NewJob, name: string): number {
    if (this.last !== null && name === '' && haveOneRow(job, this.last)) return this.lastIndex
    const row = rowOf(job)
    const index = this.indexes.get(row) ?? this.rows.push(row)
    this.indexes.set(row, index)
    this.last = name === '' ? job : null
    return (this.lastIndex = index)
  }
}

/** Two jobs without a unique key: is it clear that they have the same row? */
const haveOneRow = (one: NewJob, other: NewJob): boolean =>
  one.type === other.type &&
  one.priority === other.priority &&
  one.maxAttempts === other.maxAttempts &&
  one.concurrencyKey === other.concurrencyKey &&
  one.keyWeight === other.keyWeight &&
  one.pins === other.pins &&
  (one.tags === other.tags || one.tags.length + other.tags.length === 0) &&
  (one.input === undefined) === (other.input === undefined) &&
  (one.meta === undefined) === (other.meta === undefined)

const noTick = new Tick(0)

/** The row of a new job, from `attempt` on. */
function rowOf(job: NewJob): string {
  const { head, rest } = rowTextOf(new JobRow(job, new Terms({ ...job, meta: job.meta ?? null }), bornReady, 0, noTick))
  return [...head.slice(ownFields), rest].join('\0')
}

// ── settle ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const plain: ReadonlySet<string> = new Set(plainEvents)
/** Rows with these letters are left to the core. */
const notPlain = [flagLetters.machine, flagLetters.key]

/**
 * May these be settled by the script? This process must have claimed them, so that it knows their fields; the script
 * itself checks for changes by other processes.
 */
function maySettle({ driver }: Redis, settlements: readonly Settlement[]): boolean {
  const ids = new Set<string>()
  for (const { id, event, logs, checkpoint, cancelTaken, unsupported, gather, outcome } of settlements) {
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
    const row = driver.leased.of(id)
    if (!(row instanceof StoredRow) || notPlain.some((letter) => row.has.includes(letter))) return false
    if (event === 'FAIL' && row.field('onDead') !== '') return false
    ids.add(id)
  }
  return true
}

async function settlePlain({ server, driver }: Redis, settlements: readonly Settlement[]): Promise<SettleAnswer[]> {
  const args: string[] = []
  for (const { id, token, attempt, event, to, fatal, ...rest } of settlements) {
    args.push(id, scriptText(token), String(attempt), `${event} ${to}${fatal === true ? '!' : ''}`, extrasOf(rest))
  }
  const [base, now, unexpected] = await driver.inLine(() => server.exchange.settle(args))
  const others = new Map((unexpected as readonly (readonly Reply[])[]).map(([i, ...other]) => [Number(i), other]))
  const left = settlements.filter((_, i) => others.get(i)?.[0] === 'generic')
  const byCore = left.length === 0 ? [] : await settlePart(driver, left)
  const at = Number(now)
  let seq = Number(base)
  return settlements.map((settlement, i) => {
    const other = others.get(i)
    if (other?.[0] === 'generic') return byCore.shift() as SettleAnswer
    driver.leased.forget(settlement.id)
    if (other === undefined) return expected(settlement, ++seq, at)
    const [outcome, from, to, attempt, due] = other
    if (outcome === 'lost') return lostAnswer(settlement)
    const dueAt = due === '' ? null : Number(due)
    return {
      outcome: 'settled',
      seq: ++seq,
      at,
      from: from as JobState,
      to: to as JobState,
      attempt: Number(attempt),
      dueAt,
    }
  })
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

const lostAnswer = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: claimed,
  to,
  attempt,
  dueAt: null,
})

// ── claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const claim = (redis: Redis, { worker, leaseMs, token, startedAt, demand }: ClaimRequest): Promise<ClaimAnswer> =>
  redis.driver.inLine(async () => {
    const request = {
      worker: scriptText(worker),
      workerText: JSON.stringify(worker),
      leaseMs,
      token: scriptText(token),
      ...(startedAt !== undefined && { since: startedAt }),
      demand: demand.map(({ type, max, limits, maxAttempts, keyShares, onDead }) => ({
        type: scriptText(type),
        max,
        ...(limits.concurrency !== null && { concurrency: limits.concurrency }),
        ...(limits.perKey !== null && { perKey: limits.perKey }),
        ...(limits.rate !== null && { rate: limits.rate }),
        ...(limits.keyRate !== undefined && { keyRate: limits.keyRate }),
        ...(keyShares === true && { keyShares }),
        ...(maxAttempts !== undefined && { maxAttempts: String(maxAttempts) }),
        ...(onDead !== undefined && { onDead: scriptText(onDead) }),
      })),
    }
    return claimParts(redis, request, demand)
  })

interface ScriptDemand {
  readonly type: string
  readonly max: number
}

/** Claims what is asked for, in scripts of a bounded number of jobs and bytes. */
async function claimParts(
  { server, driver }: Redis,
  request: { readonly demand: readonly ScriptDemand[] },
  demands: readonly Demand[],
): Promise<ClaimAnswer> {
  const jobs: ClaimedJob[] = []
  const shortfalls: Shortfall[] = []
  const unreadable: string[] = []
  for (let { demand } = request; ;) {
    const [found, reasons, cut, aside] = await server.exchange.claim(JSON.stringify({ ...request, demand }))
    const replies = found as readonly (readonly Reply[])[]
    const read = replies.map(claimedFrom)
    const claimed = read.filter((each) => each !== null)
    for (const { job, row } of claimed) driver.leased.keep(job.id, row)
    const unread = replies.flatMap(([id], i) => (read[i] === null ? [String(id)] : []))
    if (unread.length > 0) await server.setAside(unread)
    unreadable.push(...texts(aside), ...unread)
    jobs.push(...claimed.map(({ job }) => job))
    shortfalls.push(...(reasons as readonly Reply[]).map((facts) => shortfallFrom(demands, facts as readonly Reply[])))
    const types = new Set(cut as readonly Reply[])
    if (types.size === 0) return { jobs, shortfalls, ...(unreadable.length > 0 && { unreadable }) }
    const counts = Map.groupBy(claimed, ({ job }) => scriptText(job.type))
    demand = demand
      .filter(({ type }) => types.has(type))
      .map((each) => ({ ...each, max: each.max - (counts.get(each.type)?.length ?? 0) }))
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
