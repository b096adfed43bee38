/**
 * The writes of a store: each an operation of the core in a transaction, and what is known beforehand of what it needs.
 */
import { discard, retry } from '../../core/admin.ts'
import { Packed } from '../../core/cell.ts'
import { checkpoint } from '../../core/checkpoint.ts'
import { extend } from '../../core/extend.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import {
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
import type { JobToInsert } from '../../core/job-row.ts'
import type { Json } from '../../core/payload.ts'
import type { JobMeta } from '../../core/record.ts'
import { reindex } from '../../core/reindex.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import { settle } from '../../core/settle.ts'
import type { Settlement } from '../../core/settlement.ts'
import { promote, rescue } from '../../core/sweep.ts'
import type {
  DiscardAnswer,
  HeartbeatAnswer,
  HeartbeatPayload,
  InsertAnswer,
  InsertRequest,
  NewJob,
  ScheduleStore,
  SettleAnswer,
  Store,
  SweepAnswer,
} from '../../store.ts'
import { changeEach } from './apart.ts'
import { runningBulk, withAbandonedBulk } from './bulk.ts'
import { cancelAll } from './cancel.ts'
import { cellName, keyName } from './cells.ts'
import type { RemoteDriver } from './driver.ts'
import { NotLoaded, type Need } from './needs.ts'
import { joined, partsOf, wholeRowsMax } from './parts.ts'
import type { Transaction } from './transaction.ts'

type Writes = 'checkpoint' | 'send' | 'reindex' | 'cancel' | 'retry' | 'discard' | 'promote' | 'rescue'

/** Those that stores have no way of their own for. */
export const writesOf = (driver: () => RemoteDriver): Pick<Store, Writes> => ({
  checkpoint: async (requests) =>
    joined(
      partsOf(requests, ({ checkpoint: { state } }) => state),
      (part) =>
        driver().write(
          (each) => eachReadable(each, part, (request) => checkpoint(each.unit, request), checkpointFailed),
          ofLeased(driver(), part),
        ),
    ),
  send: async (requests) =>
    joined(partsOf(requests), (part) =>
      driver().write((each) => eachReadable(each, part, (request) => send(each.unit, request), sendFailed), {
        needs: rowsOf(part),
      }),
    ),
  reindex: async (requests) =>
    joined(partsOf(requests), (part) =>
      driver().write((each) => each.each(part, (request) => reindex(each.unit, request), reindexFailed), {
        needs: rowsOf(part),
      }),
    ),
  cancel: (requests) => cancelAll(driver(), requests),
  retry: async (ids, fromStart = false, dropInbox = 0, edit) =>
    changeAll(driver(), ids, ({ unit }, some) => retry(unit, some, fromStart, dropInbox, edit)),
  discard: async (ids) => changeAll(driver(), ids, ({ unit }, some) => discard(unit, some)),
  promote: async (limit) =>
    sweep(limit, (part) =>
      driver().write(({ unit }) => promote(unit, part), { needs: [{ kind: 'timers', of: 'due', limit: part }] }),
    ),
  rescue: async (limit) =>
    sweep(limit, (part) =>
      driver().write((each) => withAbandonedBulk(rescue(each.unit, part), each), {
        needs: [{ kind: 'timers', of: 'leases', limit: part }, runningBulk],
      }),
    ),
})

export const scheduleWritesOf = (
  driver: () => RemoteDriver,
): Pick<ScheduleStore, 'put' | 'pause' | 'remove' | 'fire'> => ({
  put: async (requests) =>
    joined(partsOf(requests), (part) =>
      driver().write((each) => each.each(part, (request) => putSchedule(each, request), putScheduleFailed)),
    ),
  pause: async (request) => driver().write((each) => pauseSchedule(each, request)),
  remove: async (names) =>
    joined(partsOf(names), (part) =>
      driver().write((each) => part.filter((name) => each.removeSchedule(name)), { needs: schedulesOf(part) }),
    ),
  fire: async (requests) =>
    driver().write(
      (each) =>
        each.each(
          requests,
          (request) => {
            const ticks = request.ticks.map(({ at, job }) => ({ at, job: packed(job) }))
            return fireSchedule(each.unit, each, { ...request, ticks })
          },
          fireScheduleFailed,
        ),
      { leavesHeld: true },
    ),
})

