/**
 * The SQLite store: jobs in one file, durable, shared by the processes of a host, without a server.
 *
 *   calls of one turn ─▶ [thread: one transaction ─▶ one fsync] ─▶ answers, then hints
 *
 * Writes of other processes are found by polling the change counter of the file.
 */
import { checkInteger, checkKeys, checkEnum, checkText } from '../../core/checks.ts'
import { systemClock, type Clock } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { caps } from '../../core/caps.ts'
import type { ClaimAnswer, ClaimedJob, Hint, Lease, ScheduleStore, Store } from '../../store.ts'
import type { ClaimedRows, ClaimedRow } from './claim.ts'
import { CallQueue } from './call-queue.ts'
import { engineHere } from './engine-runner.ts'
import { packRequest } from './insert.ts'
import { packFire } from './schedules.ts'
import { recordOf } from './fields.ts'
import { machineFields, standing } from './stored-machine.ts'
import { Row, unpacked } from './row.ts'
import type { StatementListener } from './statements.ts'
import { unpackedSteps } from './steps.ts'
import { EngineInThread } from './engine-in-thread.ts'

export { inspectSqliteFile, type SqliteFile } from './inspect.ts'

export interface SqliteStoreOptions {
  /** The file; created if it does not exist, in an existing folder on a local disk. SQLite keeps `-wal` and `-shm` files beside it. */
  readonly path: string
  /**
   * `full` (default): acknowledged writes survive a power cut. `normal`: they survive the death of every process, but a power
   * cut or a crash of the system may lose the last of them.
   */
  readonly durability?: 'full' | 'normal'
  /** Entries of the transition log at most, default 10,000. */
  readonly transitionsMax?: number
  /**
   * Uses a thread for the file, so that the event loop never waits for the disk. Default false: with ten slots on an SSD the
   * event loop waits a millisecond or two at a time, and the throughput is a third higher. Set it for a slow disk, for
   * hundreds of slots, or if other work in this process must not wait. In a bundle, jobchart must be external.
   */
  readonly thread?: boolean
  /** Called before and after each statement, in this thread: for traces and for tests of crashes. */
  readonly onStatement?: StatementListener
}

/**
 * A store in a SQLite file. The file is not touched before a client or a runtime opens the store.
 * @throws JobchartError INVALID_OPTION; its `open` rejects with UNSUPPORTED (another program's or a newer file, a network
 * filesystem, a too old SQLite), STORE_CORRUPT, or STORE_UNAVAILABLE
 * @example
 * const runtime = createRuntime({ jobs, store: sqliteStore({ path: 'jobs.db' }) })
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  checkKeys(
    'options of sqliteStore',
    options,
    ['path', 'durability', 'transitionsMax', 'thread', 'onStatement'],
    "Pass the path of the file: sqliteStore({ path: 'jobs.db' }).",
  )
  const { durability = 'full', transitionsMax = caps.transitions, thread = false, onStatement } = options
  const path = checkText('path', options.path, 4_096)
  if (path.includes('\0') || /[/\\]$/.test(path)) throw invalidOption('path', 'the path of a file', path)
  if (path === ':memory:' || path.startsWith('file:')) {
    throw invalidOption('path', 'the path of a file (memoryStore() keeps jobs in memory)', path)
  }
  const full = checkEnum('durability', durability, ['full', 'normal']) === 'full'
  checkInteger('transitionsMax', transitionsMax, 1, 1_000_000_000)
  if (thread && onStatement !== undefined) {
    throw invalidOption('thread', 'false with onStatement, which a thread cannot call', thread)
  }
  const desk = new CallQueue(path)
  const engine = { path, full, transitionsMax, onStatement }
  let clock: Clock | undefined
  return {
    name: 'sqlite',
    capabilities: { durable: true, shared: true },
    now: () => Math.floor((clock ?? systemClock).now()),
    async open(host) {
      const time = (clock ??= host.clock)
      const hinted = (hints: readonly Hint[]): void => desk.notify(hints)
      await desk.open(time, () => (thread ? new EngineInThread(engine, hinted) : engineHere(engine, time, hinted)))
    },
    close: () => desk.close(),
    watch: (listener) => desk.watch(listener),
    insert: (requests) => desk.ask('insert', requests.map(packRequest)),
    claim: (request) => desk.ask('claim', request).then(handedOut),
    ...(thread ? {} : { confirm: (leases: readonly Lease[]) => desk.askNow('confirm', leases) }),
    settle: (settlements) => desk.ask('settle', settlements),
    extend: (request) => desk.ask('extend', request),
    checkpoint: (requests) => desk.ask('checkpoint', requests),
    send: (requests) => desk.ask('send', requests),
    promote: (limit) => desk.ask('promote', limit),
    rescue: (limit) => desk.ask('rescue', limit),
    prune: (policy, limit) => desk.ask('prune', policy, limit),
    worker: (id, info) => desk.ask('worker', id, info),
    cancel: (requests) => desk.ask('cancel', requests),
    retry: (selection, fromStart = false, dropInbox = 0, edit) =>
      desk.ask('retry', selection, fromStart, dropInbox, edit),
    discard: (selection) => desk.ask('discard', selection),
    queue: (type, change) => (change === undefined ? desk.ask('queue', type) : desk.ask('pause', type, change.paused)),
    schedules: forSchedules(desk),
    checkpoints: (id) => desk.ask('checkpoints', id),
    get: (ids) => desk.ask('get', ids),
    list: (query) => desk.ask('list', query),
    counts: () => desk.ask('counts'),
    queues: () => desk.ask('queues'),
    workers: () => desk.ask('workers'),
    transitions: (from, limit) => desk.ask('transitions', from, limit),
  }
}

const forSchedules = (desk: CallQueue): ScheduleStore => ({
  put: (requests) => desk.ask('putSchedules', requests),
  list: (names) => desk.ask('schedules', names),
  pause: (request) => desk.ask('pauseSchedule', request),
  remove: (names) => desk.ask('removeSchedules', names),
  due: (request) => desk.ask('dueSchedules', request),
  fire: (requests) => desk.ask('fireSchedules', packFire(requests)),
})

const handedOut = ({ jobs, shortfalls: dry }: ClaimedRows): ClaimAnswer => ({
  jobs: jobs.map((job) => claimed(new Row(job.values, job.type), job)),
  shortfalls: dry,
})

const claimed = (row: Row, { kept, steps }: ClaimedRow): ClaimedJob => ({
  id: row.id,
  type: row.type,
  input: unpacked(row.input, undefined),
  priority: row.priority,
  attempt: row.attempt,
  maxAttempts: row.maxAttempts,
  generation: row.generation,
  token: row.token ?? '',
  startedAt: row.startedAt ?? 0,
  seq: row.lastSeq,
  steps: unpackedSteps(steps),
  pins: row.pins,
  meta: unpacked(row.meta, null),
  ...standing(kept),
  record: () => recordOf(row, machineFields(kept)),
})
