/** A whole store over a port: see `port.ts`. */
import { caps } from '../../core/caps.ts'
import {
  cursorOfEntry,
  entryNumber,
  inSequence,
  isListed,
  pageCursor,
  positionAt,
  withCursor,
  type Position,
} from '../../core/cursor.ts'
import { jobStates } from '../../core/lifecycle.ts'
import type { CheckpointEntry } from '../../core/machine-record.ts'
import { isOfIds, recordOfId } from '../../core/record-fields.ts'
import type { JobRecord } from '../../core/record.ts'
import type { DueSchedules, DueSchedulesRequest, StoredSchedule } from '../../core/schedule-record.ts'
import type { FoundTerms, Hint, JobPage, ListOrder, ListQuery, QueueInfo, Store, TransitionPage } from '../../store.ts'
import { bulkStoreOf } from './bulk.ts'
import type { CellKind } from './cells.ts'
import { movedAt, recordOfDocument, stateCountsOf, type JobDocument } from './document.ts'
import { DocumentServer, loadedInto, withWaiting } from './documents.ts'
import { RemoteDriver } from './driver.ts'
import { EndsAndClaims } from './ends-and-claims.ts'
import { heatSince, noHeat } from './heat.ts'
import { failureMergesOf } from './failure-merges.ts'
import { activityFrom, allCountsOf, countsFrom, failuresFrom, noFigures } from './figures.ts'
import { extendPart, insertPart, scheduleWritesOf, writesOf } from './operations.ts'
import { carryingOut, carryOut } from './intents.ts'
import { insertParts, joined, partMax, partsOf } from './parts.ts'
import type { Carry, PlainWrites } from './plain.ts'
import type { FindQuery, Found, Loaded, StorePort, Wanted } from './port.ts'
import { Retention, retain } from './retention.ts'
import { register, SeenWorkers, workerRecords } from './workers.ts'
import type { Transaction } from './transaction.ts'
import { byTurn, type WorkingSet } from './working-set.ts'

/** Where a document stands in an order; null: it is not in it. */
export function positionIn(by: ListOrder, { state, seq, lastSeq, wakeAt }: JobDocument): Position | null {
  if (!isListed(by, state)) return null
  if (by !== 'due') return inSequence(by === 'finished' ? lastSeq : seq)
  return wakeAt === null ? null : { dueAt: wakeAt, number: seq }
}

/** Where a search goes on after an answer; null: there are no more. */
function nextOf(by: ListOrder, { documents, more, next }: Found): Position | null {
  const end = documents.at(-1)
  return more ? (next ?? (end === undefined ? null : positionIn(by, end))) : null
}

/**
 * A store that keeps documents where a port says. The port is opened by the first `open`, and closed with the last
 * `close`.
 */
export function remoteStore(port: StorePort): Store {
  const hints = new Listeners()
  const server = new DocumentServer(port, (told) => {
    if (told.length === 0) return
    hear(told)
    port.tell?.(told)
  })
  const hear = (told: readonly Hint[]): void => hints.tell(withWaiting(told, server.waiting))
  const unfence = port.transactions === undefined ? null : () => carryingOut(partMax)
  const driver = new RemoteDriver(server, undefined, unfence)
  const reading = new Reading(port, driver)
  const retention = new Retention(port)
  const read = <T>(ask: () => Promise<T>): Promise<T> => driver.afterWrites(ask)
  const values = (kind: CellKind): Promise<readonly string[]> => read(() => reading.values(kind))
  let opening: Promise<void> | null = null
  let opened = 0
  let endWatch: (() => void) | null = null
  return {
    name: port.name,
    capabilities: port.capabilities,
    now: () => Math.floor(port.now()),
    async open(options) {
      opening ??= openPort(port, driver, options)
      try {
        await opening
      } catch (error) {
        opening = null
        throw error
      }
      opened++
      endWatch ??= port.watch?.((hint) => hear([hint])) ?? null
    },
    async close() {
      if (opened === 0 || --opened > 0) return
      // Earlier calls are completed first if they are answered.
      await driver.rest()
      endWatch?.()
      opening = endWatch = null
      await port.close()
    },
    watch: (listener) => hints.add(listener),
    ...(port.watchEnds && { watchEnds: () => port.watchEnds?.() }),
    ...writesOf(() => driver),
    ...attemptsOf(driver, port.plain, (write) => server.carry(write)),
    retain: async (policies) => retain(driver, policies),
    prune: async (limit) => driver.inTurn(async () => {}).then(() => retention.prune(driver, limit)),
    worker: async (id, info) => register(driver, id, info),
    async queue(type, change) {
      if (change !== undefined) await driver.write((transaction) => transaction.changeQueue(type, change))
      return read(() => reading.queue(type))
    },
    schedules: {
      ...scheduleWritesOf(() => driver),
      list: (names) => read(() => reading.schedules(names)),
      due: (request) => read(async () => dueOf(await reading.schedules(), request, server.now())),
    },
    bulk: bulkStoreOf(() => driver, values),
    ...failureMergesOf(() => driver, values),
    ...(port.transactions && {
      transactions: { ...port.transactions, carryOut: (limit) => carryOut(driver, limit) },
    }),
    ...(port.terms && { terms: (query) => read(async () => port.terms?.(query) ?? noTerms) }),
    ...queriesOf(port, reading, read),
  }
}

