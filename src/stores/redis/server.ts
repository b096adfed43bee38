/** A Redis server: what operations need is loaded by one pipeline, and what they write is committed by one script. */
import type { Hint, RepairAnswer } from '../../store.ts'
import type { Redis as Connection, Reply } from './connection.ts'
import { hintsFrom } from './hints.ts'
import type { Keys } from './keys.ts'
import { newEpoch, type EpochNews, type Epochs } from './epoch.ts'
import type { EvictionWatch } from './eviction.ts'
import { RedisExchange, type PlainAnswer } from './exchange.ts'
import { countsByName, figuresFrom } from './figures.ts'
import { claimOf } from './leases.ts'
import { load, texts, type Select } from './loading.ts'
import type { Need } from '../remote/needs.ts'
import { headOf, planOf, progressOf, rowsWritten } from './plan.ts'
import type { CommitEach, RemoteDriver, Server, Written } from '../remote/driver.ts'
import { LeasedRows } from '../remote/leased-rows.ts'
import { scriptText, textOfScript } from './row-text.ts'
import type { Scripts } from './scripts.ts'
import { TermFilling } from './terms.ts'
import type { Transaction } from '../remote/transaction.ts'
import type { WorkingSet } from '../remote/working-set.ts'

type ScriptName =
  | 'commit'
  | 'commitStoring'
  | 'commitEach'
  | 'claim'
  | 'exchange'
  | 'exchangePlain'
  | 'insert'
  | 'insertOne'
  | 'insertPlain'
  | 'settle'
  | 'extend'
  | 'loosen'
  | 'remove'
  | 'ended'
  | 'forget'
  | 'retain'
  | 'seen'
  | 'worker'
  | 'epoch'
  | 'aside'
  | 'repair'
  | 'due'
  | 'figures'
  | 'fill'
  | 'terms'
  | 'announce'

/**
 * Heartbeats read the epochs so often, ms: the clients of some topologies do not tell when they have connected again.
 */
const greetEveryMs = 5_000

/** See scripts/repair.ts. */
type RepairStep = 'begin' | 'back' | 'clear' | 'keys' | 'rows' | 'order' | 'release' | 'end'

/** The number of the last transition of jobs that were stored, and the time of all. */
export interface Stored {
  readonly last: number
  readonly at: number
}

/** What the script of plain jobs gets, and the types of these. */
export interface PlainInserts {
  readonly types: readonly string[]
  readonly request: readonly string[]
}

/** A server, and the driver of its operations. */
export interface Redis {
  readonly server: RedisServer
  readonly driver: RemoteDriver
}

/** A claimed job whose row cannot be read, with its type as it is in rows, and the name of its claim. */
export interface UnreadJob {
  readonly id: string
  readonly type: string
  readonly claim: string
}

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

export class RedisServer implements Server {
  readonly name = 'Redis'
  readonly leased = new LeasedRows()
  readonly redis: Connection
  readonly keys: Keys
  readonly scripts: Scripts<ScriptName>
  readonly time: StoreTime
  readonly filling: TermFilling
  readonly exchange = new RedisExchange({
    run: async (name, request) => (await this.run(name, request)).slice(1),
    runPlain: (request) => this.runPlain(request),
    notify: (hints) => this.notify(hints),
  })
  private readonly epochs: Epochs
  readonly select: Select
  private readonly notify: (hints: readonly Hint[]) => void
  private readonly eviction: EvictionWatch
  /** When the epochs were read last, monotonic ms. */
  private greetedAt = -Infinity

  constructor(
    redis: Connection,
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
    this.filling = new TermFilling(scripts, () => time.monotonic())
    this.epochs = epochs
    this.select = select
    this.notify = notify
    this.eviction = eviction
  }

  get epoch(): string {
    return this.epochs.current
  }

  now(): number {
    return this.time.now()
  }

  async load(needs: readonly Need[], into: WorkingSet): Promise<void> {
    const unreadable = await load(this.redis, this.keys, needs, into, this)
    const timers = needs.filter((need) => need.kind === 'timers')
    if (timers.length > 0) await this.loosenExpired(timers, into)
    if (unreadable.length > 0) await this.setAside(unreadable)
    await this.dropOrphans(needs, into)
  }

  /** The leases of the jobs of claims that have run out are judged one by one. */
  private async loosenExpired(timers: readonly Need[], into: WorkingSet): Promise<void> {
    const expired = (): string[] =>
      (into.timers.get('leases')?.found ?? []).flatMap(([id, at]) => (at <= this.now() ? (claimOf(id) ?? []) : []))
    for (let claims = expired(); claims.length > 0; claims = expired()) {
      const [, found] = await this.run('loosen', claims)
      await load(this.redis, this.keys, timers, into, this)
      // None has run out by the time of the server.
      if (found === 0) return
    }
  }

