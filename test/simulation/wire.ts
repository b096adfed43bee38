/**
 * How a process reaches the store. In a fleet it is a long way: calls fail, are late, lose their replies; hints get
 * lost; what a process has sent when it dies may arrive or not, and no answer finds it any more. An embedded store is
 * at hand.
 */
import type { Store } from 'jobchart'
import { faultyStore, type Faults, type FaultyStore, type StoreOperation, type VirtualClock } from 'jobchart/testing'
import type { Answer, Hint } from '../../src/store.ts'
import type { Dice } from './dice.ts'
import type { Host } from './host.ts'
import type { Plan } from './plan.ts'

/** What a way to the store is like. */
export type Weather = Pick<Plan, 'faults' | 'hintLoss'>

const hintLateMs = 2_000

export interface Wire {
  readonly store: Store
  /** How many listen for hints. */
  readonly listening: number
  /** Where calls go wrong; null for a store at hand. */
  readonly road: FaultyStore | null
  /** The process dies: what it has sent may be lost, too. */
  cut(): void
}

type Pass = <T>(operation: StoreOperation, call: () => Answer<T>) => Promise<T>

/** The store, every call of it passed through. */
const through = (store: Store, pass: Pass): Store => ({
  name: store.name,
  capabilities: store.capabilities,
  now: () => store.now(),
  watch: (listener) => store.watch(listener),
  open: (host) => pass('open', () => store.open(host)),
  close: () => pass('close', () => store.close()),
  insert: (requests) => pass('insert', () => store.insert(requests)),
  claim: (request) => pass('claim', () => store.claim(request)),
  settle: (settlements) => pass('settle', () => store.settle(settlements)),
  extend: (request) => pass('extend', () => store.extend(request)),
  checkpoint: (requests) => pass('checkpoint', () => store.checkpoint(requests)),
  send: (requests) => pass('send', () => store.send(requests)),
  schedules: {
    put: (requests) => pass('putSchedules', () => store.schedules.put(requests)),
    list: (names) => pass('schedules', () => store.schedules.list(names)),
    pause: (request) => pass('pauseSchedule', () => store.schedules.pause(request)),
    remove: (names) => pass('removeSchedules', () => store.schedules.remove(names)),
    due: (request) => pass('dueSchedules', () => store.schedules.due(request)),
    fire: (requests) => pass('fireSchedules', () => store.schedules.fire(requests)),
  },
  bulk: {
    start: (request) => pass('startBulk', () => store.bulk.start(request)),
    advance: (request) => pass('advanceBulk', () => store.bulk.advance(request)),
    stop: (request) => pass('stopBulk', () => store.bulk.stop(request)),
    list: (only) => pass('bulkOperations', () => store.bulk.list(only)),
  },
  reindex: (requests) => pass('reindex', () => store.reindex(requests)),
  checkpoints: (id) => pass('checkpoints', () => store.checkpoints(id)),
  cancel: (requests) => pass('cancel', () => store.cancel(requests)),
  retry: (ids, fromStart, dropInbox) => pass('retry', () => store.retry(ids, fromStart, dropInbox)),
  discard: (ids) => pass('discard', () => store.discard(ids)),
  promote: (limit) => pass('promote', () => store.promote(limit)),
  rescue: (limit) => pass('rescue', () => store.rescue(limit)),
  retain: (policies) => pass('retain', () => store.retain(policies)),
  prune: (limit) => pass('prune', () => store.prune(limit)),
  get: (ids) => pass('get', () => store.get(ids)),
  list: (query) => pass('list', () => store.list(query)),
  counts: () => pass('counts', () => store.counts()),
  machineCounts: (type) => pass('machineCounts', () => store.machineCounts(type)),
  heat: (query) => pass('heat', () => store.heat(query)),
  queues: () => pass('queues', () => store.queues()),
  queue: (type, change) => pass('queue', () => store.queue(type, change)),
  worker: (id, info) => pass('worker', () => store.worker(id, info)),
  queuedSince: (types) => pass('queuedSince', () => store.queuedSince(types)),
  activity: (query) => pass('activity', () => store.activity(query)),
  failures: (query) => pass('failures', () => store.failures(query)),
  failureMerges: (change) => pass('failureMerges', () => store.failureMerges(change)),
  workers: () => pass('workers', () => store.workers()),
  transitions: (from, limit) => pass('transitions', () => store.transitions(from, limit)),
})

const never = <T>(): Promise<T> => new Promise(() => {})

/** A store in the process itself. */
export function atHand(store: Store, host: Host): Wire {
  let listening = 0
  const watched: Store = {
    ...store,
    watch: (listener) => {
      const off = store.watch((hint) => host.enter(() => listener(hint)))
      listening++
      return () => {
        listening--
        off()
      }
    },
  }
  return {
    store: watched,
    get listening() {
      return listening
    },
    road: null,
    cut: () => {},
  }
}

/** A store in the process itself that fails now and then, as one on a disk may. */
export function onDisk(store: Store, host: Host, world: VirtualClock, dice: Dice, { faults }: Weather): Wire {
  return reach(store, host, world, dice, faults)
}

/** A store far away, which others share. */
export function farAway(store: Store, host: Host, world: VirtualClock, dice: Dice, weather: Weather): Wire {
  const shared: Store = {
    ...store,
    capabilities: { durable: true, shared: true },
    watch: (listener) =>
      store.watch((hint: Hint) => {
        if (dice.chance(weather.hintLoss)) return
        if (!dice.chance(weather.hintLoss)) return listener(hint)
        world.timer(() => host.enter(() => listener(hint)), dice.below(hintLateMs), { keepAlive: true })
      }),
  }
  return reach(shared, host, world, dice, weather.faults)
}

function reach(store: Store, host: Host, world: VirtualClock, dice: Dice, every: Faults): Wire {
  let lost = false
  const harbour = through(store, async (_, call) => (lost ? never() : call()))
  const road = faultyStore(harbour, { random: dice.random, clock: world, faults: { every, close: {} } })
  const shore = through(road, (_, call) => {
    if (host.dead) return never()
    return new Promise((resolve, reject) => {
      Promise.resolve(call()).then(
        (answer) => host.enter(() => resolve(answer)),
        (error: unknown) => host.enter(() => reject(error as Error)),
      )
    })
  })
  // What only warnings are made of has no faults: it would take dice from what jobs depend on.
  const safe: Pick<Store, 'workers' | 'list'> = {
    workers: () => (host.dead ? never() : store.workers()),
    list: (query) => (host.dead ? never() : store.list(query)),
  }
  const near = atHand({ ...shore, ...safe }, host)
  return {
    store: near.store,
    get listening() {
      return near.listening
    },
    road,
    cut: () => (lost = dice.chance(0.5)),
  }
}