async function openPort(port: StorePort, driver: RemoteDriver, options: Parameters<Store['open']>[0]): Promise<void> {
  driver.open(options.clock)
  await port.open(options)
}

/** Inserts, claims and ends of attempts, which a port may write otherwise for plain jobs. */
const attemptsOf = (
  driver: RemoteDriver,
  plain: PlainWrites | undefined,
  carry: Carry,
): Pick<Store, 'insert' | 'claim' | 'settle' | 'extend'> => {
  const endsAndClaims = new EndsAndClaims({ driver, plain, carry })
  return {
    insert: async (requests) =>
      joined(insertParts(requests), (part) =>
        insertPart(driver, part, plain && { attempt: () => carry(() => plain.insert(part)), inLine: false }),
      ),
    claim: async (request) => endsAndClaims.claim(request),
    settle: async (settlements) => endsAndClaims.settle(settlements),
    ...extendOf(driver, plain),
  }
}

/** Heartbeats, and that of the worker, which is part of the same commit. */
function extendOf(driver: RemoteDriver, plain: PlainWrites | undefined): Pick<Store, 'extend'> {
  const workers = new SeenWorkers()
  return {
    async extend({ heartbeats, leaseMs, worker }) {
      let isSeen = false
      const also = {
        believe: (set: WorkingSet): void => workers.believe(set, worker),
        write: (transaction: Transaction): void => {
          workers.see(transaction, worker)
          isSeen = true
        },
      }
      const answers = await joined(partsOf(heartbeats), (part) =>
        extendPart(driver, part, leaseMs, { also, ...(plain && { first: async () => plain.extend(part, leaseMs) }) }),
      )
      if (!isSeen) await driver.write((each) => workers.see(each, worker), { believe: also.believe })
      return answers
    },
  }
}

const noTerms: FoundTerms = { kinds: [], terms: [] }

type Queries =
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

/** @param read reads after all writes before it */
const queriesOf = (
  port: StorePort,
  reading: Reading,
  read: <T>(ask: () => Promise<T>) => Promise<T>,
): Pick<Store, Queries> => ({
  checkpoints: (id) => read(() => reading.checkpoints(id)),
  get: (ids) =>
    read(async () => (await reading.documents(ids)).map((each) => each && recordOfDocument(structuredClone(each)))),
  list: (query) => read(() => reading.list(query)),
  counts: () => read(() => reading.counts()),
  machineCounts: (type) => read(async () => ((await port.figures()).byType.get(type) ?? noFigures).machines),
  heat: ({ type, period }) =>
    read(async () => {
      const { heat = noHeat } = (await port.figures()).byType.get(type) ?? noFigures
      return heatSince(heat, period, Math.floor(port.now()))
    }),
  queues: () => read(() => reading.queues()),
  queuedSince: (types) => read(() => reading.queuedSince(types)),
  activity: (query) => read(async () => activityFrom((await port.figures()).byType, query, Math.floor(port.now()))),
  failures: (query) => read(async () => failuresFrom((await port.figures()).byType, query)),
  workers: () => read(async () => workerRecords(port, await reading.values('workers'))),
  transitions: (from, limit) => read(() => reading.transitions(from, limit)),
})

class Listeners {
  private readonly all = new Set<(hint: Hint) => void>()

  add(listener: (hint: Hint) => void): () => void {
    // A function of its own per call: the same listener may watch twice.
    const own = (hint: Hint): void => listener(hint)
    this.all.add(own)
    return () => void this.all.delete(own)
  }

  tell(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.all) listener(hint)
  }
}

class Reading {
  private readonly port: StorePort
  private readonly driver: RemoteDriver

  constructor(port: StorePort, driver: RemoteDriver) {
    this.port = port
    this.driver = driver
  }

  async load(wanted: readonly Wanted[]): Promise<WorkingSet> {
    const set = this.driver.newSet()
    await this.read(wanted, loadedInto(set))
    return set
  }

  private async read(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    const { port } = this
    await (port.read === undefined ? port.load(wanted, into) : port.read(wanted, into))
  }

  /** Those of the port: they are copied before anything of them is handed out. */
  async documents(ids: readonly string[]): Promise<(JobDocument | null)[]> {
    const documents = new Map<string, JobDocument | null>()
    const ignored = loadedInto(this.driver.newSet())
    const wanted = [...new Set(ids)].map((id) => ({ kind: 'row', id }) as const)
    if (ids.length > 0) await this.read(wanted, { ...ignored, row: (id, each) => void documents.set(id, each) })
    return ids.map((id) => documents.get(id) ?? null)
  }

  async checkpoints(id: string): Promise<readonly CheckpointEntry[]> {
    const [document] = await this.documents([id])
    const last = document?.checkpoints ?? []
    const first = last[0]?.number ?? 0
    // Others may have come since the document was read, or the job has begun anew.
    const earlier = first > 1 ? ((await this.port.earlierCheckpoints?.(id)) ?? []) : []
    return structuredClone([...earlier.filter(({ number }) => number < first), ...last])
  }

