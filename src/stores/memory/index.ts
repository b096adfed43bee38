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
import { mergesAfter } from '../../core/failure-merges.ts'
import { prune } from '../../core/prune.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import { settle } from '../../core/settle.ts'
import { promote, rescue } from '../../core/sweep.ts'
import { Unit } from '../../core/unit.ts'
import { Pruning } from './pruning.ts'
import type { Row } from './row.ts'
import { Tables } from './tables.ts'
import { claim } from './claim.ts'
import {
  activity,
  counts,
  failures,
  heat,
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
  const tables = new Tables(transitionsMax)
  const unit = new Unit(tables, tables)
  const both = { unit, tables }
  let clock = ownClock
  const now = (): number => (clock ?? systemClock).now()
  const figures = {
    backlogOf: (type: string | null) => tables.backlogOf(type),
    handOverRoom: (type: string) => tables.handOverRoom(type),
  }
  const write: Write = (work) => {
    const at = (unit.now = tables.now = now())
    try {
      return work(at)
    } finally {
      tables.hints.send(figures)
    }
  }
  return {
    name: 'memory',
    capabilities: { durable: false, shared: false },
    now,
    async open(host) {
      clock ??= host.clock
    },
    async close() {},
    watch: (listener) => tables.hints.watch(listener),
    ...forWorkers(both, write),
    ...forAdmins(both, write),
    ...forReaders(tables, now),
    schedules: forSchedules(both, now, write),
    bulk: forBulk(both, write),
  }
}

/** What operations work on, and where its rows are. */
interface Both {
  readonly unit: Unit<Row>
  readonly tables: Tables
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

const forWorkers = ({ unit, tables }: Both, write: Write): Pick<Store, Work> => ({
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
  claim: (request) => write((at) => claim(unit, tables, request, at)),
  confirm: (leases) => leases.map((lease) => confirm(unit, lease)),
  settle: (settlements) => write(() => each(settlements, (settlement) => settle(unit, settlement), settleFailed)),
  extend: async ({ worker, leaseMs, heartbeats }) =>
    write((at) => {
      const known = tables.workers.get(worker)
      if (known !== undefined) known.seenAt = at
      return each(heartbeats, (heartbeat) => extend(unit, heartbeat, leaseMs), heartbeatFailed)
    }),
  checkpoint: (requests) => write(() => each(requests, (request) => checkpoint(unit, request), checkpointFailed)),
  send: (requests) => write(() => each(requests, (request) => send(unit, request), sendFailed)),
  reindex: async (requests) => write(() => each(requests, (request) => reindex(unit, request), reindexFailed)),
  promote: (limit) => write(() => promote(unit, limit)),
  rescue: (limit) => write(() => withAbandoned(rescue(unit, limit), unit, tables.bulk)),
  retain: async (policies) => write(() => tables.retention.set(structuredClone(policies))),
  prune: async (limit) => write(() => prune(new Pruning(unit, tables), limit)),
  worker: async (id, info) =>
    write((at) => {
      if (info === null) tables.workers.delete(id)
      else tables.workers.set(id, { info, seenAt: at })
      for (const [each, known] of tables.workers) {
        if (isForgotten(known.info, at - known.seenAt)) tables.workers.delete(each)
      }
    }),
})

const forAdmins = (
  { unit, tables }: Both,
  write: Write,
): Pick<Store, 'cancel' | 'retry' | 'discard' | 'queue' | 'failureMerges'> => ({
  cancel: (requests) => write(() => each(requests, (request) => cancel(unit, request), cancelFailed)),
  retry: (ids, fromStart = false, dropInbox = 0, edit) => write(() => retry(unit, ids, fromStart, dropInbox, edit)),
  discard: async (ids) => write(() => discard(unit, ids)),
  queue: async (type, change) =>
    write(() => {
      if (change !== undefined) tables.changeQueue(type, change)
      return queueInfo(tables, type)
    }),
  async failureMerges(change) {
    if (change !== undefined) tables.failureMerges = mergesAfter(tables.failureMerges, structuredClone(change))
    return structuredClone(tables.failureMerges)
  },
})

/** Schedules are copied on their way in and out: the stored objects are never changed in place. */
const forSchedules = ({ unit, tables }: Both, now: () => number, write: Write): ScheduleStore => ({
  put: async (requests) =>
    write(() =>
      each(requests, (request) => structuredClone(putSchedule(tables, structuredClone(request))), putScheduleFailed),
    ),
  list: async (names) => structuredClone(tables.schedules.list(names)),
  pause: async (request) => write(() => structuredClone(pauseSchedule(tables, request))),
  remove: async (names) => names.filter((name) => tables.schedules.remove(name)),
  due: async (request) => structuredClone(tables.schedules.due(request, now())),
  fire: (requests) =>
    write(() =>
      each(
        requests,
        ({ name, ticks, advance }) =>
          fireSchedule(unit, tables, { name, advance, ticks: ticks.map(({ at, job: { ...job } }) => ({ at, job })) }),
        fireScheduleFailed,
      ),
    ),
})

/** Operations are copied like schedules; lists of jobs and transitions are the answer's own. */
const withCopy = (answer: BulkAnswer): BulkAnswer => ({ ...answer, operation: structuredClone(answer.operation) })

const forBulk = ({ unit, tables }: Both, write: Write): BulkStore => ({
  start: (request) => write(() => withCopy(startBulk(unit, tables.bulk, structuredClone(request)))),
  advance: (request) => write(() => withCopy(advanceBulk(unit, tables.bulk, request))),
  stop: async (request) => write(() => structuredClone(stopBulk(unit, tables.bulk, structuredClone(request)))),
  list: async (only) => structuredClone(latestFirst(tables.bulk.all(only))),
})

type Questions =
  | 'checkpoints'
  | 'get'
  | 'list'
  | 'counts'
  | 'machineCounts'
  | 'heat'
  | 'queues'
  | 'queuedSince'
  | 'activity'
  | 'failures'
  | 'workers'
  | 'transitions'

const forReaders = (tables: Tables, now: () => number): Pick<Store, Questions> => ({
  async checkpoints(id) {
    return checkpointsOf(tables.rows.get(id))
  },
  async get(ids) {
    return ids.map((id) => {
      const row = tables.rows.get(id)
      return row === undefined ? null : recordOf(row)
    })
  },
  async list(query) {
    return list(tables, query)
  },
  async counts() {
    return counts(tables)
  },
  async machineCounts(type) {
    return machineCounts(tables, type)
  },
  async heat(query) {
    return heat(tables, query, now())
  },
  async queues() {
    return queueInfos(tables)
  },
  async queuedSince(types) {
    return queuedSince(tables, types)
  },
  async activity(query) {
    return activity(tables, query, now())
  },
  async failures(query) {
    return failures(tables, query)
  },
  async workers() {
    return workerRecords(tables, now())
  },
  async transitions(from, limit) {
    return tables.transitions.page(from, limit)
  },
})
