/**
 * A store that fails as real ones do: it wraps any store and, by chance, refuses a call before anything is written, loses
 * the reply after everything is written, or keeps the caller waiting. What is written is the wrapped store's; nothing is
 * made up but the failure.
 *
 * Calls still take effect in the order in which they are made, as on one connection: each arrives when its own delay is
 * over, but never before those ahead of it. Replies may overtake each other.
 */
import { checkKeys, checkInteger } from '../core/checks.ts'
import { seededRandom, systemClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import type { ScheduleStore, Store } from '../store.ts'

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
  'checkpoints',
  'cancel',
  'retry',
  'discard',
  'promote',
  'rescue',
  'prune',
  'get',
  'list',
  'counts',
  'queues',
  'queue',
  'transitions',
  'putSchedules',
  'schedules',
  'pauseSchedule',
  'removeSchedules',
  'dueSchedules',
  'fireSchedules',
] as const

/** The methods of a store that can fail. */
export type StoreOperation = (typeof operations)[number]

/** How often an operation goes wrong: probabilities from 0 (the default) to 1. */
export interface Faults {
  /** Rejects with STORE_UNAVAILABLE; nothing was done. */
  readonly before?: number
  /** Does it all, then rejects with STORE_UNAVAILABLE: the caller cannot know. With `before`, 1 at most. */
  readonly lostReply?: number
  /** Comes late: on the way there or on the way back. */
  readonly late?: number
  /** How late at most. Default 1 s. */
  readonly lateBy?: Duration
}

/** The faults of single operations, and of `every` operation that is not named. */
export type FaultPlan = { readonly [operation in StoreOperation | 'every']?: Faults }

export interface FaultyStoreOptions {
  readonly faults: FaultPlan
  /** The same seed gives the same faults for the same calls. */
  readonly seed?: number
  /** Chance, instead of a seed. Default: the system's. */
  readonly random?: Random
  /** What lateness is measured by. Default: the clock of the first host that opens the store. */
  readonly clock?: Clock
}

/** What became of the calls of one operation. */
export interface FaultCounts {
  readonly calls: number
  readonly before: number
  readonly lostReply: number
  readonly late: number
}

export interface FaultyStore extends Store {
  /** No faults from now on. What is late already still comes late. */
  calm(): void
  /** Other faults from now on. @throws JobchartError INVALID_OPTION */
  disturb(faults: FaultPlan): void
  /** What it did so far; operations that were never called are missing. */
  readonly done: ReadonlyMap<StoreOperation, FaultCounts>
}

/**
 * Wraps a store so that its calls fail now and then.
 * @throws JobchartError INVALID_OPTION
 * @example
 * const store = faultyStore(memoryStore(), {
 *   seed: 7,
 *   faults: { every: { before: 0.05, lostReply: 0.05, late: 0.1, lateBy: '2s' }, open: {}, worker: {} },
 * })
 */
export function faultyStore(store: Store, options: FaultyStoreOptions): FaultyStore {
  const road = new Road(options)
  const { name, capabilities } = store
  return {
    name: `faulty ${name}`,
    capabilities,
    now: () => store.now(),
    watch: (listener) => store.watch(listener),
    calm: () => road.disturb({}),
    disturb: (faults) => road.disturb(faults),
    done: road.done,
    open: (host) => {
      road.clock ??= host.clock
      return road.take('open', () => store.open(host))
    },
    close: () => road.take('close', () => store.close()),
    insert: (requests) => road.take('insert', async () => store.insert(requests)),
    claim: (request) => road.take('claim', async () => store.claim(request)),
    // An answer in the call itself is neither late nor lost.
    ...(store.confirm && { confirm: (leases) => store.confirm?.(leases) ?? [] }),
    settle: (settlements) => road.take('settle', async () => store.settle(settlements)),
    extend: (request) => road.take('extend', () => store.extend(request)),
    checkpoint: (requests) => road.take('checkpoint', async () => store.checkpoint(requests)),
    send: (requests) => road.take('send', async () => store.send(requests)),
    checkpoints: (id) => road.take('checkpoints', () => store.checkpoints(id)),
    cancel: (requests) => road.take('cancel', async () => store.cancel(requests)),
    retry: (selection, fromStart, dropInbox) =>
      road.take('retry', async () => store.retry(selection, fromStart, dropInbox)),
    discard: (selection) => road.take('discard', () => store.discard(selection)),
    promote: (limit) => road.take('promote', async () => store.promote(limit)),
    rescue: (limit) => road.take('rescue', async () => store.rescue(limit)),
    prune: (policy, limit) => road.take('prune', () => store.prune(policy, limit)),
    get: (ids) => road.take('get', () => store.get(ids)),
    list: (query) => road.take('list', () => store.list(query)),
    counts: () => road.take('counts', () => store.counts()),
    schedules: faultySchedules(store.schedules, road),
    queues: () => road.take('queues', () => store.queues()),
    queue: (type, change) => road.take('queue', () => store.queue(type, change)),
    worker: (id, info) => road.take('worker', () => store.worker(id, info)),
    workers: () => road.take('workers', () => store.workers()),
    transitions: (from, limit) => road.take('transitions', () => store.transitions(from, limit)),
  }
}

