/**
 * Runs operations of the core over loaded rows: loads what they need, runs them again from their start, and commits under the
 * condition that everything is still as it was read. Calls of a process take effect in the order in which they were made.
 */
import { systemClock, systemRandom } from '../../core/clock.ts'
import { isLeased } from '../../core/lifecycle.ts'
import { JobchartError } from '../../core/errors.ts'
import type { Hint, RepairAnswer } from '../../store.ts'
import type { Redis, Reply } from './connection.ts'
import { hintsFrom } from './hints.ts'
import type { Keys } from './keys.ts'
import { newEpoch, type EpochNews, type Epochs } from './epoch.ts'
import type { EvictionWatch } from './eviction.ts'
import { Exchange } from './exchange.ts'
import { load, texts, type Select } from './loading.ts'
import { NotLoaded, type Need } from './needs.ts'
import { planOf } from './plan.ts'
import { hasOf, historyWithout } from './row-text.ts'
import type { LoadedRow, Row } from './row.ts'
import type { Scripts } from './scripts.ts'
import { pending, RedisUnit, type Only } from './unit.ts'
import { WorkingSet, type SelectedIds } from './working-set.ts'

type ScriptName =
  'commit' | 'commitStoring' | 'commitEach' | 'claim' | 'exchange' | 'insert' | 'settle' | 'remove' | 'forget' | 'retain' | 'seen' | 'worker' | 'epoch' | 'aside' | 'repair' | 'due' | 'announce' // prettier-ignore

/** Rounds of a call at most: of loading, and of commits that came too late. */
export const roundsMax = { load: 1_000, commit: 50 }
/** Heartbeats read the epochs so often, ms: the clients of some topologies do not tell when they have connected again. */
const greetEveryMs = 5_000
/** Leased jobs whose rows this process remembers: what it settles it has mostly claimed. */
const rememberedMax = 10_000

/** What a call needs of time. */
export interface StoreTime {
  /** The store's time as far as it is known here, ms. */
  now(): number
  /** The time of the server, which it has told with an answer. */
  told(serverMs: number, sent: number): void
  /** The monotonic time of this machine, ms. */
  monotonic(): number
  /** Set where a test holds the clock: the scripts are told the time. */
  readonly given: boolean
}

interface Operated<T> {
  readonly unit: RedisUnit
  readonly answer: T
}

