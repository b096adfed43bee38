/** The writes of the store: each an operation of the core in a unit, and what is known beforehand of what it needs. */
import { discard, discardable, retry, retryable } from '../../core/admin.ts'
import { cancel, cancellable } from '../../core/cancel.ts'
import { shortfallOf } from '../../core/claim.ts'
import { checkpoint } from '../../core/checkpoint.ts'
import { extend } from '../../core/extend.ts'
import {
  cancelFailed,
  checkpointFailed,
  fireScheduleFailed,
  heartbeatFailed,
  insertFailed,
  putScheduleFailed,
  reindexFailed,
  sendFailed,
  settleFailed,
} from '../../core/failures.ts'
import { send } from '../../core/inbox.ts'
import { insert } from '../../core/insert.ts'
import { roughSize, type Json } from '../../core/payload.ts'
import { reindex } from '../../core/reindex.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import type { JobState } from '../../core/lifecycle.ts'
import { settle } from '../../core/settle.ts'
import { promote, rescue } from '../../core/sweep.ts'
import type {
  CancelAnswer,
  CancelRequest,
  ClaimAnswer,
  ClaimedJob,
  ClaimRequest,
  Demand,
  DiscardAnswer,
  InsertRequest,
  InsertAnswer,
  ScheduleStore,
  Selection,
  SettleAnswer,
  Shortfall,
  Store,
  SweepAnswer,
} from '../../store.ts'
import type { Settlement } from '../../core/settlement.ts'
import { changeEach } from './apart.ts'
import { runningBulk, withAbandonedBulk } from './bulk.ts'
import type { Reply } from './connection.ts'
import type { Driver } from './driver.ts'
import { texts } from './loading.ts'
import { insertNew, maySettle, settlePlain } from './native.ts'
import type { Need } from '../remote/needs.ts'
import { pruneEnded, retain } from './prune.ts'
import { claimedFrom } from './records.ts'
import { scriptText, textOfScript } from './row-text.ts'
import type { RemoteUnit } from '../remote/unit.ts'
import type { WorkingSet } from '../remote/working-set.ts'
import { keyName } from '../remote/cells.ts'

/** What one commit writes at most, where a call can be parted: a script holds up every other client. */
const biteMax = 200
/** The same in bytes of inputs; a single request may have more. */
const biteBytesMax = 1_048_576

type Writes =
  | 'insert'
  | 'claim'
  | 'settle'
  | 'extend'
  | 'checkpoint'
  | 'send'
  | 'reindex'
  | 'cancel'
  | 'retry'
  | 'discard'
  | 'promote'
  | 'rescue'
  | 'retain'
  | 'prune'

/** @param native by scripts of their own, where there are; a test compares them with the way of the core */
export const writesOf = (driver: () => Driver, native: boolean): Pick<Store, Writes> => ({
  insert: (requests) => insertAll(driver(), requests, native),
  claim: (request) => claim(driver(), request),
  settle: (settlements) =>
    joined(
      bitesOf(settlements, ({ output }) => output),
      (bite) => settleAll(driver(), bite, native),
    ),
  extend: async ({ worker, leaseMs, heartbeats }) => {
    const seen = driver().inLine(() => driver().seen(worker))
    const [answers] = await Promise.all([
      inBites(heartbeats, (bite) =>
        driver().write((unit) => unit.each(bite, (heartbeat) => extend(unit, heartbeat, leaseMs), heartbeatFailed), {
          believe: believeLeased(driver(), bite),
          needs: rowsOf(bite),
        }),
      ),
      seen,
    ])
    return answers
  },
  checkpoint: (requests) =>
    joined(
      bitesOf(requests, ({ checkpoint: { state } }) => state),
      (bite) =>
        driver().write((unit) => unit.each(bite, (request) => checkpoint(unit, request), checkpointFailed), {
          believe: believeLeased(driver(), bite),
          needs: rowsOf(bite),
        }),
    ),
  send: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => send(unit, request), sendFailed), {
      needs: rowsOf(requests),
    }),
  reindex: (requests) =>
    inBites(requests, (bite) =>
      driver().write((unit) => unit.each(bite, (request) => reindex(unit, request), reindexFailed), {
        needs: rowsOf(bite),
      }),
    ),
  cancel: (requests) =>
    joined(partsOf(requests), (part) =>
      driver().write((unit) => unit.each(part, (request) => cancel(unit, request), cancelFailed), {
        async apart(page) {
          const answers: CancelAnswer[] = []
          for (const request of part) {
            const act = (unit: RemoteUnit): CancelAnswer =>
              unit.each([request], () => cancel(unit, request), cancelFailed)[0] as CancelAnswer
            answers.push(await changeEach(driver(), request.selection, cancellable, page, act))
          }
          return answers
        },
      }),
    ),
  retry: (selection, fromStart = false, dropInbox = 0, edit) =>
    changeSelected(driver(), selection, retryable, (unit) => retry(unit, selection, fromStart, dropInbox, edit)),
  discard: async (selection) => {
    const answer = await changeSelected(driver(), selection, discardable, (unit) => discard(unit, selection))
    return answer.notFound.length === 0 ? answer : withUnreadable(answer, await driver().dropAside(answer.notFound))
  },
  promote: (limit) =>
    sweep(limit, (bite) =>
      driver().write((unit) => promote(unit, bite), { needs: [{ kind: 'timers', of: 'due', limit: bite }] }),
    ),
  rescue: (limit) =>
    sweep(limit, (bite) =>
      driver().write((unit) => withAbandonedBulk(rescue(unit, bite), unit), {
        needs: [{ kind: 'timers', of: 'leases', limit: bite }, runningBulk],
      }),
    ),
  retain: (policies) => retain(driver(), policies),
  async prune(limit) {
    for (let pruned = 0; ;) {
      const answer = await pruneEnded(driver(), Math.min(limit - pruned, biteMax))
      pruned += answer.pruned
      if (!answer.more || pruned >= limit) return { ...answer, pruned }
    }
  },
})

