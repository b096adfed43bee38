/** A schema of a server as the port of `remoteStore`. */
import { randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../../core/clock.ts'
import { counted } from '../../core/counted.ts'
import { JobchartError } from '../../core/errors.ts'
import { leaseOfIntents } from '../../core/tx-intent.ts'
import type { Store, TransactionStore } from '../../store.ts'
import { staleOf, type Commit, type Current } from '../remote/commit.ts'
import { allCountsOf, countsFrom } from '../remote/figures.ts'
import type { StorePort } from '../remote/port.ts'
import { ServerClock } from '../remote/server-clock.ts'
import { Aside } from './aside.ts'
import { commitInTurn, commitStatement, committedOf, type Committed } from './commit.ts'
import {
  type Ask,
  closed,
  Connection,
  failed,
  headColumns,
  pause,
  type Param,
  type ResultRow,
  type Target,
} from './connection.ts'
import { Epoch } from './epoch.ts'
import { FigureReader, lastOf, type Figures } from './figures.ts'
import { Hints, ignoreUnavailable } from './hints.ts'
import { load } from './loading.ts'
import { readLog } from './log.ts'
import { migrate } from './migrate.ts'
import { find, findEnded, findIds, firstQueued } from './search.ts'
import { repair, unreadable } from './repair.ts'
import { checkServer } from './server.ts'
import { PostgresPlainWrites } from './plain.ts'
import { findTerms } from './terms.ts'
import { columnText, quotedName, textOfColumn } from './texts.ts'
import { transactionsOf } from './transactions/index.ts'

interface Settings extends Target {
  readonly schema: string
  readonly transitionsMax: number
  /** Where a test holds the clock: it judges leases and due times instead of the server's. */
  readonly clock?: Clock
}

/** A row that somebody else holds is tried for so long, ms. */
const lockedMsMax = 1_000

interface Open {
  /** Commits and what they load, in order. */
  readonly lane: Connection
  /** What users read. */
  readonly reads: Connection
  readonly hints: Hints
  readonly figures: FigureReader
  readonly time: StoreTime
  readonly epoch: Epoch
}

/** The time of the server, learnt from its answers, or of the clock of a test; they tell the epoch, too. */
class StoreTime {
  private readonly clock: Clock
  private readonly server: ServerClock | null
  private readonly epoch: Epoch

  /** @param clock of who opens the store */
  constructor(clock: Clock, given: Clock | undefined, epoch: Epoch) {
    this.epoch = epoch
    this.clock = given ?? clock
    this.server = given !== undefined || clock.isVirtual === true ? null : new ServerClock(clock)
  }

  now(): number {
    return Math.floor(this.server?.now() ?? this.clock.now())
  }

  /** @param ask its answer begins with `headColumns`. @returns the others of the first row */
  async learn(ask: () => Promise<readonly ResultRow[]>): Promise<ResultRow> {
    const sent = this.clock.monotonic()
    const [[time, table, ...row] = []] = await ask()
    this.server?.learn(time as number, sent, this.clock.monotonic())
    this.epoch.learnTable(table as number)
    return row
  }
}

/** A port, and what of a store is not derived from one. */
export interface PostgresPort extends StorePort, Required<Pick<Store, 'unreadable' | 'repair'>> {
  /** The jobs that were set aside here, because they cannot be read, since the last call. */
  takeUnreadable(): readonly string[]
  /** Removes jobs that were set aside. @returns those of the ids that were there */
  readonly discardUnreadable: (ids: readonly string[]) => Promise<readonly string[]>
}

export function postgresPort(settings: Settings): PostgresPort {
  const schema = quotedName(settings.schema)
  let open: Open | null = null
  let storeId = ''
  const opened = (): Open => {
    if (open === null) throw closed(settings.where)
    return open
  }
  const ask: Ask = (...statement) => opened().reads.query(...statement)
  const commits = new Commits(opened, schema, settings)
  const now = (): number => opened().time.now()
  const aside = new Aside({ ...settings, schema, now, inTurn: (work) => inTurn(opened().lane, schema, work) })
  const plain = new PostgresPlainWrites({
    schema,
    transitionsMax: settings.transitionsMax,
    now,
    setAside: (ids) => aside.set(ids),
    tellBehind: (hints) => opened().hints.tellBehind(hints, opened().lane),
    ask: (name, text, values) => askPlain(opened(), name, text, values),
    foldIfMany: (unfolded) => opened().figures.foldIfMany(unfolded),
  })
  const transactions = transactionsOf({
    connections: () => opened().epoch.connections,
    schema,
    storeId: () => storeId,
    ask,
  })
  return {
    name: 'postgres',
    capabilities: { durable: settings.isDurable ?? true, shared: true, transactions: true, wholeClaims: true },
    async open({ clock, signal }) {
      const made = connectionsOf(settings, clock, () => plain.forgetAll())
      const giveUp = (): void => closeAll(made)
      signal?.addEventListener('abort', giveUp, { once: true })
      try {
        signal?.throwIfAborted()
        await checkServer(made.lane, settings.where)
        await migrate(made.lane, settings.schema, settings.where)
        storeId = await storeIdOf(made.lane, schema)
        await made.time.learn(() => made.lane.query(`SELECT ${headColumns(schema)}`))
        open = made
      } catch (error) {
        closeAll(made)
        throw failed(settings.where, error)
      } finally {
        signal?.removeEventListener('abort', giveUp)
      }
    },
    close() {
      if (open !== null) closeAll(open)
      open = null
    },
    epoch: () => open?.epoch.current ?? '',
    now: () => open?.time.now() ?? Math.floor((settings.clock ?? systemClock).now()),
    load: (wanted, into) =>
      aside.reading(() => load((...statement) => opened().lane.query(...statement), schema, wanted, into)),
    commit(commit) {
      for (const id of commit.revisions.keys()) plain.forget(id)
      return commits.commit(commit)
    },
    plain,
    ...readsOf(ask, schema, aside),
    figures: () => opened().figures.read(),
    log: (after, limit) => readLog(ask, schema, after, limit),
    transactions: {
      ...transactions,
      ...countsOf(settings, () => opened().figures),
      write(tx, intents) {
        // What ends the lease in a transaction of the user is judged by the core.
        const lease = leaseOfIntents(intents)
        if (lease !== null) plain.forget(lease.id)
        return transactions.write(tx, intents)
      },
    },
    tell: (hints) => open?.hints.tell(hints),
    watch: (listener) => opened().hints.watch(listener),
    watchEnds: () => open?.hints.watchEnds(),
    ...unreadableOf({ ask, opened, aside, schema, settings, now }),
  }
}

const readsOf = (
  ask: Ask,
  schema: string,
  aside: Aside,
): Required<Pick<StorePort, 'read' | 'firstQueued' | 'find' | 'findIds' | 'ended' | 'terms'>> => ({
  read: (wanted, into) => aside.reading(() => load(ask, schema, wanted, into)),
  firstQueued: (types) => firstQueued(ask, schema, types),
  find: (query) => aside.reading(() => find(ask, schema, query)),
  findIds: (query) => findIds(ask, schema, query),
  ended: (query) => findEnded(ask, schema, query),
  terms: (query) => findTerms(ask, schema, query),
})

/** @returns the row of a function of plain jobs without `headColumns`: `unfolded`, and numbers of what it wrote */
async function askPlain(
  { lane, time, epoch }: Open,
  name: string,
  text: string,
  values: readonly Param[],
): Promise<ResultRow> {
  const row = await time.learn(() => lane.query(text, values, name))
  for (const number of row.slice(1, 3)) if (typeof number === 'number') epoch.see(number)
  return row
}

interface UnreadableOptions {
  readonly ask: Ask
  readonly opened: () => Open
  readonly aside: Aside
  readonly schema: string
  readonly settings: Settings
  readonly now: () => number
}

type UnreadablePart = Omit<PostgresPort, keyof StorePort>

/** What of a store is not derived from a port. */
const unreadableOf = ({ ask, opened, aside, schema, settings, now }: UnreadableOptions): UnreadablePart => ({
  takeUnreadable: () => aside.takeMet(),
  unreadable: async () => unreadable(ask, schema),
  async discardUnreadable(ids) {
    const text = `DELETE FROM ${schema}.aside WHERE id = ANY($1::text[]) RETURNING id`
    const rows = await opened().lane.query(text, [ids.map(columnText)])
    return [...new Set(rows.map(([id]) => textOfColumn(id as string)))]
  },
  async repair() {
    opened()
    const { transitionsMax, where, connect } = settings
    // On a connection of its own: it may take longer than any other call.
    const link = await connect()
    try {
      return await repair(link, { schema, transitionsMax, now })
    } catch (error) {
      throw failed(where, error)
    } finally {
      link.close()
    }
  },
})

/** A process that stops in the middle holds up all others for no longer than this. */
const turnSettings = "SET LOCAL idle_in_transaction_session_timeout = '2s'"

const inTurn = <T>(lane: Connection, schema: string, work: (ask: Ask) => Promise<T>): Promise<T> =>
  lane.inTransaction(turnSettings, async (ask) => {
    await ask(`SELECT ${schema}.take_turn()`)
    return work(ask)
  })

/** Made with the schema: see `0002-transactions.ts`. */
async function storeIdOf(connection: Connection, schema: string): Promise<string> {
  const [row] = await connection.query(`SELECT value FROM ${schema}.meta WHERE name = 'store'`)
  return row?.[0] as string
}

/** @param renewed called when another run of the server has begun, which may lack what this process knows */
function connectionsOf(settings: Settings, clock: Clock, renewed: () => void): Open {
  const connection = (): Connection =>
    new Connection(async () => {
      const link = await settings.connect()
      epoch.learn(link)
      return link
    }, settings.where)
  const [lane, reads, listening] = [connection(), connection(), connection()]
  const schema = quotedName(settings.schema)
  const epoch = new Epoch(
    () => {
      figures.forget()
      renewed()
    },
    () => void hints.tellNews().catch(ignoreUnavailable),
  )
  const figures = new FigureReader(
    (...statement) => reads.query(...statement),
    schema,
    (table) => epoch.learnTable(table),
  )
  const lastNow = async (): Promise<number> => {
    const [row] = await listening.query(`SELECT coalesce(${lastOf(schema)}, 0)::float8`)
    return row?.[0] as number
  }
  const hints = new Hints(listening, settings.schema, randomUUID(), () => epoch.news(lastNow))
  return { lane, reads, hints, figures, time: new StoreTime(clock, settings.clock, epoch), epoch }
}

function closeAll({ lane, reads, hints }: Open): void {
  hints.close()
  reads.close()
  lane.close()
}

class Commits {
  private readonly opened: () => Open
  private readonly schema: string
  private readonly settings: Settings

  constructor(opened: () => Open, schema: string, settings: Settings) {
    this.opened = opened
    this.schema = schema
    this.settings = settings
  }

  async commit(commit: Commit): Promise<number | readonly string[]> {
    const { figures, epoch, lane } = this.opened()
    // Who connects anew learns the epoch.
    await lane.current()
    if (commit.epoch !== epoch.current) return ['epoch']
    const until = systemClock.monotonic() + lockedMsMax
    for (;;) {
      const stale = commit.slots.size > 0 ? await this.inTurn(commit) : await this.atOnce(commit)
      if (!('base' in stale)) return stale
      const { base, unfolded, locked } = stale
      if (base !== null) {
        epoch.see(base)
        await figures.foldIfMany(unfolded)
        return base
      }
      if (commit.epoch !== epoch.current) return ['epoch']
      if (locked.length === 0) return stale.stale
      if (systemClock.monotonic() > until) throw heldByOthers(this.settings.where, locked)
      await pause(20)
    }
  }

  private async atOnce(commit: Commit): Promise<Committed> {
    const { lane, time } = this.opened()
    const statement = commitStatement(this.schema, commit, this.options())
    return committedOf(await time.learn(() => lane.query(...statement)))
  }

  private options(): { readonly logMax: number; readonly table: number | null } {
    return { logMax: this.settings.transitionsMax, table: this.opened().epoch.table }
  }

  /** Free slots are counted here, so that the turn is taken before. */
  private inTurn(commit: Commit): Promise<Committed | readonly string[]> {
    const { lane, figures, time } = this.opened()
    const work = async (ask: Ask): Promise<Committed | readonly string[]> => {
      const current = await this.current(ask, await figures.read(ask))
      const only: Commit = { ...commit, revisions: new Map(), cells: [], rooms: new Map() }
      const stale = staleOf(only, current, time.now())
      if (stale.length > 0) return stale
      return commitInTurn(ask, this.schema, commit, this.options())
    }
    return inTurn(lane, this.schema, work)
  }

  private async current(ask: Ask, { byType }: Figures): Promise<Current> {
    const cells = await ask(`SELECT kind, field, value FROM ${this.schema}.cells WHERE kind IN ('workers', 'paused')`)
    const leased = await ask(
      `SELECT l.worker, sum(l.n)::int FROM (
          SELECT worker, count(*) AS n FROM ${this.schema}.jobs WHERE state IN ('running', 'cancelling') GROUP BY worker
          UNION ALL SELECT worker, cardinality(array_remove(jobs, 0)) FROM ${this.schema}.claims) l GROUP BY l.worker`,
    )
    const counts = countsFrom(byType)
    const paused = new Map(
      cells.flatMap(([kind, field, value]) =>
        kind === 'paused' ? [[textOfColumn(field as string), value as string] as const] : [],
      ),
    )
    const workers = cells.flatMap(([kind, , value]) => (kind === 'workers' ? textOfColumn(value as string) : []))
    const byWorker = new Map(leased.map(([worker, n]) => [textOfColumn((worker as string | null) ?? ''), n as number]))
    return {
      document: () => null,
      cell: (_, field) => paused.get(field) ?? null,
      values: () => workers,
      count: (state, type) => counts.get(type === null ? state : `${state}:${type}`) ?? 0,
      leasedBy: (worker) => byWorker.get(worker) ?? 0,
    }
  }
}

/** Counts in a transaction of the user, of a database where all else waits for its end. */
const countsOf = ({ within }: Settings, figures: () => FigureReader): Pick<TransactionStore, 'counts'> =>
  within === undefined ? {} : { counts: async (tx) => allCountsOf((await figures().read(within(tx))).byType) }

const heldByOthers = (where: string, locked: readonly string[]): Error => {
  const what = `another transaction holds the rows of ${counted(locked.length, 'job')}`
  return new JobchartError('STORE_UNAVAILABLE', `PostgreSQL at ${where}: ${what}`, {
    hint: 'End that transaction. Without one, row security hides these rows from this user: `jobchart doctor` tells.',
    cause: new Error(what),
  })
}