/** Others have changed the same jobs each time. */
export const contended = (hint: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', 'Redis: other processes have changed the same jobs each time', { hint })

export class Driver {
  readonly redis: Redis
  readonly keys: Keys
  readonly scripts: Scripts<ScriptName>
  readonly time: StoreTime
  readonly exchange = new Exchange(async (name, request) => (await this.run(name, request)).slice(1))
  private readonly epochs: Epochs
  private readonly select: Select
  private readonly notify: (hints: readonly Hint[]) => void
  private readonly eviction: EvictionWatch
  private readonly remembered = new Map<string, LoadedRow>()
  /** Ends when all calls until now have ended. */
  private tail: Promise<unknown> = Promise.resolve()
  /** Ends when the last call that needs several rounds has ended; null if none is under way. */
  private lastTurn: Promise<unknown> | null = null
  /** When the epochs were read last, monotonic ms. */
  private greetedAt = -Infinity

  constructor(
    redis: Redis,
    keys: Keys,
    scripts: Scripts<ScriptName>,
    time: StoreTime,
    epochs: Epochs,
    select: Select,
    notify: (hints: readonly Hint[]) => void,
    eviction: EvictionWatch,
  ) {
    this.redis = redis
    this.keys = keys
    this.scripts = scripts
    this.time = time
    this.epochs = epochs
    this.select = select
    this.notify = notify
    this.eviction = eviction
  }

  /** Does something that may take several rounds: after all that was asked for before, and before all that is asked for later. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.tail.then(work)
    const ended = turn.then(ignore, ignore)
    this.tail = this.lastTurn = ended
    void ended.then(() => {
      if (this.lastTurn === ended) this.lastTurn = null
    })
    return turn
  }

  /**
   * Does something that is one command: it is sent behind those that were sent before, without waiting for their answers,
   * and is carried out after them.
   */
  inLine<T>(work: () => Promise<T>): Promise<T> {
    const call = this.lastTurn === null ? work() : this.lastTurn.then(work)
    this.tail = Promise.all([this.tail, call.then(ignore, ignore)])
    return call
  }

  /** Reads after all that was asked for before. */
  async afterWrites<T>(read: () => Promise<T>): Promise<T> {
    await this.tail
    return read()
  }

  /**
   * Runs an operation and commits what it has written.
   * @param prepare what is known to be needed, what this process believes to be so, and what is tried before: null if it did nothing;
   * `apart`: what is done instead if jobs have changed meanwhile, with the page that was found by filter
   */
  write<T>(
    operate: (unit: RedisUnit) => T,
    prepare: {
      readonly needs?: readonly Need[]
      readonly believe?: (set: WorkingSet) => void
      readonly attempt?: () => Promise<T | null>
      readonly apart?: (page: SelectedIds | null) => Promise<T>
    } = {},
  ): Promise<T> {
    return this.inTurn(async () => {
      const done = (await prepare.attempt?.()) ?? null
      if (done !== null) return done
      const begin = (): { set: WorkingSet; needs: readonly Need[]; epoch: string } => {
        const set = new WorkingSet()
        prepare.believe?.(set)
        const needs = (prepare.needs ?? []).filter((need) => need.kind !== 'row' || !set.rows.has(need.id))
        return { set, needs, epoch: this.epochs.current }
      }
      let { set, needs, epoch } = begin()
      for (let tries = 0; tries < roundsMax.commit; tries++) {
        const { unit, answer } = await this.operate(operate, set, needs)
        const stale = await this.commit(unit, set, epoch)
        if (stale === null) return numbered(answer, this.base)
        const changed = stale.filter((name) => name.startsWith('row ')).map((name) => name.slice(4))
        for (const id of changed) this.remembered.delete(id)
        if (prepare.apart !== undefined && changed.length > 0) {
          return prepare.apart([...set.selections.values()][0] ?? null)
        }
        if (stale.includes('epoch')) {
          await this.greet()
          ;({ set, needs, epoch } = begin())
        } else {
          set.forget(stale)
          needs = stale.flatMap(needOf)
        }
        // Several processes that want the same rows take turns.
        await this.pause(tries)
      }
      throw contended('Nothing was written. Call again, with fewer jobs at once.')
    })
  }

  /** Several processes that want the same rows take turns. @param tries how often it was in vain before */
  async pause(tries: number): Promise<void> {
    if (tries > 1) await pause(systemRandom() * Math.min(2 ** tries, 100))
  }

  get epoch(): string {
    return this.epochs.current
  }

  unitOf(set: WorkingSet, only: Only | null = null): RedisUnit {
    return new RedisUnit(set, this.time.now(), only)
  }

  /** @param only a selection has only these jobs */
  async operate<T>(
    operate: (unit: RedisUnit) => T,
    set: WorkingSet,
    first: readonly Need[],
    only: Only | null = null,
  ): Promise<Operated<T>> {
    const [operated] = await this.operateAll(operate, set, first, [only])
    return operated as Operated<T>
  }

  /** Runs an operation for each of some jobs of a selection, in a unit of its own. */
  async operateEach<T>(
    operate: (unit: RedisUnit) => T,
    set: WorkingSet,
    ids: readonly string[],
  ): Promise<(Operated<T> & { readonly id: string })[]> {
    const only = ids.map((id): Only => ({ ids: [id], next: null }))
    const operated = await this.operateAll(operate, set, [], only)
    return operated.map((each, i) => ({ ...each, id: ids[i] as string }))
  }

  private async operateAll<T>(
    operate: (unit: RedisUnit) => T,
    set: WorkingSet,
    first: readonly Need[],
    only: readonly (Only | null)[],
  ): Promise<Operated<T>[]> {
    let needs = first
    for (let rounds = 0; rounds < roundsMax.load; rounds++) {
      if (needs.length > 0) await this.load(needs, set)
      const missing: Need[] = []
      const operated = only.flatMap((each): Operated<T>[] => {
        const unit = this.unitOf(set, each)
        try {
          return [{ unit, answer: operate(unit) }]
        } catch (error) {
          if (!(error instanceof NotLoaded)) throw error
          missing.push(...error.needs)
          return []
        }
      })
      if (missing.length === 0) return operated
      needs = missing
    }
    throw new TypeError('an operation needs more and more')
  }

  async load(needs: readonly Need[], set: WorkingSet): Promise<void> {
    const unreadable = await load(this.redis, this.keys, needs, set, this.select)
    if (unreadable.length > 0) await this.setAside(unreadable)
  }

  /** The number that the first entry of the log got in the last commit. */
  private base = 0

  /** Gives the names of what has changed meanwhile; null if all was written. */
  private async commit(unit: RedisUnit, set: WorkingSet, epoch: string): Promise<readonly string[] | null> {
    const { plan, writes } = planOf(unit, this.keys)
    if (!writes && !set.believed) return null
    const stores = unit.rows.values().some((row) => row.loaded === null && row.there)
    const [outcome, rest] = await this.run(stores ? 'commitStoring' : 'commit', [JSON.stringify({ ...plan, epoch })])
    if (outcome === 'stale') return rest as readonly string[]
    this.wrote(unit, Number(rest))
    return null
  }

  /** @param base the number that its first transition got */
  wrote(unit: RedisUnit, base: number): void {
    this.base = base
    for (const row of unit.rows.values()) this.remember(row)
  }

  /** Runs a script; gives what follows the time in its answer. Hints of it are told to those who watch here. */
  async run(name: ScriptName, request: readonly string[]): Promise<readonly Reply[]> {
    const sent = this.time.monotonic()
    const now = this.time.given ? String(this.time.now()) : ''
    const [stamp, hints, ...rest] = await this.scripts.run(name, [now, ...request])
    const [serverMs, seq] = String(stamp).split(' ')
    this.time.told(Number(serverMs), sent)
    if (name === 'epoch') this.tell(this.epochs.learn(texts(rest[0]), Number(seq)))
    // If the server does not answer, the next call asks again.
    else if (!this.epochs.see(Number(seq))) await this.greet().catch(ignore)
    if (hints === 'stale' || hints === 'generic') return [hints, ...rest]
    if (typeof hints === 'string' && hints !== '') this.notify(hintsFrom(hints))
    return [null, ...rest]
  }

  /** To be called first on each connection: a server that was started again begins an epoch. */
  async greet(): Promise<void> {
    this.greetedAt = this.time.monotonic()
    await this.run('epoch', [newEpoch()])
  }

  /**
   * The heartbeat of a worker. It also notices a server whose epochs are others than were known: one that was emptied, or one of which
   * the driver has not told that it has connected again; and one that was told to remove keys.
   */
  async seen(worker: string): Promise<void> {
    if (this.time.monotonic() - this.greetedAt >= greetEveryMs) await this.greet()
    const [, isRegistered, epoch] = await this.run('seen', [worker])
    if (epoch !== this.epochs.current) await this.greet()
    else if (isRegistered === 0) this.notify([{ kind: 'restart' }])
    this.notify(await this.eviction.news())
  }

  /** Sets jobs aside that cannot be read: no call finds them, and none is held up by them. */
  async setAside(ids: readonly string[]): Promise<void> {
    await this.run('aside', ['put', ...ids])
  }

  /** Removes jobs that were set aside. @returns the ids of those that were */
  dropAside(ids: readonly string[]): Promise<string[]> {
    return this.inTurn(async () => texts((await this.run('aside', ['drop', ...ids]))[1]))
  }

  /** Has each write of these jobs told to every process, for a time. */
  async announce(ids: readonly string[], forMs: number): Promise<void> {
    await this.run('announce', [String(forMs), ...ids])
  }

  repair(): Promise<RepairAnswer> {
    return this.inTurn(async () => {
      const [, jobs, restored, unreadable, counts] = await this.run('repair', [])
      this.remembered.clear()
      return { jobs: Number(jobs), restored: texts(restored), unreadable: texts(unreadable), counts: Number(counts) }
    })
  }

  private tell({ rollback, isOther }: EpochNews): void {
    if (rollback !== null) {
      // What is remembered was true on a server that is gone.
      this.remembered.clear()
      this.notify([{ kind: 'rollback', ...rollback }])
    } else if (isOther) this.notify([{ kind: 'restart' }])
  }

  // ── leased rows ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Keeps a row as the server has it now. */
  rememberLeased(id: string, row: LoadedRow): void {
    this.remembered.delete(id)
    this.remembered.set(id, row)
    if (this.remembered.size <= rememberedMax) return
    for (const oldest of this.remembered.keys()) {
      this.remembered.delete(oldest)
      return
    }
  }

  /** What is remembered of a leased row. */
  remembers(id: string): LoadedRow | undefined {
    return this.remembered.get(id)
  }

  forget(id: string): void {
    this.remembered.delete(id)
  }

  /** What is remembered of leased rows, to be believed. */
  leased(set: WorkingSet, id: string): LoadedRow | undefined {
    const row = this.remembered.get(id)
    if (row !== undefined) set.believeRow(id, row)
    return row
  }

  /** The value of a field, with the number that the commit has given. */
  private given(value: string): string {
    return value.length === 16 && Number(value) >= pending ? String(Number(value) - pending + this.base) : value
  }

  private remember(row: Row): void {
    const { loaded } = row
    if (!this.remembered.has(row.id)) return
    const isKnown =
      loaded !== null && loaded.data !== 'none' && row.latest === null && row.text('unsupported') === undefined
    if (row.removed || !row.there || !isLeased(row.state) || !isKnown) {
      this.remembered.delete(row.id)
      return
    }
    const changes = row.changes()
    if (changes.length === 0) return
    const fields = { ...loaded.fields }
    for (const [name, value] of changes) fields[name] = this.given(value)
    fields.rev = String(Number(loaded.fields.rev ?? 0) + 1)
    delete fields.input
    const has = hasOf(fields, (field) => row.hasData(field))
    const history = historyWithout(loaded.history, row.additions.historyDropped)
    this.rememberLeased(row.id, { fields, has, history, data: 'rest' })
  }
}

const ignore = (): void => {}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(resolve, ms, { keepAlive: true }))

function needOf(name: string): Need[] {
  if (name === 'backlog' || name === 'time' || name.startsWith('slots ')) return []
  const space = name.indexOf(' ')
  const [kind, rest] = [name.slice(0, space), name.slice(space + 1)]
  if (kind === 'row') return [{ kind: 'row', id: rest }]
  return [{ kind: 'cell', cells: kind as (Need & { readonly kind: 'cell' })['cells'], field: rest }]
}

/** Where answers carry the numbers of transitions: nowhere else is looked, because payloads are none of our business. */
const carriers = ['transitions', 'transition', 'woken', 'successor', 'hook', 'superseded', 'ticks'] as const

/** An answer with the numbers that the commit has given. */
export function numbered<T>(answer: T, base: number): T {
  if (Array.isArray(answer)) for (const item of answer) numbered(item, base)
  else if (typeof answer === 'object' && answer !== null) {
    const fields = answer as Record<string, unknown>
    if (typeof fields.seq === 'number' && fields.seq >= pending) fields.seq = fields.seq - pending + base
    for (const name of carriers) if (fields[name] !== undefined) numbered(fields[name], base)
  }
  return answer
}