/** Changes the jobs of a selection together, or one by one if others work on them. */
const changeSelected = <A extends object>(
  driver: Driver,
  selection: Selection,
  states: ReadonlySet<JobState>,
  act: (unit: RemoteUnit) => A,
): Promise<A> => driver.write(act, { apart: (page) => changeEach(driver, selection, states, page, act) })

/** Does the items of a call in several commits, in order. */
async function inBites<I, A>(items: readonly I[], act: (bite: readonly I[]) => Promise<A[]>): Promise<A[]> {
  if (items.length <= biteMax) return act(items)
  const count = Math.ceil(items.length / biteMax)
  return joined(
    Array.from({ length: count }, (_, i) => items.slice(i * biteMax, (i + 1) * biteMax)),
    act,
  )
}

/**
 * Items of a call in parts that are bounded by bytes, too: states of machines and outputs may be large. An item of
 * which the size cannot be read fails alone, when it is written.
 */
function bitesOf<I>(items: readonly I[], payload: (item: I) => Json | undefined): (readonly I[])[] {
  if (items.length === 1) return [items]
  const bites: I[][] = []
  let [size, bytes] = [biteMax, 0]
  for (const item of items) {
    const added = sizeOf(() => payload(item))
    if (size === biteMax || bytes + added > biteBytesMax) {
      bites.push([])
      size = bytes = 0
    }
    bites.at(-1)?.push(item)
    size++
    bytes += added
  }
  return bites
}

/** Commits parts of a call in order. */
async function joined<I, A>(parts: readonly (readonly I[])[], act: (part: readonly I[]) => Promise<A[]>): Promise<A[]> {
  return (await Promise.all(parts.map(act))).flat()
}

/**
 * A filter has a commit of its own: the indexes do not show what the requests before it in the same commit have
 * changed.
 */
function partsOf(requests: readonly CancelRequest[]): CancelRequest[][] {
  const parts: CancelRequest[][] = []
  for (const [i, request] of requests.entries()) {
    const before = requests[i - 1]
    const isApart = before === undefined || 'filter' in before.selection || 'filter' in request.selection
    if (isApart) parts.push([request])
    else parts.at(-1)?.push(request)
  }
  return parts
}

/** Jobs that cannot be read are found by nothing but their ids. */
function withUnreadable(answer: DiscardAnswer, dropped: readonly string[]): DiscardAnswer {
  const gone = new Set(dropped)
  return {
    ...answer,
    discarded: [...answer.discarded, ...dropped],
    notFound: answer.notFound.filter((id) => !gone.has(id)),
  }
}

async function sweep(limit: number, act: (bite: number) => Promise<SweepAnswer>): Promise<SweepAnswer> {
  const transitions: SweepAnswer['transitions'][number][] = []
  for (let left = limit; ;) {
    const bite = Math.min(left, biteMax)
    const answer = await act(bite)
    transitions.push(...answer.transitions)
    left -= bite
    if (!answer.more || left === 0) return { ...answer, transitions }
  }
}

const rowsOf = (items: readonly { readonly id: string }[]): Need[] => items.map(({ id }) => ({ kind: 'row', id }))

/** What this process has claimed it mostly still holds. */
const believeLeased =
  (driver: Driver, leases: readonly { readonly id: string }[]) =>
  (set: WorkingSet): void => {
    for (const { id } of leases) driver.leased.believe(set, id)
  }

// ── insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Mostly ids are new, keys are free, and there is room: that is believed, and confirmed by the commit. */
async function insertAll(
  driver: Driver,
  requests: readonly InsertRequest[],
  native: boolean,
): Promise<InsertAnswer[][]> {
  const bites: InsertRequest[][] = []
  let [size, bytes] = [Infinity, 0]
  for (const request of requests) {
    const added = request.jobs.reduce((sum, job) => sum + sizeOf(() => job.input), 0)
    const isFull = size + request.jobs.length > biteMax || bytes + added > biteBytesMax
    // A hand-over has a commit of its own: the slots are counted by the script, which does not know the inserts before
    // it.
    if (isFull || isHandOver(request) || isHandOver(bites.at(-1)?.[0])) {
      bites.push([])
      size = bytes = 0
    }
    bites.at(-1)?.push(request)
    size += request.jobs.length
    bytes += added
  }
  return joined(bites, (bite) => insertBite(driver, bite, native))
}

