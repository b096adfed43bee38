/** The writes of the store: each an operation of the core in a unit, and what is known beforehand of what it needs. */
import { discard, retry } from '../../core/admin.ts'
import { cancel } from '../../core/cancel.ts'
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
  sendFailed,
  settleFailed,
} from '../../core/failures.ts'
import { send } from '../../core/inbox.ts'
import { insert } from '../../core/insert.ts'
import { prune } from '../../core/prune.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import { settle } from '../../core/settle.ts'
import { promote, rescue } from '../../core/sweep.ts'
import type { CancelRequest, ClaimAnswer, ClaimRequest, Demand, InsertRequest, InsertAnswer, ScheduleStore, SettleAnswer, Shortfall, Store, SweepAnswer } from '../../store.ts' // prettier-ignore
import type { Settlement } from '../../core/settlement.ts'
import { runningBulk, withAbandonedBulk } from './bulk.ts'
import type { Reply } from './connection.ts'
import type { Driver } from './driver.ts'
import { keyName } from './keys.ts'
import { insertNew, maySettle, pruneEnded, settlePlain } from './native.ts'
import type { Need } from './needs.ts'
import { claimedFrom } from './records.ts'
import { scriptText, textOfScript } from './row-text.ts'
import type { WorkingSet } from './working-set.ts'

/** What one commit writes at most, where a call can be parted: a script holds up every other client. */
const biteMax = 200

type Writes =
  'insert' | 'claim' | 'settle' | 'extend' | 'checkpoint' | 'send' | 'cancel' | 'retry' | 'discard' | 'promote' | 'rescue' | 'prune' // prettier-ignore

/** @param native by scripts of their own, where there are; a test compares them with the way of the core */
export const writesOf = (driver: () => Driver, native: boolean): Pick<Store, Writes> => ({
  insert: (requests) => insertAll(driver(), requests, native),
  claim: (request) => claim(driver(), request),
  settle: (settlements) => inBites(settlements, (bite) => settleAll(driver(), bite, native)),
  extend: async ({ worker, leaseMs, heartbeats }) => {
    const seen = driver().inLine(() => driver().run('seen', [worker]))
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
    driver().write((unit) => unit.each(requests, (request) => checkpoint(unit, request), checkpointFailed), {
      believe: believeLeased(driver(), requests),
      needs: rowsOf(requests),
    }),
  send: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => send(unit, request), sendFailed), {
      needs: rowsOf(requests),
    }),
  cancel: (requests) =>
    joined(partsOf(requests), (part) =>
      driver().write((unit) => unit.each(part, (request) => cancel(unit, request), cancelFailed)),
    ),
  retry: (selection, fromStart = false, dropInbox = 0, edit) =>
    driver().write((unit) => retry(unit, selection, fromStart, dropInbox, edit)),
  discard: (selection) => driver().write((unit) => discard(unit, selection)),
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
  async prune(policy, limit) {
    for (let pruned = 0; ;) {
      const bite = Math.min(limit - pruned, biteMax)
      const answer = await (native
        ? pruneEnded(driver(), policy, bite)
        : driver().write((unit) => prune(unit, policy, bite), { needs: [{ kind: 'counts' }] }))
      pruned += answer.pruned
      if (!answer.more || pruned >= limit) return { ...answer, pruned }
    }
  },
})

/** Does the items of a call in several commits, in order. */
async function inBites<I, A>(items: readonly I[], act: (bite: readonly I[]) => Promise<A[]>): Promise<A[]> {
  if (items.length <= biteMax) return act(items)
  const count = Math.ceil(items.length / biteMax)
  return joined(
    Array.from({ length: count }, (_, i) => items.slice(i * biteMax, (i + 1) * biteMax)),
    act,
  )
}

/** Commits parts of a call in order. */
async function joined<I, A>(parts: readonly (readonly I[])[], act: (part: readonly I[]) => Promise<A[]>): Promise<A[]> {
  return (await Promise.all(parts.map(act))).flat()
}

/** A filter has a commit of its own: the indexes do not show what the requests before it in the same commit have changed. */
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
    for (const { id } of leases) driver.leased(set, id)
  }

// ── insert ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Mostly ids are new, keys are free, and there is room: that is believed, and confirmed by the commit. */
async function insertAll(
  driver: Driver,
  requests: readonly InsertRequest[],
  native: boolean,
): Promise<InsertAnswer[][]> {
  const bites: InsertRequest[][] = []
  let size = Infinity
  for (const request of requests) {
    // A hand-over has a commit of its own: the slots are counted by the script, which does not know the inserts before it.
    if (size + request.jobs.length > biteMax || isHandOver(request) || isHandOver(bites.at(-1)?.[0])) {
      bites.push([])
      size = 0
    }
    bites.at(-1)?.push(request)
    size += request.jobs.length
  }
  return joined(bites, (bite) => insertBite(driver, bite, native))
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

// ── settle ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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
        const { type = '', key, keyName: untilStart } = driver.leased(set, id)?.fields ?? {}
        if (key === undefined || untilStart !== undefined) continue
        set.believeCell('holders', keyName(type, key), id)
        set.believeCell('predecessors', keyName(type, key), null)
      }
    },
  })

// ── claim ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const claim = (driver: Driver, { worker, leaseMs, token, demand }: ClaimRequest): Promise<ClaimAnswer> =>
  driver.inLine(async () => {
    const request = {
      worker: scriptText(worker),
      workerText: JSON.stringify(worker),
      leaseMs,
      token: scriptText(token),
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
    const [jobs, shortfalls] = await driver.exchange.claim(JSON.stringify(request))
    const claimed = (jobs as readonly Reply[]).map(claimedFrom)
    for (const { job, row } of claimed) driver.rememberLeased(job.id, row)
    const reasons = (shortfalls as readonly Reply[]).map((facts) => shortfallFrom(demand, facts as readonly Reply[]))
    return { jobs: claimed.map(({ job }) => job), shortfalls: reasons }
  })

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

// ── schedules ───────────────────────────────────────────────────────────────────────────────────────────────────────

export const scheduleWritesOf = (driver: () => Driver): Pick<ScheduleStore, 'put' | 'pause' | 'remove' | 'fire'> => ({
  put: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => putSchedule(unit, request), putScheduleFailed)),
  pause: (request) => driver().write((unit) => pauseSchedule(unit, request)),
  remove: (names) => driver().write((unit) => names.filter((name) => unit.removeSchedule(name))),
  fire: (requests) =>
    driver().write((unit) => unit.each(requests, (request) => fireSchedule(unit, request), fireScheduleFailed)),
})