/** Loaded together: what an operation asks for one by one takes a round trip each. */
const schedulesOf = (names: readonly string[]): Need[] =>
  names.map((field) => ({ kind: 'cell', cells: 'schedules', field }))

const rowsOf = (items: readonly { readonly id: string }[]): Need[] => items.map(({ id }) => ({ kind: 'row', id }))

/** What this process has claimed it mostly still holds. */
export const ofLeased = (driver: RemoteDriver, jobs: readonly { readonly id: string }[]) => ({
  believe: (set: Transaction['set']) => driver.leased.believe(set, jobs),
  needs: rowsOf(jobs),
})

/** What is written is read when it is committed: an item that cannot be read must have failed by then. */
function checkReadable(item: object): void {
  JSON.stringify(item)
}

/** Does each item that can be read. */
const eachReadable = <I extends object, A>(
  transaction: Transaction,
  items: readonly I[],
  act: (item: I) => A,
  failed: (error: ErrorRecord, item: I) => A,
): A[] => {
  const actOn = (item: I): A => {
    checkReadable(item)
    return act(item)
  }
  return transaction.each(items, actOn, failed)
}

// ── insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Its payloads are read now, so that one that cannot be read fails before anything is written. */
function packed({ input, meta, ...job }: NewJob): JobToInsert {
  return {
    ...job,
    input: input === undefined ? undefined : new Packed<Json>(JSON.stringify(input)),
    ...(meta !== undefined && { meta: new Packed<JobMeta>(JSON.stringify(meta)) }),
  }
}

/**
 * Mostly ids are new, keys are free, and there is room: that is believed, and confirmed by the commit.
 * @param first how a server tries it before
 */
