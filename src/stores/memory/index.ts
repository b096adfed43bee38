/**
 * The memory store: its jobs are lost with the process; otherwise it keeps the contract of every store. Each method
 * works synchronously within the call, so that calls take effect in the order in which they are made, awaited or not.
 */
import { isForgotten } from '../../core/workers.ts'
import { byDefault, integer, table, type RulesOf } from '../../core/checks.ts'
import { clockOption, systemClock, type Clock } from '../../core/clock.ts'
import {
  fireScheduleFailed,
  heartbeatFailed,
  cancelFailed,
  checkpointFailed,
  insertFailed,
  putScheduleFailed,
  reindexFailed,
  sendFailed,
  settleFailed,
} from '../../core/failures.ts'
import { caps } from '../../core/caps.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import type { BulkAnswer, BulkStore, NewJob, ScheduleStore, Store } from '../../store.ts'
import { discard, retry } from '../../core/admin.ts'
import { advanceBulk, latestFirst, startBulk, stopBulk, withAbandoned } from '../../core/bulk.ts'
import { cancel } from '../../core/cancel.ts'
import { checkpoint } from '../../core/checkpoint.ts'
import { confirm } from '../../core/confirm.ts'
import { extend } from '../../core/extend.ts'
import { send } from '../../core/inbox.ts'
import { reindex } from '../../core/reindex.ts'
import { insert } from '../../core/insert.ts'
import { prune } from '../../core/prune.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import { settle } from '../../core/settle.ts'
import { promote, rescue } from '../../core/sweep.ts'
import { MemoryUnit } from './unit.ts'
import { claim } from './claim.ts'
import {
  activity,
  counts,
  failures,
  list,
  machineCounts,
  queuedSince,
  queueInfo,
  queueInfos,
  workerRecords,
} from './reading.ts'
import { recordOf } from './fields.ts'
import { checkpointsOf } from './records.ts'

export interface MemoryStoreOptions {
  /** The clock of leases and due times; default: that of the first runtime or client that opens the store. */
  readonly clock?: Clock
  /** Entries of the transition log at most, default 10,000. */
  readonly transitionsMax?: number
}

const memoryOptions = table({
  clock: clockOption,
  transitionsMax: byDefault(caps.transitions, integer(1, 1_000_000_000)),
} satisfies RulesOf<MemoryStoreOptions>)

/**
 * A store in this process's memory: the fastest, and the specification of the others.
 * @throws JobchartError INVALID_OPTION
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { transitionsMax, clock: ownClock } = memoryOptions(options, 'options of memoryStore')
  const unit = new MemoryUnit(transitionsMax)
  let clock = ownClock
  const now = (): number => (clock ?? systemClock).now()
  const figures = {
    backlogOf: (type: string | null) => (type === null ? unit.backlog : unit.backlogOf(type)),
    handOverRoom: (type: string) => unit.handOverRoom(type),
  }
  const write: Write = (work) => {
    unit.now = now()
    const answer = work(unit.now)
    unit.hints.send(figures)
    return answer
  }
  return {
    name: 'memory',
    capabilities: { durable: false, shared: false },
    now,
    async open(host) {
      clock ??= host.clock
    },
    async close() {},
    watch: (listener) => unit.hints.watch(listener),
    ...forWorkers(unit, write),
    ...forAdmins(unit, write),
    ...forReaders(unit, now),
    schedules: forSchedules(unit, now, write),
    bulk: forBulk(unit, write),
  }
}

/** Runs an operation at the current time of the store, then sends its hints. */
type Write = <T>(work: (at: number) => T) => T

/** Answers item by item: one that throws fails alone, because operations check their arguments before they write. */
function each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
  return items.map((item) => {
    try {
      return act(item)
    } catch (error) {
      return failed(recordError(error), item)
    }
  })
}

/**
 * Reads every member of jobs that are inserted together, so that one that cannot be read fails before anything is
 * written. A single job without a key is read before its first write anyway.
 */
function checkReadable(jobs: readonly NewJob[]): void {
  if (jobs.length === 1 && jobs[0]?.key === null) return
  for (const job of jobs) for (const name in job) void job[name as keyof NewJob]
}

type Work =
  | 'insert'
  | 'claim'
  | 'confirm'
  | 'settle'
  | 'extend'
  | 'checkpoint'
  | 'send'
  | 'reindex'
  | 'promote'
  | 'rescue'
  | 'retain'
  | 'prune'
  | 'worker'