const faultySchedules = (store: ScheduleStore, road: Road): ScheduleStore => ({
  put: (requests) => road.take('putSchedules', () => store.put(requests)),
  list: (names) => road.take('schedules', () => store.list(names)),
  pause: (request) => road.take('pauseSchedule', () => store.pause(request)),
  remove: (names) => road.take('removeSchedules', () => store.remove(names)),
  due: (request) => road.take('dueSchedules', () => store.due(request)),
  fire: (requests) => road.take('fireSchedules', async () => store.fire(requests)),
})

/** What is to befall one call; drawn when it is made, so that a seed does not depend on what is late. */
interface Fate {
  readonly end: 'answer' | 'before' | 'lostReply'
  readonly thereMs: number
  readonly backMs: number
}

/** The road to the store and back. */
class Road {
  clock: Clock | undefined
  readonly done = new Map<StoreOperation, { -readonly [count in keyof FaultCounts]: number }>()
  private readonly random: Random
  private plan: FaultPlan = {}
  /** Resolves when what is held up on its way there has arrived; null while nothing is. */
  private jam: Promise<void> | null = null

  constructor(options: FaultyStoreOptions) {
    checkKeys('faultyStore options', options, ['faults', 'seed', 'random', 'clock'])
    const { seed, random, clock, faults } = options
    if (seed !== undefined && random !== undefined) throw invalidOption('seed', 'either seed or random', 'both')
    this.random =
      seed === undefined ? (random ?? systemRandom) : seededRandom(checkInteger('seed', seed, 0, 2 ** 32 - 1))
    this.clock = clock
    this.disturb(faults)
  }

  disturb(faults: FaultPlan): void {
    checkKeys('faults', faults, ['every', ...operations])
    for (const [operation, each] of Object.entries(faults)) checkFaults(`faults.${operation}`, each)
    this.plan = faults
  }

  /** Makes the call, in this very turn unless something is late. */
  take<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const fate = this.draw(operation)
    const { jam } = this
    if (jam === null && fate.thereMs === 0) return this.arrive(operation, fate, call)
    const there = Promise.all([jam, this.wait(fate.thereMs)]).then(() => {})
    const answer = there.then(() => this.arrive(operation, fate, call))
    this.jam = there
    void there.then(() => {
      if (this.jam === there) this.jam = null
    })
    return answer
  }

  private draw(operation: StoreOperation): Fate {
    const { before = 0, lostReply = 0, late = 0, lateBy = '1s' } = this.plan[operation] ?? this.plan.every ?? {}
    const [end, isLate, lateness, way] = [this.random(), this.random(), this.random(), this.random()]
    const lateMs = isLate < late ? Math.ceil(lateness * durationMs(lateBy, 'lateBy')) : 0
    const fate: Fate = {
      end: end < before ? 'before' : end < before + lostReply ? 'lostReply' : 'answer',
      thereMs: way < 0.5 ? lateMs : 0,
      backMs: way < 0.5 ? 0 : lateMs,
    }
    const counts = this.done.get(operation) ?? { calls: 0, before: 0, lostReply: 0, late: 0 }
    this.done.set(operation, counts)
    counts.calls++
    if (fate.end !== 'answer') counts[fate.end]++
    if (lateMs > 0) counts.late++
    return fate
  }

  private async arrive<T>(operation: StoreOperation, { end, backMs }: Fate, call: () => Promise<T>): Promise<T> {
    if (end === 'before') throw unavailable(`${operation} was refused`)
    const answer = await call()
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

function checkFaults(option: string, faults: Faults): void {
  checkKeys(option, faults, ['before', 'lostReply', 'late', 'lateBy'])
  const { before = 0, lostReply = 0, late = 0, lateBy = 0 } = faults
  for (const [name, probability] of Object.entries({
    before,
    lostReply,
    late,
    'before + lostReply': before + lostReply,
  })) {
    if (!(probability >= 0 && probability <= 1)) throw invalidOption(`${option}.${name}`, 'from 0 to 1', probability)
  }
  durationMs(lateBy, `${option}.lateBy`)
}

const unavailable = (what: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `faulty store: ${what}`, {
    hint: 'This store fails on purpose; see its `faults`.',
  })