  /** A job that was set aside may stand in an index of times still: no later call meets it again. */
  private async dropOrphans(needs: readonly Need[], into: WorkingSet): Promise<void> {
    const missing = new Set(
      needs.flatMap((need) => (need.kind === 'row' && into.rows.get(need.id) === null ? need.id : [])),
    )
    const indexes = [...into.timers].flatMap(([of, { found }]) => (found.some(([id]) => missing.has(id)) ? of : []))
    if (missing.size > 0 && indexes.length > 0) await this.run('aside', ['orphans', ...indexes])
  }

  async commit(transaction: Transaction): Promise<Written | readonly string[]> {
    const { set, changes } = transaction
    const planned = planOf(transaction, this.keys)
    if (!planned.writes && !set.believed) return { base: 0, rowOf: () => null }
    const stores = changes.rows.some(({ change, isRemoved }) => change?.state === null && !isRemoved)
    const request = JSON.stringify({ ...planned.plan, epoch: set.epoch })
    const [outcome, rest] = await this.run(stores ? 'commitStoring' : 'commit', [request])
    if (outcome !== 'stale') return { base: Number(rest), rowOf: rowsWritten(planned, Number(rest)) }
    const stale = texts(rest).map(plainName)
    if (stale.includes('epoch')) await this.greet()
    return stale
  }

  readonly commitEach: CommitEach = async (jobs, epoch, head, progress) => {
    const planned = jobs.map(({ transaction }) => planOf(transaction, this.keys))
    const isWriting = (i: number): boolean => planned[i]?.writes === true || jobs[i]?.outcomes.length !== 0
    const plans = jobs.flatMap(({ id, outcomes }, i) =>
      isWriting(i) ? [{ ...planned[i]?.plan, job: id, ...(outcomes.length > 0 && { outcomes }) }] : [],
    )
    let bases: readonly Reply[] = []
    if (plans.length > 0 || progress !== null) {
      const request = {
        head: { ...(head && headOf(head, this.keys)), epoch },
        ...(progress && { progress: progressOf(progress, this.keys) }),
        // An empty list would not be told from an object by the script's JSON.
        ...(plans.length > 0 && { plans }),
      }
      const [outcome, answer] = await this.run('commitEach', [JSON.stringify(request)])
      if (outcome === 'stale') {
        await this.greet()
        return null
      }
      bases = answer as readonly Reply[]
    }
    let next = 0
    return planned.map((each, i) => {
      const base = isWriting(i) ? bases[next++] : 0
      return base === '' ? null : { base: Number(base), rowOf: rowsWritten(each, Number(base)) }
    })
  }

  /** How many jobs there are: see `WorkingSet.counts`. */
  async counts(): Promise<Map<string, number>> {
    return countsByName(figuresFrom((await this.run('figures', []))[2]))
  }

  /** Runs a script; gives what follows the time in its answer. Hints of it are told to those who watch here. */
  async run(name: ScriptName, request: readonly string[]): Promise<readonly Reply[]> {
    const sent = this.time.monotonic()
    const { seen } = this.epochs
    const [stamp, hints, ...rest] = await this.scripts.run(name, [this.givenTime(), ...request])
    const [serverMs, seq] = String(stamp).split(' ')
    this.time.told(Number(serverMs), sent)
    if (name === 'epoch') this.tell(this.epochs.learn(texts(rest[0]), Number(seq), seen))
    // If the server does not answer, the next call asks again.
    else if (!this.epochs.see(Number(seq))) await this.greet().catch(ignore)
    if (hints === 'stale' || hints === 'generic') return [hints, ...rest]
    if (typeof hints === 'string' && hints !== '') this.notify(hintsFrom(hints))
    return [null, ...rest]
  }

  /**
   * Stores a plain job.
   * @param text its row from `attempt` on
   * @returns null if `insert` has to look closer: then nothing was written
   */
  insertOne(id: string, type: string, text: string): Promise<Stored | null> {
    return this.insertBare('insertOne', [type], [id, scriptText(type), text])
  }

  /** Stores several. @returns null if `insert` has to look closer: then nothing was written */
  insertPlain({ types, request }: PlainInserts): Promise<Stored | null> {
    return this.insertBare('insertPlain', types, request)
  }