  async values(cells: CellKind): Promise<readonly string[]> {
    return (await this.load([{ kind: 'values', cells }])).valuesOf(cells)
  }

  /** By name; without names all of them. */
  async schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    const all = (await this.values('schedules')).map((text) => JSON.parse(text) as StoredSchedule)
    const byName = new Map(all.map((schedule) => [schedule.name, schedule]))
    return [...new Set(names ?? [...byName.keys()].toSorted())].flatMap((name) => byName.get(name) ?? [])
  }

  async list<Name extends keyof JobRecord>(query: ListQuery<Name>): Promise<JobPage<Pick<JobRecord, Name>>> {
    const { after, limit = caps.page, order, orderBy, fields, ...filter } = query
    const by = orderBy ?? 'enqueued'
    const [last] = after === undefined ? [null] : await this.documents([after])
    const asked: FindQuery = {
      by,
      newestFirst: order === 'newest',
      filter,
      states: new Set(jobStates),
      after: after === undefined ? null : positionAt(by, after, () => (last && positionIn(by, last)) ?? undefined),
      limit: Math.min(limit, caps.pageMax),
    }
    const found = (isOfIds(fields) ? await this.port.findIds?.(asked) : null) ?? (await this.port.find(asked))
    const records =
      'ids' in found
        ? found.ids.map((id) => recordOfId<Name>(id))
        : found.documents.map((document) => recordOfDocument<Name>(structuredClone(document), fields))
    const next = 'ids' in found ? found.next : nextOf(by, found)
    const page = Object.assign(records, { next: next === null ? undefined : pageCursor(by, next) })
    return withCursor(page, cursorOfEntry(found.last))
  }

  async counts(): ReturnType<Store['counts']> {
    const { byType, last } = await this.port.figures()
    return withCursor(allCountsOf(byType), cursorOfEntry(last))
  }

  async queues(): Promise<QueueInfo[]> {
    const { byType } = await this.port.figures()
    const types = [...byType.keys()]
    const set = await this.load(types.map((field) => ({ kind: 'cell', cells: 'paused', field })))
    const counts = countsFrom(byType)
    return types
      .map((type) => ({ type, paused: set.cell('paused', type) === '1', counts: stateCountsOf(counts, type) }))
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  async queue(type: string): Promise<QueueInfo> {
    const set = await this.load([{ kind: 'cell', cells: 'paused', field: type }])
    const counts = countsFrom((await this.port.figures()).byType)
    return { type, paused: set.cell('paused', type) === '1', counts: stateCountsOf(counts, type) }
  }

  async queuedSince(types: readonly string[]): Promise<(number | null)[]> {
    const { port } = this
    const firsts = await (port.firstQueued === undefined ? this.firstOfHeads(types) : port.firstQueued(types))
    const documents = await this.documents(firsts.filter((id) => id !== null))
    const queued = new Map(documents.flatMap((each) => (each === null ? [] : [[each.id, movedAt(each)] as const])))
    return firsts.map((id) => (id === null ? null : (queued.get(id) ?? null)))
  }

  private async firstOfHeads(types: readonly string[]): Promise<(string | null)[]> {
    const needs = types.map((type) => ({ kind: 'heads', type, limit: 1, told: 'first', perKey: null }) as const)
    const set = await this.load(needs)
    return needs.map((need) => {
      const heads = set.headsOf(need).groups.flatMap(({ first }) => first)
      return heads.toSorted(byTurn)[0]?.id ?? null
    })
  }

  async transitions(cursor: string | null, limit: number): Promise<TransitionPage> {
    const after = entryNumber(cursor)
    const { entries, first, last } = await this.port.log(after, limit)
    // After a rollback from the beginning: a reader that was ahead has seen what never was.
    if (last < after) return { ...(await this.transitions(null, limit)), lost: true }
    const transitions = entries.map((entry) => ({ ...entry, cursor: cursorOfEntry(entry.seq) }))
    return { transitions, next: transitions.at(-1)?.cursor ?? cursor, lost: first > after + 1 }
  }
}

const tickAt = ({ paused, nextAt }: StoredSchedule): number => (paused || nextAt === null ? Infinity : nextAt)

const earlier = (a: StoredSchedule, b: StoredSchedule): number => tickAt(a) - tickAt(b) || (a.name < b.name ? -1 : 1)

/** Those whose tick is due: of schedules without a stored input only those that were asked for by name. */
function dueOf(all: readonly StoredSchedule[], { computed, limit }: DueSchedulesRequest, now: number): DueSchedules {
  const asked = new Set(computed)
  const among = all.filter((each) => !each.computed || asked.has(each.name)).toSorted(earlier)
  const due = among.filter((each) => tickAt(each) <= now)
  const nextAt = among[0] === undefined ? Infinity : tickAt(among[0])
  return {
    schedules: due.slice(0, limit),
    nextAt: nextAt === Infinity ? null : nextAt,
    more: due.length >= limit,
  }
}
