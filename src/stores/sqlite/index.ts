/**
 * The SQLite store: jobs in one file, durable, shared by the processes of a host, without a server.
 *
 *   calls of one turn ─▶ [thread: one transaction ─▶ one fsync] ─▶ answers, then hints
 *
 * Writes of other processes are found by polling the change counter of the file.
 */
import { resolve } from 'node:path'
import '../../core/node-version.ts'
import {
  boolean,
  byDefault,
  fn,
  given,
  integer,
  isObject,
  oneOf,
  required,
  table,
  text,
  where,
  type Rule,
  type RulesOf,
} from '../../core/checks.ts'
import { cursorOfEntry, withCursor } from '../../core/cursor.ts'
import { systemClock, type Clock } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { caps } from '../../core/caps.ts'
import type { SqliteDatabase } from '../../core/open-transaction.ts'
import type { BulkStore, ClaimAnswer, ClaimedJob, Hint, Lease, ScheduleStore, Store } from '../../store.ts'
import type { ClaimedRows } from './claim.ts'
import { CallQueue } from './call-queue.ts'
import type { StatementListener } from './driver.ts'
import type { EngineOptions } from './engine.ts'
import { engineHere } from './engine-runner.ts'
import { isUnreadable } from './errors.ts'
import { packRequest } from './insert.ts'
import { packFire } from './schedules.ts'
import { claimed } from './claimed.ts'
import { UserDatabase } from './user-database.ts'
import { UserTransactions } from './user-transactions.ts'
import { EngineInThread } from './engine-in-thread.ts'

export type { BetterSqlite3Database, NodeSqliteDatabase, SqliteDatabase } from '../../core/open-transaction.ts'
export { inspectSqliteFile, type SqliteFile } from './inspect.ts'

export interface SqliteStoreOptions {
  /**
   * The file; created if it does not exist, in an existing folder on a local disk. SQLite keeps `-wal` and `-shm` files
   * beside it.
   */
  readonly path: string
  /**
   * `full` (default): acknowledged writes survive a power cut. `normal`: they survive the death of every process, but a
   * power cut or a crash of the system may lose the last of them.
   */
  readonly durability?: 'full' | 'normal'
  /** Entries of the transition log at most, default 10,000. */
  readonly transitionsMax?: number
  /**
   * Uses a thread for the file, so that the event loop never waits for the disk. Default false: with ten slots on an
   * SSD the event loop waits a millisecond or two at a time, and the throughput is a third higher. Set it for a slow
   * disk, for hundreds of slots, or if other work in this process must not wait. In a bundle, jobchart must be
   * external.
   */
  readonly thread?: boolean
  /** Called before and after each statement, in this thread: for traces and for tests of crashes. */
  readonly onStatement?: StatementListener
}

export interface SqliteDatabaseOptions {
  /**
   * Your open connection, a `DatabaseSync` of node:sqlite or a `Database` of better-sqlite3, to a file in WAL mode. The
   * store works on this connection and with its library, and changes none of its pragmas: acknowledged writes survive a
   * power cut if your `synchronous` is FULL. It never works within a transaction of yours that is open, but waits for
   * its end, five seconds at most. One store may be open on a connection.
   */
  readonly database: SqliteDatabase
  /** Begins the names of its tables and indexes; default `jobchart_`. Small letters, digits and `_`. */
  readonly prefix?: string
  /** Entries of the transition log at most, default 10,000. */
  readonly transitionsMax?: number
  /** Called before and after each statement: for traces and for tests of crashes. */
  readonly onStatement?: StatementListener
}

const filePath = where(
  where(text(4_096), (path) => !path.includes('\0') && !/[/\\]$/.test(path), 'the path of a file'),
  (path) => path !== ':memory:' && !path.startsWith('file:'),
  'the path of a file (memoryStore() keeps jobs in memory)',
)

