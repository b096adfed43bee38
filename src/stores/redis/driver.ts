/**
 * Operations of the core over a Redis server: what they need is loaded by one pipeline, and what they write is
 * committed by one script.
 */
import type { Hint, RepairAnswer } from '../../store.ts'
import type { Redis, Reply } from './connection.ts'
import { hintsFrom } from './hints.ts'
import type { Keys } from './keys.ts'
import { newEpoch, type EpochNews, type Epochs } from './epoch.ts'
import type { EvictionWatch } from './eviction.ts'
import { Exchange } from './exchange.ts'
import { load, texts, type Select } from './loading.ts'
import type { Need } from '../remote/needs.ts'
import { planOf } from './plan.ts'
import { RemoteDriver } from '../remote/driver.ts'
import type { Row } from '../remote/row.ts'
import { hasOf, textOfScript } from './row-text.ts'
import type { Scripts } from './scripts.ts'
import type { RemoteUnit } from '../remote/unit.ts'
import type { WorkingSet } from '../remote/working-set.ts'

type ScriptName =
  | 'commit'
  | 'commitStoring'
  | 'commitEach'
  | 'claim'
  | 'exchange'
  | 'insert'
  | 'settle'
  | 'remove'
  | 'forget'
  | 'retain'
  | 'seen'
  | 'worker'
  | 'epoch'
  | 'aside'
  | 'repair'
  | 'due'
  | 'announce'

/**
 * Heartbeats read the epochs so often, ms: the clients of some topologies do not tell when they have connected again.
 */
const greetEveryMs = 5_000

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

export class Driver extends RemoteDriver {
  readonly server = 'Redis'
  readonly redis: Redis
  readonly keys: Keys
  readonly scripts: Scripts<ScriptName>
  readonly time: StoreTime
  readonly exchange = new Exchange(async (name, request) => (await this.run(name, request)).slice(1))
  private readonly epochs: Epochs
  private readonly select: Select
  private readonly notify: (hints: readonly Hint[]) => void
  private readonly eviction: EvictionWatch
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
    super()
    this.redis = redis
    this.keys = keys
    this.scripts = scripts
    this.time = time
    this.epochs = epochs
    this.select = select
    this.notify = notify
    this.eviction = eviction
  }

  override get epoch(): string {
    return this.epochs.current
  }

  protected override get now(): number {
    return this.time.now()
  }

  override async load(needs: readonly Need[], set: WorkingSet): Promise<void> {
    const unreadable = await load(this.redis, this.keys, needs, set, this.select)
    if (unreadable.length > 0) await this.setAside(unreadable)
  }

  protected override lettersOf(row: Row): string {
    return hasOf(row.values, (field) => row.hasData(field))
  }

  protected override async commit(unit: RemoteUnit, set: WorkingSet, epoch: string): Promise<readonly string[] | null> {
    const { plan, writes } = planOf(unit, this.keys)
    if (!writes && !set.believed) return null
    const stores = unit.rows.values().some((row) => row.loaded === null && row.there)
    const [outcome, rest] = await this.run(stores ? 'commitStoring' : 'commit', [JSON.stringify({ ...plan, epoch })])
    if (outcome === 'stale') return texts(rest).map(plainName)
    this.wrote(unit, Number(rest))
    return null
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
  override async greet(): Promise<void> {
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
      this.leased.forgetAll()
      return { jobs: Number(jobs), restored: texts(restored), unreadable: texts(unreadable), counts: Number(counts) }
    })
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
