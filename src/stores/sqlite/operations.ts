/**
 * The operations on the file, by name. Arguments and answers are plain values, so that they can be sent between
 * threads.
 */
import type {
  CancelRequest,
  CheckpointRequest,
  ExtendRequest,
  FailureQuery,
  HeatQuery,
  Lease,
  ListQuery,
  RetentionPolicies,
  ReindexRequest,
  SendRequest,
  DropInbox,
  EditedInput,
} from '../../store.ts'
import type { Settlement } from '../../core/settlement.ts'
import { discard, retry } from '../../core/admin.ts'
import { advanceBulk, latestFirst, startBulk, stopBulk, withAbandoned } from '../../core/bulk.ts'
import type { AdvanceBulk, StartBulk, StopBulk } from '../../core/bulk-record.ts'
import { cancel } from '../../core/cancel.ts'
import { checkpoint } from '../../core/checkpoint.ts'
import { confirm } from '../../core/confirm.ts'
import {
  cancelFailed,
  checkpointFailed,
  fireScheduleFailed,
  heartbeatFailed,
  putScheduleFailed,
  reindexFailed,
  sendFailed,
  settleFailed,
} from '../../core/failures.ts'
import { extend } from '../../core/extend.ts'
import { send } from '../../core/inbox.ts'
import { prune } from '../../core/prune.ts'
import { reindex } from '../../core/reindex.ts'
import { settle } from '../../core/settle.ts'
import { promote, rescue } from '../../core/sweep.ts'
import type { JobFile } from './job-file.ts'
import type { JobToInsert } from '../../core/job-row.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import type { DueSchedulesRequest, FireSchedule, PauseSchedule, PutSchedule } from '../../core/schedule-record.ts'
import { discardAside, setAside, unreadable } from './aside.ts'
import { BulkRows } from './bulk.ts'
import { Pruning } from './pruning.ts'
import { claim, queuedSince } from './claim.ts'
import { insertPacked, refused, type PackedRequest, type Unpackable } from './insert.ts'
import { transitions } from './log.ts'
import { repair } from './repair.ts'
import { carryOutAnswer } from './carry-out.ts'
import {
  activity,
  checkpoints,
  counts,
  get,
  list,
  machineCounts,
  changeFailureMerges,
  changeQueue,
  failureMerges,
  queueInfo,
  queueInfos,
  terms,
  worker,
  workers,
} from './reading.ts'

const writing = {
  insert: (file: JobFile, requests: readonly (PackedRequest | Unpackable)[]) =>
    file.each(requests, (request) => insertPacked(file.unit, request), refused),
  claim,
  settle: (file: JobFile, settlements: readonly Settlement[]) =>
    file.each(settlements, (settlement) => settle(file.unit, settlement), settleFailed),
  extend: (file: JobFile, { worker: id, leaseMs, heartbeats }: ExtendRequest) => {
    file.sql.run('writeSeen', file.now, id)
    return file.each(heartbeats, (heartbeat) => extend(file.unit, heartbeat, leaseMs), heartbeatFailed)
  },
  checkpoint: (file: JobFile, requests: readonly CheckpointRequest[]) =>
    file.each(requests, (request) => checkpoint(file.unit, request), checkpointFailed),
  send: (file: JobFile, requests: readonly SendRequest[]) =>
    file.each(requests, (request) => send(file.unit, request), sendFailed),
  reindex: (file: JobFile, requests: readonly ReindexRequest[]) =>
    file.each(requests, (request) => reindex(file.unit, request), reindexFailed),
  cancel: (file: JobFile, requests: readonly CancelRequest[]) =>
    file.each(requests, (request) => cancel(file.unit, request), cancelFailed),
  retry: (file: JobFile, ids: readonly string[], fromStart: boolean, dropInbox: DropInbox, edit?: EditedInput) =>
    retry(file.unit, ids, fromStart, dropInbox, edit),
  discard: (file: JobFile, ids: readonly string[]) => discardAside(file, discard(file.unit, ids)),
  setAside,
  repair,
  promote: (file: JobFile, limit: number) => promote(file.unit, limit),
  rescue: (file: JobFile, limit: number) => withAbandoned(rescue(file.unit, limit), file, new BulkRows(file)),
  retain: (file: JobFile, policies: RetentionPolicies) => file.retention.retain(policies),
  prune: (file: JobFile, limit: number) => prune(new Pruning(file), limit),
  changeQueue,
  changeFailureMerges,
  worker,
  putSchedules: (file: JobFile, requests: readonly PutSchedule[]) =>
    file.each(requests, (request) => putSchedule(file.schedules, request), putScheduleFailed),
  pauseSchedule: (file: JobFile, request: PauseSchedule) => pauseSchedule(file.schedules, request),
  removeSchedules: (file: JobFile, names: readonly string[]) =>
    names.filter((name) => file.schedules.removeSchedule(name)),
  fireSchedules: (file: JobFile, requests: readonly FireSchedule<JobToInsert>[]) =>
    file.each(requests, (request) => fireSchedule(file.unit, file.schedules, request), fireScheduleFailed),
  carryOut: carryOutAnswer,
  startBulk: (file: JobFile, request: StartBulk) => startBulk(file.unit, new BulkRows(file), request),
  advanceBulk: (file: JobFile, request: AdvanceBulk) => advanceBulk(file.unit, new BulkRows(file), request),
  stopBulk: (file: JobFile, request: StopBulk) => stopBulk(file.unit, new BulkRows(file), request),
}

const reading = {
  confirm: (file: JobFile, leases: readonly Lease[]) => leases.map((lease) => confirm(file.unit, lease)),
  checkpoints,
  get,
  list: (file: JobFile, query: ListQuery) => list(file, query),
  counts,
  machineCounts,
  heat: ({ heat, now }: JobFile, query: HeatQuery) => heat.read(query, now),
  queues: queueInfos,
  queue: queueInfo,
  queuedSince: (file: JobFile, types: readonly string[]) => types.map((type) => queuedSince(file, type)),
  activity,
  failures: (file: JobFile, query: FailureQuery) => file.failures.list(query),
  failureMerges,
  workers,
  terms,
  unreadable,
  schedules: (file: JobFile, names?: readonly string[]) => file.schedules.list(names),
  bulkOperations: (file: JobFile, only?: 'running') => latestFirst(new BulkRows(file).all(only)),
  dueSchedules: (file: JobFile, request: DueSchedulesRequest) => file.schedules.due(request),
  transitions: (file: JobFile, from: string | null, limit: number) => transitions(file, from, limit),
}

const work = { ...writing, ...reading }

export type Method = keyof typeof work
export type Arguments<M extends Method> = Parameters<(typeof work)[M]> extends [JobFile, ...infer A] ? A : never
export type Answer<M extends Method> = ReturnType<(typeof work)[M]>

export interface Call {
  readonly method: Method
  readonly args: readonly unknown[]
}

export const writes = ({ method }: Call): boolean => method in writing

/** Runs a call. The caller has matched its arguments with its method. */
export function perform(file: JobFile, { method, args }: Call): unknown {
  const act = work[method] as (file: JobFile, ...args: readonly unknown[]) => unknown
  return act(file, ...args)
}