const sqliteOptions = table(
  {
    path: required(filePath),
    durability: byDefault('full', oneOf('full', 'normal')),
    transitionsMax: byDefault(caps.transitions, integer(1, 1_000_000_000)),
    thread: byDefault(false, boolean),
    onStatement: fn<StatementListener>(),
  } satisfies RulesOf<SqliteStoreOptions>,
  { hint: "Pass the path of the file: sqliteStore({ path: 'jobs.db' })." },
)

const databaseOptions = table(
  {
    database: required(given as Rule<SqliteDatabase>),
    prefix: byDefault(
      'jobchart_',
      where(text(40), (prefix) => /^(?!sqlite_)[a-z_][a-z0-9_]*$/.test(prefix), 'small letters, digits and _'),
    ),
    transitionsMax: byDefault(caps.transitions, integer(1, 1_000_000_000)),
    onStatement: fn<StatementListener>(),
  } satisfies RulesOf<SqliteDatabaseOptions>,
  { hint: 'Its durability is that of your connection, and it works in this thread.' },
)

/**
 * A store in a SQLite file of its own, or in tables of its own in a database of yours, on your connection: then calls
 * can be part of your transactions. A file is not touched before a client or a runtime opens the store;
 * the tables in your database are made at once.
 * @throws JobchartError INVALID_OPTION; its `open` rejects with UNSUPPORTED (another program's or a newer file, a
 * network filesystem, a too old SQLite), STORE_CORRUPT, or STORE_UNAVAILABLE
 * @example
 * const runtime = createRuntime({ jobs, store: sqliteStore({ path: 'jobs.db' }) })
 */
export function sqliteStore(options: SqliteStoreOptions | SqliteDatabaseOptions): Store {
  if (isObject(options) && 'database' in options) return inDatabase(options as SqliteDatabaseOptions)
  const { durability, transitionsMax, thread, onStatement, ...file } = sqliteOptions(options, 'options of sqliteStore')
  // The process may change its folder before the store opens the file, or looks whether it is still there.
  const path = resolve(file.path)
  if (thread && onStatement !== undefined) {
    throw invalidOption('thread', 'false with onStatement, which a thread cannot call', thread)
  }
  return storeOf(new CallQueue(path), { path, full: durability === 'full', transitionsMax, onStatement }, thread)
}

function inDatabase(options: SqliteDatabaseOptions): Store {
  const { database, prefix, transitionsMax, onStatement } = databaseOptions(options, 'options of sqliteStore')
  const user = new UserDatabase(database, prefix, onStatement)
  const { path } = user
  const callQueue = new CallQueue(path)
  const transactions = new UserTransactions(user, (lease) => callQueue.standingWithin(lease))
  const store = storeOf(callQueue, { path, full: true, transitionsMax, onStatement, shared: { user, transactions } })
  return {
    ...store,
    capabilities: { ...store.capabilities, transactions: true },
    transactions: {
      write: (tx, intents) => transactions.write(tx, intents),
      synchronous: {
        write: (tx, intents) => transactions.writeNow(tx, intents),
        counts: () => transactions.counts(),
        areKept: (receipts) => transactions.areKept(receipts),
      },
      fates: async (receipts) => transactions.fates(receipts),
      carryOut: (limit) => callQueue.ask('carryOut', limit),
    },
  }
}