/** Rough bytes of a payload. One that cannot be read has none: its request fails when it is written, and no other. */
function sizeOf(payload: () => Json | undefined): number {
  try {
    return roughSize(payload())
  } catch {
    return 0
  }
}

const isHandOver = (request: InsertRequest | undefined): boolean => request?.queue?.capacity === 0

const insertBite = (driver: Driver, requests: readonly InsertRequest[], native: boolean): Promise<InsertAnswer[][]> =>
  driver.write(
    (unit) =>
      unit.each(
        requests,
        ({ jobs, capacity, queue }) => {
          const { waiting } = unit
          const before = waiting.changeOf(null)
          const queueBefore = queue === undefined ? 0 : waiting.changeOf(queue.type)
          const answers = insert(unit, { jobs, capacity, ...(queue && { queue }) })
          if (capacity !== null) waiting.needRoom(null, capacity, before)
          if (queue?.capacity === 0) waiting.needSlots(queue.type, answers)
          else if (queue !== undefined) waiting.needRoom(queue.type, queue.capacity, queueBefore)
          return answers
        },
        (error, { jobs }) =>
          insertFailed(
            jobs.map(({ id }) => id),
            error,
          ),
      ),
    {
      ...(native && { attempt: () => insertNew(driver, requests) }),
      believe: (set) => {
        set.believeNoJobs()
        for (const { jobs, queue } of requests) {
          if (queue?.capacity === 0) set.believeSlots(queue.type, jobs.length)
        }
        for (const { type, id, key } of requests.flatMap(({ jobs }) => jobs)) {
          set.believeRow(id, null)
          if (key === null) continue
          set.believeCell('holders', keyName(type, key), null)
          set.believeCell('predecessors', keyName(type, key), null)
        }
      },
    },
  )

// ── settle ─────────────────────────────────────────────────────────────────────────────────────────────────────────

async function settleAll(driver: Driver, settlements: readonly Settlement[], native: boolean): Promise<SettleAnswer[]> {
  if (!native || !maySettle(driver, settlements)) return settleBite(driver, settlements)
  const answers = await settlePlain(driver, settlements)
  const left = settlements.filter((_, i) => answers[i] === null)
  const others = left.length === 0 ? [] : await settleBite(driver, left)
  return answers.map((answer) => answer ?? (others.shift() as SettleAnswer))
}

const settleBite = (driver: Driver, settlements: readonly Settlement[]): Promise<SettleAnswer[]> =>
  driver.write((unit) => unit.each(settlements, (settlement) => settle(unit, settlement), settleFailed), {
    needs: rowsOf(settlements),
    believe: (set) => {
      for (const { id } of settlements) {
        const { type = '', key, keyName: untilStart } = driver.leased.believe(set, id)?.fields ?? {}
        if (key === undefined || untilStart !== undefined) continue
        set.believeCell('holders', keyName(type, key), id)
        set.believeCell('predecessors', keyName(type, key), null)
      }
    },
  })

// ── claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const claim = (driver: Driver, { worker, leaseMs, token, startedAt, demand }: ClaimRequest): Promise<ClaimAnswer> =>
  driver.inLine(async () => {
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
    return claimParts(driver, request, demand)
  })

interface ScriptDemand {
  readonly type: string
  readonly max: number
}

/** Claims what is asked for, in scripts of a bounded number of jobs and bytes. */
async function claimParts(
  driver: Driver,
  request: { readonly demand: readonly ScriptDemand[] },
  demands: readonly Demand[],
): Promise<ClaimAnswer> {
  const jobs: ClaimedJob[] = []
  const shortfalls: Shortfall[] = []
  const unreadable: string[] = []
  for (let { demand } = request; ;) {
    const [found, reasons, cut, aside] = await driver.exchange.claim(JSON.stringify({ ...request, demand }))
    const replies = found as readonly (readonly Reply[])[]
    const read = replies.map(claimedFrom)
    const claimed = read.filter((each) => each !== null)
    for (const { job, row } of claimed) driver.leased.keep(job.id, row)
    const unread = replies.flatMap(([id], i) => (read[i] === null ? [String(id)] : []))
    if (unread.length > 0) await driver.setAside(unread)
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

// ── schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const scheduleWritesOf = (driver: () => Driver): Pick<ScheduleStore, 'put' | 'pause' | 'remove' | 'fire'> => ({
  put: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => putSchedule(unit, request), putScheduleFailed)),
  pause: (request) => driver().write((unit) => pauseSchedule(unit, request)),
  remove: (names) => driver().write((unit) => names.filter((name) => unit.removeSchedule(name))),
  fire: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => fireSchedule(unit, unit, request), fireScheduleFailed)),
})
