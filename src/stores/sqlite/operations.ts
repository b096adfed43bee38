/**
 * The operations on the file, by name. Arguments and answers are plain values, so that they can be sent between
 * threads.
 */
import type {
  ActivityQuery,
  CancelRequest,
  CheckpointRequest,
  ClaimRequest,
  ExtendRequest,
  FailureQuery,
  Lease,
  ListQuery,
  RetentionPolicies,
  Selection,
  ReindexRequest,
  SendRequest,
  WorkerInfo,
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
import type { FileUnit } from './unit.ts'
import { fireSchedule, pauseSchedule, putSchedule } from '../../core/schedule.ts'
import type { DueSchedulesRequest, FireSchedule, PauseSchedule, PutSchedule } from '../../core/schedule-record.ts'
import { discardAside, setAside, unreadable } from './aside.ts'
import { BulkRows } from './bulk.ts'
import { claim, queuedSince } from './claim.ts'
import { insertPacked, refused, type PackedJob, type PackedRequest, type Unpackable } from './insert.ts'
import { transitions } from './log.ts'
import { repair } from './repair.ts'
import {
  activity,
  checkpoints,
  counts,
  get,
  list,
  machineCounts,
  pause,
  queueInfo,
  queueInfos,
  worker,
  workers,
} from './reading.ts'

const writing = {
  insert: (unit: FileUnit, requests: readonly (PackedRequest | Unpackable)[]) =>
    unit.each(requests, (request) => insertPacked(unit, request), refused),
  claim: (unit: FileUnit, request: ClaimRequest) => claim(unit, request),
  settle: (unit: FileUnit, settlements: readonly Settlement[]) =>
    unit.each(settlements, (settlement) => settle(unit, settlement), settleFailed),
  extend: (unit: FileUnit, { worker: id, leaseMs, heartbeats }: ExtendRequest) => {
    unit.sql.run('writeSeen', unit.now, id)
    return unit.each(heartbeats, (heartbeat) => extend(unit, heartbeat, leaseMs), heartbeatFailed)
  },
  checkpoint: (unit: FileUnit, requests: readonly CheckpointRequest[]) =>
    unit.each(requests, (request) => checkpoint(unit, request), checkpointFailed),
  send: (unit: FileUnit, requests: readonly SendRequest[]) =>
    unit.each(requests, (request) => send(unit, request), sendFailed),
  reindex: (unit: FileUnit, requests: readonly ReindexRequest[]) =>
    unit.each(requests, (request) => reindex(unit, request), reindexFailed),
  cancel: (unit: FileUnit, requests: readonly CancelRequest[]) =>
    unit.each(requests, (request) => cancel(unit, request), cancelFailed),
  retry: (unit: FileUnit, selection: Selection, fromStart: boolean, dropInbox: DropInbox, edit?: EditedInput) =>
    retry(unit, selection, fromStart, dropInbox, edit),
  discard: (unit: FileUnit, selection: Selection) => discardAside(unit, discard(unit, selection)),
  setAside: (unit: FileUnit, numbers: readonly number[]) => setAside(unit, numbers),
  repair: (unit: FileUnit) => repair(unit),
  promote: (unit: FileUnit, limit: number) => promote(unit, limit),
  rescue: (unit: FileUnit, limit: number) => withAbandoned(rescue(unit, limit), unit, new BulkRows(unit)),
  retain: (unit: FileUnit, policies: RetentionPolicies) => unit.prunes.retain(policies),
  prune: (unit: FileUnit, limit: number) => prune(unit, limit),
  pause: (unit: FileUnit, type: string, paused: boolean) => pause(unit, type, paused),
  worker: (unit: FileUnit, id: string, info: WorkerInfo | null) => worker(unit, id, info),
  putSchedules: (unit: FileUnit, requests: readonly PutSchedule[]) =>
    unit.each(requests, (request) => putSchedule(unit, request), putScheduleFailed),
  pauseSchedule: (unit: FileUnit, request: PauseSchedule) => pauseSchedule(unit, request),
  removeSchedules: (unit: FileUnit, names: readonly string[]) => names.filter((name) => unit.schedules.remove(name)),
  fireSchedules: (unit: FileUnit, requests: readonly FireSchedule<PackedJob>[]) =>
    unit.each(requests, (request) => fireSchedule(unit, unit, request), fireScheduleFailed),
  startBulk: (unit: FileUnit, request: StartBulk) => startBulk(unit, new BulkRows(unit), request),
  advanceBulk: (unit: FileUnit, request: AdvanceBulk) => advanceBulk(unit, new BulkRows(unit), request),
  stopBulk: (unit: FileUnit, request: StopBulk) => stopBulk(unit, new BulkRows(unit), request),
}

const reading = {
  confirm: (unit: FileUnit, leases: readonly Lease[]) => leases.map((lease) => confirm(unit, lease)),
  checkpoints: (unit: FileUnit, id: string) => checkpoints(unit, id),
  get: (unit: FileUnit, ids: readonly string[]) => get(unit, ids),
  list: (unit: FileUnit, query: ListQuery) => list(unit, query),
  counts: (unit: FileUnit) => counts(unit),
  machineCounts: (unit: FileUnit, type: string) => machineCounts(unit, type),
  queues: (unit: FileUnit) => queueInfos(unit),
  queue: (unit: FileUnit, type: string) => queueInfo(unit, type),
  queuedSince: (unit: FileUnit, types: readonly string[]) => types.map((type) => queuedSince(unit, type)),
  activity: (unit: FileUnit, query: ActivityQuery) => activity(unit, query),
  failures: (unit: FileUnit, query: FailureQuery) => unit.failures.list(query),
  workers: (unit: FileUnit) => workers(unit),
  unreadable: (unit: FileUnit) => unreadable(unit),
  schedules: (unit: FileUnit, names?: readonly string[]) => unit.schedules.list(names),
  bulkOperations: (unit: FileUnit, only?: 'running') => latestFirst(new BulkRows(unit).all(only)),
  dueSchedules: (unit: FileUnit, request: DueSchedulesRequest) => unit.schedules.due(request, unit.now),
  transitions: (unit: FileUnit, from: string | null, limit: number) => transitions(unit, from, limit),
}

const work = { ...writing, ...reading }

export type Method = keyof typeof work
export type Arguments<M extends Method> = Parameters<(typeof work)[M]> extends [FileUnit, ...infer A] ? A : never
export type Answer<M extends Method> = ReturnType<(typeof work)[M]>

export interface Call {
  readonly method: Method
  readonly args: readonly unknown[]
}

export const writes = ({ method }: Call): boolean => method in writing

/** Runs a call. The caller has matched its arguments with its method. */
export function perform(unit: FileUnit, { method, args }: Call): unknown {
  const act = work[method] as (unit: FileUnit, ...args: readonly unknown[]) => unknown
  return act(unit, ...args)
}
