/**
 * The memory store: nothing outlives the process, everything else is as in any store. Each method does all of its work
 * in the call itself, so that calls take effect in the order in which they are made, awaited or not.
 */
import { knownKeys, whole } from '../../checks.ts'
import { systemClock, type Clock } from '../../clock.ts'
import { caps } from '../../job/caps.ts'
import { recordError, type ErrorRecord } from '../../job/failure.ts'
import {
  beatFailed,
  cancelFailed,
  checkpointFailed,
  insertFailed,
  sendFailed,
  settleFailed,
} from '../../store-failures.ts'
import type { Store } from '../../store.ts'
import { discard, retry } from './admin.ts'
import { Books } from './books.ts'
import { cancel } from './cancel.ts'
import { claim, standing } from './claim.ts'
import { idsOf, insert } from './insert.ts'
import { checkpoint, checkpointsOf, send } from './machine.ts'
import { counts, list, queueInfo, workerRecords } from './reading.ts'
import { recordOf } from './records.ts'
import { beat, settle } from './settle.ts'
import { promote, prune, rescue } from './sweep.ts'

export interface MemoryStoreOptions {
  /** Judges leases and due times; default: the clock of the first host that opens the store. */
  readonly clock?: Clock
  /** Entries of the transition log at most, default 10,000. */
  readonly transitionsMax?: number
}

/**
 * A store in this process's memory: the fastest, and the specification of the others.
 * @throws JobchartError INVALID_OPTION
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  knownKeys('options of memoryStore', options, ['clock', 'transitionsMax'])
  const { transitionsMax = caps.transitions } = options
  whole('transitionsMax', transitionsMax, 1, 1_000_000_000)
  const books = new Books(transitionsMax)
  let { clock } = options
  const now = (): number => (clock ?? systemClock).now()
  return {
    name: 'memory',
    capabilities: { durable: false, shared: false },
    now,
    async open(host) {
      clock ??= host.clock
    },
    async close() {},
    watch: (listener) => books.hints.watch(listener),
    ...forWorkers(books, now),
    ...forAdmins(books, now),
    ...forReaders(books),
  }
}

/** What every write ends with: the hints it has given rise to. */
function written<T>(books: Books, answer: T): T {
  books.hints.send(books.backlog)
  return answer
}

/** Answers item by item: one that throws fails alone. Each looks at all that it is given before it changes anything. */
function each<I, A>(items: readonly I[], act: (item: I) => A, failed: (error: ErrorRecord, item: I) => A): A[] {
  return items.map((item) => {
    try {
      return act(item)
    } catch (error) {
      return failed(recordError(error), item)
    }
  })
}

type Work =
  | 'insert'
  | 'claim'
  | 'confirm'
  | 'settle'
  | 'extend'
  | 'checkpoint'
  | 'send'
  | 'promote'
  | 'rescue'
  | 'prune'
  | 'worker'

const forWorkers = (books: Books, now: () => number): Pick<Store, Work> => ({
  insert(requests) {
    const at = now()
    return written(
      books,
      each(
        requests,
        (request) => insert(books, request, at),
        (error, request) => insertFailed(idsOf(request), error),
      ),
    )
  },
  claim(request) {
    return written(books, claim(books, request, now()))
  },
  confirm(leases) {
    return leases.map((lease) => standing(books, lease))
  },
  settle(settlements) {
    const at = now()
    return written(
      books,
      each(settlements, (settlement) => settle(books, settlement, at), settleFailed),
    )
  },
  async extend({ worker, leaseMs, beats }) {
    const at = now()
    const known = books.workers.get(worker)
    if (known !== undefined) known.seenAt = at
    return written(
      books,
      each(beats, (sign) => beat(books, sign, leaseMs, at), beatFailed),
    )
  },
  checkpoint(requests) {
    const at = now()
    return each(requests, (request) => checkpoint(books, request, at), checkpointFailed)
  },
  send(requests) {
    const at = now()
    return written(
      books,
      each(requests, (request) => send(books, request, at), sendFailed),
    )
  },
  promote(limit) {
    return written(books, promote(books, limit, now()))
  },
  rescue(limit) {
    return written(books, rescue(books, limit, now()))
  },
  async prune(policy, limit) {
    return prune(books, policy, limit, now())
  },
  async worker(id, info) {
    if (info === null) books.workers.delete(id)
    else books.workers.set(id, { info, seenAt: now() })
  },
})

const forAdmins = (books: Books, now: () => number): Pick<Store, 'cancel' | 'retry' | 'discard' | 'queue'> => ({
  cancel(requests) {
    const at = now()
    return written(
      books,
      each(requests, (request) => cancel(books, request, at), cancelFailed),
    )
  },
  retry(selection, fromStart = false) {
    return written(books, retry(books, selection, fromStart, now()))
  },
  async discard(selection) {
    return discard(books, selection)
  },
  async queue(type, change) {
    if (change !== undefined) books.pause(type, change.paused)
    return written(books, queueInfo(books, type))
  },
})

type Questions = 'checkpoints' | 'get' | 'list' | 'counts' | 'workers' | 'transitions'

const forReaders = (books: Books): Pick<Store, Questions> => ({
  async checkpoints(id) {
    return checkpointsOf(books.rows.get(id))
  },
  async get(ids) {
    return ids.map((id) => {
      const row = books.rows.get(id)
      return row === undefined ? null : recordOf(row)
    })
  },
  async list(query) {
    return list(books, query)
  },
  async counts() {
    return counts(books)
  },
  async workers() {
    return workerRecords(books)
  },
  async transitions(from, limit) {
    return books.log.page(from, limit)
  },
})