function storeOf(callQueue: CallQueue, engine: EngineOptions, thread = false): Store {
  let clock: Clock | undefined
  return {
    name: 'sqlite',
    capabilities: { durable: true, shared: true, groupsCalls: true },
    now: () => Math.floor((clock ?? systemClock).now()),
    async open(host) {
      const time = (clock ??= host.clock)
      const hinted = (hints: readonly Hint[]): void => callQueue.notify(hints)
      await callQueue.open(time, () => (thread ? new EngineInThread(engine, hinted) : engineHere(engine, time, hinted)))
    },
    close: () => callQueue.close(),
    watch: (listener) => callQueue.watch(listener),
    insert: (requests) => callQueue.ask('insert', requests.map(packRequest)),
    claim: (request) => callQueue.ask('claim', request).then((answer) => handedOut(callQueue, answer)),
    ...(thread ? {} : { confirm: (leases: readonly Lease[]) => callQueue.askNow('confirm', leases) }),
    settle: (settlements) => callQueue.ask('settle', settlements),
    extend: (request) => callQueue.ask('extend', request),
    checkpoint: (requests) => callQueue.ask('checkpoint', requests),
    send: (requests) => callQueue.ask('send', requests),
    reindex: (requests) => callQueue.ask('reindex', requests),
    promote: (limit) => callQueue.ask('promote', limit),
    rescue: (limit) => callQueue.ask('rescue', limit),
    retain: (policies) => callQueue.ask('retain', policies),
    prune: (limit) => callQueue.ask('prune', limit),
    worker: (id, info) => callQueue.ask('worker', id, info),
    cancel: (requests) => callQueue.ask('cancel', requests),
    retry: (ids, fromStart = false, dropInbox = 0, edit) => callQueue.ask('retry', ids, fromStart, dropInbox, edit),
    discard: (ids) => callQueue.ask('discard', ids),
    queue: (type, change) =>
      change === undefined ? callQueue.ask('queue', type) : callQueue.ask('changeQueue', type, change),
    schedules: forSchedules(callQueue),
    bulk: forBulk(callQueue),
    checkpoints: (id) => callQueue.ask('checkpoints', id),
    get: (ids) => callQueue.ask('get', ids),
    async list(query) {
      const { answer, seq } = await callQueue.ask('list', query)
      return withCursor(Object.assign(answer.jobs, { next: answer.next }), cursorOfEntry(seq))
    },
    async counts() {
      const { answer, seq } = await callQueue.ask('counts')
      return withCursor(answer, cursorOfEntry(seq))
    },
    unreadable: () => callQueue.ask('unreadable'),
    repair: () => callQueue.ask('repair'),
    machineCounts: (type) => callQueue.ask('machineCounts', type),
    heat: (query) => callQueue.ask('heat', query),
    queues: () => callQueue.ask('queues'),
    queuedSince: (types) => callQueue.ask('queuedSince', types),
    activity: (query) => callQueue.ask('activity', query),
    failures: (query) => callQueue.ask('failures', query),
    failureMerges: (change) =>
      change === undefined ? callQueue.ask('failureMerges') : callQueue.ask('changeFailureMerges', change),
    workers: () => callQueue.ask('workers'),
    terms: (query) => callQueue.ask('terms', query),
    transitions: (from, limit) => callQueue.ask('transitions', from, limit),
  }
}

const forSchedules = (callQueue: CallQueue): ScheduleStore => ({
  put: (requests) => callQueue.ask('putSchedules', requests),
  list: (names) => callQueue.ask('schedules', names),
  pause: (request) => callQueue.ask('pauseSchedule', request),
  remove: (names) => callQueue.ask('removeSchedules', names),
  due: (request) => callQueue.ask('dueSchedules', request),
  fire: (requests) => callQueue.ask('fireSchedules', packFire(requests)),
})

const forBulk = (callQueue: CallQueue): BulkStore => ({
  start: (request) => callQueue.ask('startBulk', request),
  advance: (request) => callQueue.ask('advanceBulk', request),
  stop: (request) => callQueue.ask('stopBulk', request),
  list: (only) => callQueue.ask('bulkOperations', only),
})

/** What was claimed, without the jobs whose data cannot be read: these are set aside. */
function handedOut(callQueue: CallQueue, answer: ClaimedRows): ClaimAnswer | Promise<ClaimAnswer> {
  const { shortfalls, unreadable } = answer
  const bad: number[] = []
  const jobs = answer.jobs.flatMap((job): ClaimedJob[] => {
    try {
      return [claimed(job)]
    } catch (error) {
      if (!isUnreadable(error)) throw error
      bad.push(job.values[0])
      return []
    }
  })
  const given = (ids: readonly string[]): ClaimAnswer => ({
    jobs,
    shortfalls,
    ...(ids.length > 0 && { unreadable: ids }),
  })
  return bad.length === 0
    ? given(unreadable)
    : callQueue.ask('setAside', bad).then((ids) => given([...unreadable, ...ids]))
}