export const insertPart = (
  driver: RemoteDriver,
  requests: readonly InsertRequest[],
  first?: { readonly attempt: () => Promise<InsertAnswer[][] | null>; readonly inLine: boolean },
): Promise<InsertAnswer[][]> =>
  driver.write(
    (each) =>
      each.each(
        requests,
        (request) => insertRequest(each, request),
        (error, { jobs }) =>
          insertFailed(
            jobs.map(({ id }) => id),
            error,
          ),
      ),
    {
      ...first,
      leavesHeld: true,
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

/**
 * What the holders of unique keys are asked for is loaded together: the insert asks for one after the other, each in a
 * round trip.
 */
function needHolders({ set, source }: Transaction, jobs: readonly NewJob[]): void {
  const needs = jobs.flatMap(({ type, key, onConflict }): Need[] => {
    if (key === null) return []
    const field = keyName(type, key)
    const id = set.cells.get(cellName('holders', field))
    if (id === undefined) return [{ kind: 'cell', cells: 'holders', field }]
    if (id === null) return []
    if (!set.rows.has(id)) return [{ kind: 'row', id }]
    if (onConflict === 'keep') return []
    const inbox: Need[] = source.find(id)?.isMachine === true && !set.inboxes.has(id) ? [{ kind: 'inbox', id }] : []
    if (onConflict !== 'supersede') return inbox
    const children = set.children.get(id)
    if (children === undefined) return [...inbox, { kind: 'children', id }]
    return [...inbox, ...children.flatMap((child): Need[] => (set.rows.has(child) ? [] : [{ kind: 'row', id: child }]))]
  })
  if (needs.length > 0) throw new NotLoaded(needs)
}

export function insertRequest(transaction: Transaction, { jobs, capacity, queue }: InsertRequest): InsertAnswer[] {
  const { changes, unit, set } = transaction
  const before = changes.backlogOf(null)
  const queueBefore = queue === undefined ? 0 : changes.backlogOf(queue.type)
  const refused = changes.refusals.length
  needHolders(transaction, jobs)
  const answers = insert(unit, { jobs: jobs.map(packed), capacity, ...(queue && { queue }) })
  // No commit compares a refusal: it is judged by what the store has.
  if (changes.refusals.length > refused) set.confirmCounts()
  if (capacity !== null) transaction.needRoom(null, capacity, before)
  if (queue?.capacity === 0) transaction.needSlots(queue.type, answers)
  else if (queue !== undefined) transaction.needRoom(queue.type, queue.capacity, queueBefore)
  return answers
}

// ── ends of attempts ───────────────────────────────────────────────────────────────────────────────────────────────

export const settleEach = (transaction: Transaction, settlements: readonly Settlement[]): SettleAnswer[] =>
  eachReadable(transaction, settlements, (settlement) => settle(transaction.unit, settlement), settleFailed)

export const settlePart = (driver: RemoteDriver, settlements: readonly Settlement[]): Promise<SettleAnswer[]> =>
  driver.write((each) => settleEach(each, settlements), ofLeased(driver, settlements))

interface ExtendOptions {
  /** Extends some by a way of the server's own: gives those that need nothing more. */
  readonly first?: () => Promise<ReadonlySet<HeartbeatPayload>>
  /** Written in the same transaction, if there is one. */
  readonly also?: { readonly believe: (set: Transaction['set']) => void; readonly write: (each: Transaction) => void }
}

export function extendPart(
  driver: RemoteDriver,
  part: readonly HeartbeatPayload[],
  leaseMs: number,
  { first, also }: ExtendOptions = {},
): Promise<HeartbeatAnswer[]> {
  let extended: ReadonlySet<HeartbeatPayload> = new Set()
  const extendOne = ({ unit }: Transaction, heartbeat: HeartbeatPayload): HeartbeatAnswer => {
    if (extended.has(heartbeat)) return { outcome: 'extended' }
    checkReadable(heartbeat)
    return extend(unit, heartbeat, leaseMs)
  }
  const attempt = async (): Promise<HeartbeatAnswer[] | null> => {
    extended = (await first?.()) ?? extended
    return extended.size === part.length ? part.map(() => ({ outcome: 'extended' })) : null
  }
  const { believe, needs } = ofLeased(driver, part)
  const operate = (each: Transaction): HeartbeatAnswer[] => {
    const answers = each.each(part, (heartbeat) => extendOne(each, heartbeat), heartbeatFailed)
    also?.write(each)
    return answers
  }
  return driver.write(operate, {
    needs,
    believe(set) {
      believe(set)
      also?.believe(set)
    },
    attempt,
  })
}

// ── changes of many jobs ───────────────────────────────────────────────────────────────────────────────────────────

/** Changes jobs together, or one by one if others work on them. */
function changeAll<A extends object>(
  driver: RemoteDriver,
  ids: readonly string[],
  act: (transaction: Transaction, ids: readonly string[]) => A,
): Promise<A> {
  const { commitEach } = driver.server
  return driver.write((transaction) => act(transaction, ids), {
    ...(commitEach && { apart: () => changeEach(driver, commitEach, ids, act) }),
  })
}

/**
 * Discards jobs that were set aside, too: nothing but their ids finds them.
 * @param discard removes those of some ids. @returns the ids that were there
 */
export async function discardAside(
  answer: DiscardAnswer,
  discard: (ids: readonly string[]) => Promise<readonly string[]>,
): Promise<DiscardAnswer> {
  if (answer.notFound.length === 0) return answer
  const gone = await discard(answer.notFound)
  const notFound = answer.notFound.filter((id) => !gone.includes(id))
  return { ...answer, discarded: [...answer.discarded, ...gone], notFound }
}

async function sweep(limit: number, act: (part: number) => Promise<SweepAnswer>): Promise<SweepAnswer> {
  const transitions: SweepAnswer['transitions'][number][] = []
  for (let left = limit; ;) {
    const part = Math.min(left, wholeRowsMax)
    const answer = await act(part)
    transitions.push(...answer.transitions)
    left -= part
    if (!answer.more || left === 0) return { ...answer, transitions }
  }
}
