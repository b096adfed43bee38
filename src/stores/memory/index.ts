/**
 * The memory store: nothing outlives the process, everything else is as in any store. Each method does all of its work
 * in the call itself, so that calls take effect in the order in which they are made, awaited or not.
 */
import { systemClock, type Clock } from '../../clock.ts'
import { invalidOption } from '../../errors.ts'
import { caps } from '../../job/caps.ts'
import type { Store, WorkerInfo } from '../../store.ts'
import { discard, retry } from './admin.ts'
import { Books } from './books.ts'
import { cancel } from './cancel.ts'
import { claim } from './claim.ts'
import { insert } from './insert.ts'
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
  const { transitionsMax = caps.transitions } = options
  if (!Number.isInteger(transitionsMax) || transitionsMax < 1) {
    throw invalidOption('transitionsMax', 'an integer ≥ 1', transitionsMax)
  }
  let clock = options.clock
  const books = new Books(transitionsMax)
  const workers = new Map<string, { info: WorkerInfo; seenAt: number }>()

  const now = (): number => (clock ?? systemClock).now()
  /** What every write ends with. */
  const written = <T>(answer: T): T => {
    books.hints.send(books.backlog)
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

    async insert(requests) {
      const at = now()
      return written(requests.map((request) => insert(books, request, at)))
    },
    async claim(request) {
      return written(claim(books, request, now()))
    },
    async settle(settlements) {
      const at = now()
      return written(settlements.map((settlement) => settle(books, settlement, at)))
    },
    async extend({ worker, leaseMs, beats }) {
      const at = now()
      const seen = workers.get(worker)
      if (seen !== undefined) seen.seenAt = at
      return beats.map((sign) => beat(books, sign, leaseMs, at))
    },
    async cancel(requests) {
      const at = now()
      return written(requests.map((request) => cancel(books, request, at)))
    },
    async retry(selection) {
      return written(retry(books, selection, now()))
    },
    async discard(selection) {
      return discard(books, selection)
    },
    async promote(limit) {
      return written(promote(books, limit, now()))
    },
    async rescue(limit) {
      return written(rescue(books, limit, now()))
    },
    async prune(policy, limit) {
      return prune(books, policy, limit, now())
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
    async queue(type, change) {
      if (change !== undefined) {
        const queue = books.queue(type)
        queue.paused = change.paused
        books.hints.ready(queue)
      }
      return written(queueInfo(books, type))
    },
    async worker(id, info) {
      if (info === null) workers.delete(id)
      else workers.set(id, { info, seenAt: now() })
    },
    async workers() {
      return workerRecords(books, workers.values())
    },
    async transitions(from, limit) {
      return books.log.page(from, limit)
    },
    watch(listener) {
      return books.hints.watch(listener)
    },
  }
}