const forWorkers = (unit: MemoryUnit, write: Write): Pick<Store, Work> => ({
  insert: (requests) =>
    write(() =>
      each(
        requests,
        (request) => {
          checkReadable(request.jobs)
          return insert(unit, request)
        },
        (error, { jobs }) =>
          insertFailed(
            jobs.map(({ id }) => id),
            error,
          ),
      ),
    ),
  claim: (request) => write((at) => claim(unit, request, at)),
  confirm: (leases) => leases.map((lease) => confirm(unit, lease)),
  settle: (settlements) => write(() => each(settlements, (settlement) => settle(unit, settlement), settleFailed)),
  extend: async ({ worker, leaseMs, heartbeats }) =>
    write((at) => {
      const known = unit.workers.get(worker)
      if (known !== undefined) known.seenAt = at
      return each(heartbeats, (heartbeat) => extend(unit, heartbeat, leaseMs), heartbeatFailed)
    }),
  checkpoint: (requests) => write(() => each(requests, (request) => checkpoint(unit, request), checkpointFailed)),
  send: (requests) => write(() => each(requests, (request) => send(unit, request), sendFailed)),
  reindex: async (requests) => write(() => each(requests, (request) => reindex(unit, request), reindexFailed)),
  promote: (limit) => write(() => promote(unit, limit)),
  rescue: (limit) => write(() => withAbandoned(rescue(unit, limit), unit, unit.bulk)),
  retain: async (policies) => write(() => unit.retention.set(structuredClone(policies))),
  prune: async (limit) => write(() => prune(unit, limit)),
  worker: async (id, info) =>
    write((at) => {
      if (info === null) unit.workers.delete(id)
      else unit.workers.set(id, { info, seenAt: at })
      for (const [each, known] of unit.workers) {
        if (isForgotten(known.info, at - known.seenAt)) unit.workers.delete(each)
      }
    }),
})

const forAdmins = (unit: MemoryUnit, write: Write): Pick<Store, 'cancel' | 'retry' | 'discard' | 'queue'> => ({
  cancel: (requests) => write(() => each(requests, (request) => cancel(unit, request), cancelFailed)),
  retry: (selection, fromStart = false, dropInbox = 0, edit) =>
    write(() => retry(unit, selection, fromStart, dropInbox, edit)),
  discard: async (selection) => write(() => discard(unit, selection)),
  queue: async (type, change) =>
    write(() => {
      if (change !== undefined) unit.pause(type, change.paused)
      return queueInfo(unit, type)
    }),
})

/** Schedules are copied on their way in and out: the stored objects are never changed in place. */
const forSchedules = (unit: MemoryUnit, now: () => number, write: Write): ScheduleStore => ({
  put: async (requests) =>
    write(() =>
      each(requests, (request) => structuredClone(putSchedule(unit, structuredClone(request))), putScheduleFailed),
    ),
  list: async (names) => structuredClone(unit.schedules.list(names)),
  pause: async (request) => write(() => structuredClone(pauseSchedule(unit, request))),
  remove: async (names) => names.filter((name) => unit.schedules.remove(name)),
  due: async (request) => structuredClone(unit.schedules.due(request, now())),
  fire: (requests) =>
    write(() =>
      each(
        requests,
        ({ name, ticks, advance }) =>
          fireSchedule(unit, { name, advance, ticks: ticks.map(({ at, job: { ...job } }) => ({ at, job })) }),
        fireScheduleFailed,
      ),
    ),
})

/** Operations are copied like schedules; lists of jobs and transitions are the answer's own. */
const withCopy = (answer: BulkAnswer): BulkAnswer => ({ ...answer, operation: structuredClone(answer.operation) })

const forBulk = (unit: MemoryUnit, write: Write): BulkStore => ({
  start: (request) => write(() => withCopy(startBulk(unit, unit.bulk, structuredClone(request)))),
  advance: (request) => write(() => withCopy(advanceBulk(unit, unit.bulk, request))),
  stop: async (request) => write(() => structuredClone(stopBulk(unit, unit.bulk, structuredClone(request)))),
  list: async (only) => structuredClone(latestFirst(unit.bulk.all(only))),
})

type Questions =
  | 'checkpoints'
  | 'get'
  | 'list'
  | 'counts'
  | 'machineCounts'
  | 'queues'
  | 'queuedSince'
  | 'activity'
  | 'failures'
  | 'workers'
  | 'transitions'

const forReaders = (unit: MemoryUnit, now: () => number): Pick<Store, Questions> => ({
  async checkpoints(id) {
    return checkpointsOf(unit.rows.get(id))
  },
  async get(ids) {
    return ids.map((id) => {
      const row = unit.rows.get(id)
      return row === undefined ? null : recordOf(row)
    })
  },
  async list(query) {
    return list(unit, query)
  },
  async counts() {
    return counts(unit)
  },
  async machineCounts(type) {
    return machineCounts(unit, type)
  },
  async queues() {
    return queueInfos(unit)
  },
  async queuedSince(types) {
    return queuedSince(unit, types)
  },
  async activity(query) {
    return activity(unit, query, now())
  },
  async failures(query) {
    return failures(unit, query)
  },
  async workers() {
    return workerRecords(unit, now())
  },
  async transitions(from, limit) {
    return unit.log.page(from, limit)
  },
})