  private async insertBare(
    name: 'insertOne' | 'insertPlain',
    types: readonly string[],
    request: readonly string[],
  ): Promise<Stored | null> {
    const sent = this.time.monotonic()
    const answer = String(await this.scripts.reply(name, [this.givenTime(), ...request])).split(' ')
    const [serverMs, last, at, ...queued] = answer
    const seq = Number(last)
    this.time.told(Number(serverMs), sent)
    if (!this.epochs.see(seq)) await this.greet().catch(ignore)
    if (at === undefined) return null
    this.notify(types.map((type, i) => ({ kind: 'ready', type, atMost: Number(queued[i]) })))
    return { last: seq, at: Number(at) }
  }

  /** @returns null if the other scripts have to look closer: then nothing was written */
  private async runPlain(request: readonly string[]): Promise<PlainAnswer | null> {
    const sent = this.time.monotonic()
    const answer = await this.scripts.run('exchangePlain', [this.givenTime(), ...request])
    const [stamp, base, ...found] = answer
    const [serverMs, last, at] = String(stamp).split(' ')
    this.time.told(Number(serverMs), sent)
    if (!this.epochs.see(Number(last))) await this.greet().catch(ignore)
    if (at === undefined) return null
    const [ids = [], rows = [], runs, left] = found
    return { at, base: Number(base), ids, rows, runs: runs as readonly Reply[], left: left as readonly Reply[] }
  }

  /** The time by which scripts judge: '' for that of the server. */
  private givenTime(): string {
    return this.time.given ? String(this.time.now()) : ''
  }

  /** To be called first on each connection: a server that was started again begins an epoch. */
  async greet(): Promise<void> {
    this.greetedAt = this.time.monotonic()
    await this.run('epoch', [newEpoch()])
  }

  /**
   * The heartbeat of a worker. It also notices a server whose epochs are others than were known: one that was emptied,
   * or one of which the driver has not told that it has connected again; and one that was told to remove keys.
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

  /** The same of jobs that were just claimed for this worker, which is named as in rows. */
  async setClaimedAside(jobs: readonly UnreadJob[], worker: string): Promise<void> {
    await this.run('aside', ['claimed', ...jobs.flatMap(({ id, type, claim }) => [id, type, claim, worker])])
  }

  /** Removes jobs that were set aside. @returns the ids of those that were */
  async dropAside(ids: readonly string[]): Promise<string[]> {
    return texts((await this.run('aside', ['drop', ...ids]))[1])
  }

  /** Has each write of these jobs told to every process, for a time. */
  async announce(ids: readonly string[], forMs: number): Promise<void> {
    await this.run('announce', [String(forMs), ...ids])
  }

  /** In steps, between which other clients of the server are served. */
  async repair(): Promise<RepairAnswer> {
    const step = async (name: RepairStep, ...args: readonly string[]): Promise<readonly Reply[]> =>
      (await this.run('repair', [token, name, ...args])).slice(1)
    const token = newEpoch()
    const restored: string[] = []
    const waiting: string[] = []
    const ordered = new Set(['rebuild:all'])
    let [jobs, last] = [0, 0]
    const each = async (name: RepairStep, found: string[], ...args: readonly string[]): Promise<void> => {
      for (let cursor = '0'; ;) {
        const [next, some, total, upto, names] = await step(name, cursor, ...args)
        found.push(...texts(some))
        jobs += Number(total)
        last = Math.max(last, Number(upto))
        for (const key of texts(names)) ordered.add(key)
        cursor = String(next)
        if (cursor === '0') return
      }
    }
    const [, before] = await step('begin')
    await each('back', restored)
    await each('clear', [])
    for (const kind of ['holders', 'predecessors']) await each('keys', [], kind)
    await each('rows', waiting)
    for (const key of ordered) await each('order', [], key)
    for (let i = 0; i < waiting.length; i += 1_000) await each('release', [], ...waiting.slice(i, i + 1_000))
    const [, after] = await step('end', '0', String(last))
    this.leased.forgetAll()
    const [was, is] = [before, after].map((reply) => countsByName(figuresFrom(reply)))
    const counts = [...(is ?? [])].filter(([name, count]) => count !== (was?.get(name) ?? 0)).length
    return { jobs, restored, unreadable: texts(await this.redis.send(['HKEYS', this.keys.aside])), counts }
  }

  private tell({ rollback, isOther }: EpochNews): void {
    if (rollback !== null) {
      // What is remembered was true on a server that is gone.
      this.leased.forgetAll()
      this.notify([{ kind: 'rollback', ...rollback }])
    } else if (isOther) this.notify([{ kind: 'restart' }])
  }
}

const ignore = (): void => {}

/** The name of what has changed, without what scripts put into names of types. */
const plainName = (name: string): string => (/^(paused|slots) /.test(name) ? textOfScript(name) : name)
