/** What can be asked of the file, by name: arguments and answers are plain values, so that they may cross threads. */
import type {
  CancelRequest,
  CheckpointRequest,
  ClaimRequest,
  ExtendRequest,
  Lease,
  ListQuery,
  RetentionPolicy,
  Selection,
  SendRequest,
  WorkerInfo,
} from '../../store.ts'
import type { Settlement } from '../../job/settlement.ts'
import { cancelFailed, checkpointFailed, sendFailed, settleFailed } from '../../store-failures.ts'
import { discard, retry } from './admin.ts'
import type { Books } from './books.ts'
import { cancel } from './cancel.ts'
import { claim, confirm } from './claim.ts'
import { insert, refused, type PackedRequest, type Unpackable } from './insert.ts'
import { send } from './letters.ts'
import { checkpoint, checkpoints } from './machine.ts'
import { transitions } from './log.ts'
import { counts, get, list, pause, queueInfo, worker, workers } from './reading.ts'
import { extend, settle } from './settle.ts'
import { promote, prune, rescue } from './sweep.ts'

const writing = {
  insert: (books: Books, requests: readonly (PackedRequest | Unpackable)[]) =>
    books.each(requests, (request) => insert(books, request), refused),
  claim: (books: Books, request: ClaimRequest) => claim(books, request),
  settle: (books: Books, settlements: readonly Settlement[]) =>
    books.each(settlements, (each) => settle(books, each), settleFailed),
  extend: (books: Books, request: ExtendRequest) => extend(books, request),
  checkpoint: (books: Books, requests: readonly CheckpointRequest[]) =>
    books.each(requests, (request) => checkpoint(books, request), checkpointFailed),
  send: (books: Books, requests: readonly SendRequest[]) =>
    books.each(requests, (request) => send(books, request), sendFailed),
  cancel: (books: Books, requests: readonly CancelRequest[]) =>
    books.each(requests, (request) => cancel(books, request), cancelFailed),
  retry: (books: Books, selection: Selection, fromStart: boolean) => retry(books, selection, fromStart),
  discard: (books: Books, selection: Selection) => discard(books, selection),
  promote: (books: Books, limit: number) => promote(books, limit),
  rescue: (books: Books, limit: number) => rescue(books, limit),
  prune: (books: Books, policy: RetentionPolicy, limit: number) => prune(books, policy, limit),
  pause: (books: Books, type: string, paused: boolean) => pause(books, type, paused),
  worker: (books: Books, id: string, info: WorkerInfo | null) => worker(books, id, info),
}

const reading = {
  confirm: (books: Books, leases: readonly Lease[]) => confirm(books, leases),
  checkpoints: (books: Books, id: string) => checkpoints(books, id),
  get: (books: Books, ids: readonly string[]) => get(books, ids),
  list: (books: Books, query: ListQuery) => list(books, query),
  counts: (books: Books) => counts(books),
  queue: (books: Books, type: string) => queueInfo(books, type),
  workers: (books: Books) => workers(books),
  transitions: (books: Books, from: number, limit: number) => transitions(books, from, limit),
}

const work = { ...writing, ...reading }

export type Method = keyof typeof work
export type Arguments<M extends Method> = Parameters<(typeof work)[M]> extends [Books, ...infer A] ? A : never
export type Answer<M extends Method> = ReturnType<(typeof work)[M]>

export interface Call {
  readonly method: Method
  readonly args: readonly unknown[]
}

export const writes = ({ method }: Call): boolean => method in writing

/** Does what a call asks. Whoever made the call has matched its arguments with its method. */
export function perform(books: Books, { method, args }: Call): unknown {
  const act = work[method] as (books: Books, ...args: readonly unknown[]) => unknown
  return act(books, ...args)
}
