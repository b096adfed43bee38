/**
 * A store that fails like a real one: it wraps any store and, at random, rejects a call before anything is written,
 * loses the reply after everything is written, or delays it. The wrapped store does all the work.
 *
 * Calls take effect in the order in which they are made, as on one connection: a delayed call delays the calls after
 * it. Replies may arrive in another order.
 */
import { byDefault, given, is, required, integer, object, table, type Rule, type RulesOf } from '../core/checks.ts'
import {
  clockOption,
  randomOption,
  seededRandom,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '../core/clock.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import type { BulkStore, ScheduleStore, Store, TransactionStore } from '../store.ts'

const operations = [
  'open',
  'close',
  'worker',
  'workers',
  'insert',
  'claim',
  'settle',
  'extend',
  'checkpoint',
  'send',
  'reindex',
  'checkpoints',
  'cancel',
  'retry',
  'discard',
  'promote',
  'rescue',
  'retain',
  'prune',
  'get',
  'list',
  'counts',
  'machineCounts',
  'heat',
  'queues',
  'queue',
  'queuedSince',
  'activity',
  'failures',
  'failureMerges',
  'terms',
  'transitions',
  'putSchedules',
  'schedules',
  'pauseSchedule',
  'removeSchedules',
  'dueSchedules',
  'fireSchedules',
  'startBulk',
  'advanceBulk',
  'stopBulk',
  'bulkOperations',
  'writeInTransaction',
  'transactionFates',
  'carryOut',
  'announce',
  'repair',
  'unreadable',
] as const

/** The methods of a store that can fail. */
export type StoreOperation = (typeof operations)[number]

/** The probabilities of faults of an operation, from 0 (the default) to 1. */
export interface Faults {
  /** Rejects with STORE_UNAVAILABLE without calling the store. */
  readonly before?: number
  /** Calls the store, then rejects with STORE_UNAVAILABLE. The sum with `before` is 1 at most. */
  readonly lostReply?: number
  /** Delays the call or its reply. */
  readonly late?: number
  /** The maximum delay. Default 1 s. */
  readonly lateBy?: Duration
}

/** The faults of single operations, and of `every` operation that is not named. */
export type FaultPlan = { readonly [operation in StoreOperation | 'every']?: Faults }

export interface FaultyStoreOptions {
  readonly faults: FaultPlan
  /** The same seed gives the same faults for the same calls. */
  readonly seed?: number
  /** Random numbers, instead of a seed. Default: Math.random. */
  readonly random?: Random
  /** The clock for delays. Default: that of the first client or runtime that opens the store. */
  readonly clock?: Clock
}

/** Numbers of the calls of one operation, by outcome. */
export interface FaultCounts {
  readonly calls: number
  readonly before: number
  readonly lostReply: number
  readonly late: number
}

export interface FaultyStore extends Store {
  /** Ends all faults. Calls that are delayed already stay delayed. */
  calm(): void
  /** Replaces the faults. @throws JobchartError INVALID_OPTION */
  disturb(faults: FaultPlan): void
  /** Numbers of calls so far. Operations that were never called are missing. */
  readonly done: ReadonlyMap<StoreOperation, FaultCounts>
}

/**
 * Wraps a store so that its calls fail at random.
 * @throws JobchartError INVALID_OPTION
 * @example
 * const store = faultyStore(memoryStore(), {
 *   seed: 7,
 *   faults: { every: { before: 0.05, lostReply: 0.05, late: 0.1, lateBy: '2s' }, open: {}, worker: {} },
 * })
 */
export function faultyStore(store: Store, options: FaultyStoreOptions): FaultyStore {
  const injector = new FaultInjector(options)
  const { name, capabilities } = store
  return {
    name: `faulty ${name}`,
    capabilities,
    now: () => store.now(),
    watch: (listener) => store.watch(listener),
    ...(store.watchEnds && { watchEnds: () => store.watchEnds?.() }),
    calm: () => injector.disturb({}),
    disturb: (faults) => injector.disturb(faults),
    done: injector.done,
    open: (host) => {
      injector.clock ??= host.clock
      return injector.call('open', () => store.open(host))
    },
    close: () => injector.call('close', () => store.close()),
    insert: (requests) => injector.call('insert', async () => store.insert(requests)),
    claim: (request) => injector.call('claim', async () => store.claim(request)),
    // A synchronous answer can be neither delayed nor lost.
    ...(store.confirm && { confirm: (leases) => store.confirm?.(leases) ?? [] }),
    ...(store.announce && {
      announce: (ids, forMs) => injector.call('announce', async () => store.announce?.(ids, forMs)),
    }),
    ...faultyRepair(store, injector),
    ...(store.terms && {
      terms: (query) => injector.call('terms', async () => store.terms?.(query) ?? { kinds: [], terms: [] }),
    }),
    settle: (settlements) => injector.call('settle', async () => store.settle(settlements)),
    extend: (request) => injector.call('extend', () => store.extend(request)),
    checkpoint: (requests) => injector.call('checkpoint', async () => store.checkpoint(requests)),
    send: (requests) => injector.call('send', async () => store.send(requests)),
    reindex: (requests) => injector.call('reindex', () => store.reindex(requests)),
    checkpoints: (id) => injector.call('checkpoints', () => store.checkpoints(id)),
    cancel: (requests) => injector.call('cancel', async () => store.cancel(requests)),
    retry: (ids, fromStart, dropInbox, edit) =>
      injector.call('retry', async () => store.retry(ids, fromStart, dropInbox, edit)),
    discard: (ids) => injector.call('discard', () => store.discard(ids)),
    promote: (limit) => injector.call('promote', async () => store.promote(limit)),
    rescue: (limit) => injector.call('rescue', async () => store.rescue(limit)),
    retain: (policies) => injector.call('retain', () => store.retain(policies)),
    prune: (limit) => injector.call('prune', () => store.prune(limit)),
    get: (ids) => injector.call('get', () => store.get(ids)),
    list: (query) => injector.call('list', () => store.list(query)),
    counts: () => injector.call('counts', () => store.counts()),
    schedules: faultySchedules(store.schedules, injector),
    bulk: faultyBulk(store.bulk, injector),
    ...(store.transactions && { transactions: faultyTransactions(store.transactions, injector) }),
    machineCounts: (type) => injector.call('machineCounts', () => store.machineCounts(type)),
    heat: (query) => injector.call('heat', () => store.heat(query)),
    queues: () => injector.call('queues', () => store.queues()),
    queue: (type, change) => injector.call('queue', () => store.queue(type, change)),
    queuedSince: (types) => injector.call('queuedSince', () => store.queuedSince(types)),
    activity: (query) => injector.call('activity', () => store.activity(query)),
    failures: (query) => injector.call('failures', () => store.failures(query)),
    failureMerges: (change) => injector.call('failureMerges', () => store.failureMerges(change)),
    worker: (id, info) => injector.call('worker', () => store.worker(id, info)),
    workers: () => injector.call('workers', () => store.workers()),
    transitions: (from, limit) => injector.call('transitions', () => store.transitions(from, limit)),
  }
}

/** What repairs a store, and what cannot be read of it, if it has that. */
const faultyRepair = (store: Store, injector: FaultInjector): Pick<Store, 'repair' | 'unreadable'> => ({
  ...(store.repair && { repair: () => injector.call('repair', async () => present(store.repair?.())) }),
  ...(store.unreadable && {
    unreadable: () => injector.call('unreadable', async () => present(store.unreadable?.())),
  }),
})

function present<T>(answer: Promise<T> | undefined): Promise<T> {
  if (answer === undefined) throw new TypeError('the store has lost a method')
  return answer
}

const faultySchedules = (store: ScheduleStore, injector: FaultInjector): ScheduleStore => ({
  put: (requests) => injector.call('putSchedules', () => store.put(requests)),
  list: (names) => injector.call('schedules', () => store.list(names)),
  pause: (request) => injector.call('pauseSchedule', () => store.pause(request)),
  remove: (names) => injector.call('removeSchedules', () => store.remove(names)),
  due: (request) => injector.call('dueSchedules', () => store.due(request)),
  fire: (requests) => injector.call('fireSchedules', async () => store.fire(requests)),
})

const faultyBulk = (store: BulkStore, injector: FaultInjector): BulkStore => ({
  start: (request) => injector.call('startBulk', async () => store.start(request)),
  advance: (request) => injector.call('advanceBulk', async () => store.advance(request)),
  stop: (request) => injector.call('stopBulk', () => store.stop(request)),
  list: (only) => injector.call('bulkOperations', () => store.list(only)),
})

const faultyTransactions = (store: TransactionStore, injector: FaultInjector): TransactionStore => ({
  write: (tx, intents) => injector.call('writeInTransaction', () => store.write(tx, intents)),
  ...(store.synchronous && { synchronous: store.synchronous }),
  fates: (receipts) => injector.call('transactionFates', () => store.fates(receipts)),
  carryOut: (limit) => injector.call('carryOut', () => store.carryOut(limit)),
})

/** The faults of one call, drawn when it is made: a seed gives the same faults whatever is delayed. */
interface DrawnFaults {
  readonly end: 'answer' | 'before' | 'lostReply'
  readonly thereMs: number
  readonly backMs: number
}

const probability = is('from 0 to 1', (value): value is number => typeof value === 'number' && value >= 0 && value <= 1)

const faultRules = object({
  before: byDefault(0, probability),
  lostReply: byDefault(0, probability),
  late: byDefault(0, probability),
  lateBy: byDefault('1s', durationMs),
} satisfies RulesOf<Faults>)

const faultsOption: Rule<Faults> = (value, name) => {
  const faults = faultRules(value, name)
  probability(faults.before + faults.lostReply, `${name}.before + lostReply`)
  return faults
}

const faultPlan = object(Object.fromEntries(['every', ...operations].map((each) => [each, faultsOption])))

const faultyStoreOptions = table({
  faults: required(given),
  seed: integer(0, 2 ** 32 - 1),
  random: randomOption,
  clock: clockOption,
} satisfies RulesOf<FaultyStoreOptions>)

/** Draws and applies the faults of calls. */
class FaultInjector {
  clock: Clock | undefined
  readonly done = new Map<StoreOperation, { -readonly [count in keyof FaultCounts]: number }>()
  private readonly random: Random
  private plan: FaultPlan = {}
  /** Resolves when the delayed calls have reached the store; null if there are none. */
  private delayedCalls: Promise<void> | null = null

  constructor(options: FaultyStoreOptions) {
    const { seed, random = systemRandom, clock } = faultyStoreOptions(options, 'faultyStore options')
    if (seed !== undefined && options.random !== undefined) throw invalidOption('seed', 'either seed or random', 'both')
    this.random = seed === undefined ? random : seededRandom(seed)
    this.clock = clock
    this.disturb(options.faults)
  }

  disturb(faults: FaultPlan): void {
    faultPlan(faults, 'faults')
    this.plan = faults
  }

  /** Makes the call, in this turn unless it or an earlier one is delayed. */
  call<T>(operation: StoreOperation, run: () => Promise<T>): Promise<T> {
    const drawn = this.draw(operation)
    const { delayedCalls } = this
    if (delayedCalls === null && drawn.thereMs === 0) return this.arrive(operation, drawn, run)
    const there = Promise.all([delayedCalls, this.wait(drawn.thereMs)]).then(() => {})
    const answer = there.then(() => this.arrive(operation, drawn, run))
    this.delayedCalls = there
    void there.then(() => {
      if (this.delayedCalls === there) this.delayedCalls = null
    })
    return answer
  }

  private draw(operation: StoreOperation): DrawnFaults {
    const { before = 0, lostReply = 0, late = 0, lateBy = '1s' } = this.plan[operation] ?? this.plan.every ?? {}
    const [end, isLate, lateness, way] = [this.random(), this.random(), this.random(), this.random()]
    const lateMs = isLate < late ? Math.ceil(lateness * durationMs(lateBy, 'lateBy')) : 0
    const drawn: DrawnFaults = {
      end: end < before ? 'before' : end < before + lostReply ? 'lostReply' : 'answer',
      thereMs: way < 0.5 ? lateMs : 0,
      backMs: way < 0.5 ? 0 : lateMs,
    }
    const counts = this.done.get(operation) ?? { calls: 0, before: 0, lostReply: 0, late: 0 }
    this.done.set(operation, counts)
    counts.calls++
    if (drawn.end !== 'answer') counts[drawn.end]++
    if (lateMs > 0) counts.late++
    return drawn
  }

  private async arrive<T>(operation: StoreOperation, { end, backMs }: DrawnFaults, run: () => Promise<T>): Promise<T> {
    if (end === 'before') throw unavailable(`${operation} was refused`)
    const answer = await run()
    if (backMs > 0) await this.wait(backMs)
    if (end === 'lostReply') throw unavailable(`the reply to ${operation} was lost`)
    return answer
  }

  private wait(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve()
    const clock = this.clock ?? systemClock
    return new Promise((resolve) => void clock.timer(resolve, ms, { keepAlive: true }))
  }
}

const unavailable = (what: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `faulty store: ${what}`, {
    hint: 'This store fails on purpose; see its `faults`.',
  })
