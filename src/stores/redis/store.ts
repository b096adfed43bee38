/**
 * The Redis store: jobs on a server, shared by the processes of many hosts.
 *
 *   call ─▶ load what is needed ─▶ operation of the core ─▶ one script that commits under conditions ─▶ answer, then
 *   hints
 *
 * Claims are a script of their own. Other processes are heard of by two channels, one of them for those who await ends.
 */
import { randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { Hint, Store, WorkerInfo } from '../../store.ts'
import { bulkStoreOf } from '../remote/bulk.ts'
import { failureMergesOf } from '../remote/failure-merges.ts'
import { RemoteDriver } from '../remote/driver.ts'
import { scheduleWritesOf } from '../remote/operations.ts'
import { Redis, unavailable, type Commands, type RedisClient } from './connection.ts'
import { Epochs } from './epoch.ts'
import { EvictionWatch, evictionOf } from './eviction.ts'
import { Hints } from './hints.ts'
import { serverInfoOf, type RedisServerInfo } from './inspect.ts'
import { Keys } from './keys.ts'
import { redisWritesOf } from './native.ts'
import { Openings } from './openings.ts'
import { Reading } from './reading.ts'
import { Reads } from './reads.ts'
import { Scripts, ScriptTexts } from './scripts.ts'
import { announceScript } from './scripts/announce.ts'
import { asideScript } from './scripts/aside.ts'
import { endedScript } from './scripts/blocks.ts'
import { claimScript } from './scripts/claim.ts'
import { dueScript } from './scripts/due.ts'
import { lookEndedScript, lookScript } from './scripts/look.ts'
import { epochScript } from './scripts/epoch.ts'
import { exchangePlainScript } from './scripts/exchange-plain.ts'
import { exchangeScript } from './scripts/exchange.ts'
import { commitEachScript, commitScript, storingCommitScript } from './scripts/commit.ts'
import { figuresScript } from './scripts/figures.ts'
import { forgetScript } from './scripts/forget.ts'
import { insertOneScript } from './scripts/insert-one.ts'
import { insertPlainScript } from './scripts/insert-plain.ts'
import { insertScript } from './scripts/insert.ts'
import { extendScript, loosenScript } from './scripts/leases.ts'
import { firstScript } from './scripts/queues.ts'
import { removeScript } from './scripts/remove.ts'
import { retainScript } from './scripts/retain.ts'
import { repairScript } from './scripts/repair.ts'
import { seenScript } from './scripts/seen.ts'
import { settleScript } from './scripts/settle.ts'
import { fillScript, havingScript, termsScript } from './scripts/terms.ts'
import { workerScript } from './scripts/worker.ts'
import { RedisServer, type StoreTime } from './server.ts'
import { ServerClock } from '../remote/server-clock.ts'

const scriptsByName = {
  commit: commitScript,
  commitStoring: storingCommitScript,
  commitEach: commitEachScript,
  claim: claimScript,
  exchange: exchangeScript,
  exchangePlain: exchangePlainScript,
  insert: insertScript,
  insertOne: insertOneScript,
  insertPlain: insertPlainScript,
  settle: settleScript,
  extend: extendScript,
  loosen: loosenScript,
  ended: endedScript,
  first: firstScript,
  remove: removeScript,
  forget: forgetScript,
  retain: retainScript,
  seen: seenScript,
  worker: workerScript,
  aside: asideScript,
  announce: announceScript,
  repair: repairScript,
  epoch: epochScript,
  due: dueScript,
  look: lookScript,
  lookEnded: lookEndedScript,
  fill: fillScript,
  terms: termsScript,
  having: havingScript,
  figures: figuresScript,
}

interface Settings {
  /** Makes a client; where it leads to, for messages. */
  readonly makeClient: () => Promise<RedisClient>
  readonly where: string
  readonly namespace: string
  readonly transitionsMax: number
  /** Where a test holds the clock: it judges leases and due times instead of the server's. */
  readonly clock?: Clock
  /** Scripts of their own for the most frequent writes; false where a test compares them with the way of the core. */
  readonly native?: boolean
}

interface Open {
  readonly redis: Redis
  readonly reads: Reads
  readonly server: RedisServer
  readonly driver: RemoteDriver
  /** What users read. */
  readonly reading: Reading
  /** What writes read, on their connection. */
  readonly readingToWrite: Reading
}

export function redisStoreOf(settings: Settings): Store {
  const keys = new Keys(settings.namespace)
  const origin = randomUUID()
  const hints = new Hints(keys, origin)
  let open: Open | null = null
  let time: StoreTime | null = null

  const opened = (): Open => {
    if (open === null) throw closed(settings.where)
    return open
  }
  const driver = (): RemoteDriver => opened().driver
  const read = async <T>(ask: (reading: Reading) => Promise<T>): Promise<T> => {
    const { driver: writes, reading } = opened()
    return writes.afterWrites(() => ask(reading))
  }
  const now = (): number => time?.now() ?? Math.floor((settings.clock ?? systemClock).now())
  const openings = new Openings(async (clock, signal) => {
    time = timeOf(settings, clock)
    const made = await connect(settings, keys, origin, time, hints, signal)
    made.driver.open(clock)
    return made
  })

  return {
    name: 'redis',
    capabilities: { durable: true, shared: true },
    now,
    async open({ clock, signal }) {
      open = await openings.open(clock, signal)
      hints.open({ makeClient: () => opened().redis.duplicate(), where: settings.where })
    },
    async close() {
      if (!openings.close()) return
      const ending = open
      // Earlier calls are completed first if the server answers. A process that ends cannot wait for a server that does
      // not.
      await ending?.driver.rest()
      hints.close()
      openings.forget()
      open = null
      ending?.reads.close()
      ending?.redis.close()
    },
    watch: (listener) => hints.watch(listener),
    watchEnds: () => hints.watchEnds(),
    unreadable: () => read((reading) => reading.unreadable()),
    repair: async () => driver().inTurn(() => opened().server.repair()),
    announce: async (ids, forMs) => opened().server.announce(ids, forMs),
    ...redisWritesOf(opened, settings.native !== false),
    schedules: {
      ...scheduleWritesOf(driver),
      list: (names) => read((reading) => reading.schedules(names)),
      due: (request) => read((reading) => reading.dueSchedules(request, now())),
    },
    bulk: bulkStoreOf(driver, (kind) => read((reading) => reading.values(kind))),
    ...failureMergesOf(driver, (kind) => read((reading) => reading.values(kind))),
    worker: async (id, info) => register(opened(), now(), id, info),
    async queue(type, change) {
      if (change !== undefined) await driver().write((transaction) => transaction.changeQueue(type, change))
      return read((reading) => reading.queue(type))
    },
    ...questionsOf(read, now),
  }
}

type Read = <T>(ask: (reading: Reading) => Promise<T>) => Promise<T>

type Questions =
  | 'checkpoints'
  | 'get'
  | 'list'
  | 'counts'
  | 'machineCounts'
  | 'heat'
  | 'queues'
  | 'queuedSince'
  | 'activity'
  | 'failures'
  | 'workers'
  | 'transitions'
  | 'terms'

const questionsOf = (read: Read, now: () => number): Pick<Store, Questions> => ({
  checkpoints: (id) => read((reading) => reading.checkpoints(id)),
  get: (ids) => read((reading) => reading.get(ids)),
  list: (query) => read((reading) => reading.list(query)),
  counts: () => read((reading) => reading.counts()),
  machineCounts: (type) => read((reading) => reading.machineCounts(type)),
  heat: (query) => read((reading) => reading.heat(query, now())),
  queues: () => read((reading) => reading.queues()),
  queuedSince: (types) => read((reading) => reading.queuedSince(types)),
  activity: (query) => read((reading) => reading.activity(query, now())),
  failures: (query) => read((reading) => reading.failures(query)),
  workers: () => read((reading) => reading.workers(now())),
  transitions: (from, limit) => read((reading) => reading.transitions(from, limit)),
  terms: (query) => read((reading) => reading.terms(query)),
})

/** Registers a worker, or removes it; with those that are no longer kept. */
const register = (
  { server, driver, readingToWrite }: Open,
  now: number,
  id: string,
  info: WorkerInfo | null,
): Promise<void> =>
  driver.inTurn(async () => {
    const forgotten = await readingToWrite.forgottenWorkers(now)
    const leaving = info === null ? [...forgotten, id] : forgotten.filter((each) => each !== id)
    await server.run('worker', [id, info === null ? '' : JSON.stringify(info), ...leaving])
  })

/** @param clock of who opens the store */
function timeOf(settings: Settings, clock: Clock): StoreTime {
  if (settings.clock !== undefined) return givenTime(settings.clock)
  return clock.isVirtual === true ? givenTime(clock) : serverTime(clock)
}

function serverTime(clock: Clock): StoreTime {
  const server = new ServerClock(clock)
  return {
    given: false,
    now: () => server.now(),
    monotonic: () => clock.monotonic(),
    told: (serverMs, sent) => server.learn(serverMs, sent, clock.monotonic()),
  }
}

const givenTime = (clock: Clock): StoreTime => ({
  given: true,
  now: () => Math.floor(clock.now()),
  monotonic: () => clock.monotonic(),
  told() {},
})

async function connect(
  settings: Settings,
  keys: Keys,
  origin: string,
  time: StoreTime,
  hints: Hints,
  signal: AbortSignal,
): Promise<Open> {
  const { where, namespace, transitionsMax } = settings
  const redis = new Redis(await settings.makeClient(), where)
  const giveUp = (): void => redis.close()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    signal.throwIfAborted()
    await redis.connect()
    checkServer(serverInfoOf(String(await redis.send(['INFO']))), where)
    await checkLayout(redis, namespace, where)
    const texts = new ScriptTexts(scriptsByName)
    const scriptsOn = (by: Commands) => new Scripts(by, namespace, [origin, String(transitionsMax)], texts)
    const epochs = new Epochs([])
    const readingOn = (by: Commands): Reading =>
      new Reading(by, keys, epochs, scriptsOn(by), (ids) => server.setAside(ids))
    const readingToWrite = readingOn(redis)
    const select: ConstructorParameters<typeof RedisServer>[5] = (need, into) => readingToWrite.select(need, into)
    const eviction = new EvictionWatch(redis, where, () => time.monotonic())
    const notify = (told: readonly Hint[]): void => hints.notify(told)
    const server: RedisServer = new RedisServer(redis, keys, scriptsOn(redis), time, epochs, select, notify, eviction)
    // It also tells the server's time, and that scripts are allowed.
    await server.greet()
    // Sent before any other command of the new connection. If that is lost, the next one begins the same way.
    const lost = (error: unknown): void => {
      if (!(error instanceof JobchartError)) throw error
    }
    redis.onReady(() => void server.greet().catch(lost))
    const reads = new Reads(redis, where, () => server.greet())
    const driver = new RemoteDriver(server, server.leased)
    return { redis, reads, server, driver, reading: readingOn(reads), readingToWrite }
  } catch (error) {
    redis.close()
    throw error instanceof JobchartError ? error : unavailable(where, error)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** @throws JobchartError UNSUPPORTED */
function checkServer(info: RedisServerInfo, where: string): void {
  const { version } = info
  if (Number.parseInt(version, 10) < 7) {
    throw new JobchartError('UNSUPPORTED', `Redis at ${where} is version ${version}, and at least 7 is needed`, {
      hint: 'Update the server, or use Valkey.',
    })
  }
  const eviction = evictionOf(info, where)
  if (eviction !== null) throw eviction
}

/** Earlier builds had keys of these names. @throws JobchartError UNSUPPORTED */
async function checkLayout(redis: Commands, namespace: string, where: string): Promise<void> {
  const found = await redis.send(['EXISTS', `${namespace}counts`, `${namespace}seq`])
  if (found === 0) return
  throw new JobchartError('UNSUPPORTED', `Redis at ${where} has jobs of an earlier build under ${namespace}*`, {
    hint: 'Use another prefix, or remove these keys: their jobs cannot be read.',
  })
}

const closed = (where: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `Redis at ${where}: the store is not open`, {
    hint: 'Open the store first; a stopped runtime closes it.',
  })
