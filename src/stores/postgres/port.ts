/** A schema of a server as the port of `remoteStore`. */
import { systemClock } from '../../core/clock.ts'
import { leaseOfIntents } from '../../core/tx-intent.ts'
import type { Store, TransactionStore } from '../../store.ts'
import { allCountsOf } from '../remote/figures.ts'
import type { StorePort } from '../remote/port.ts'
import { Aside } from './aside.ts'
import { Commits } from './commit.ts'
import { closed, failed, headColumns, type Ask, type Connection } from './connection.ts'
import type { FigureReader } from './figures.ts'
import { earlierCheckpoints } from './jobs.ts'
import { load } from './loading.ts'
import { readLog } from './log.ts'
import { migrate } from './migrate.ts'
import { closeAll, connectionsOf, type Open, type OpenSchema, type Settings } from './open.ts'
import { PostgresPlainWrites } from './plain.ts'
import { repair, unreadable } from './repair.ts'
import { find, findEnded, findIds, firstQueued } from './search.ts'
import { checkServer } from './server.ts'
import { findTerms } from './terms.ts'
import { quotedName } from './texts.ts'
import { transactionsOf } from './transactions/index.ts'

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
  const store: OpenSchema = { ...settings, schema, opened, now: () => opened().time.now() }
  const commits = new Commits(store)
  const aside = new Aside(store)
  const plain = new PostgresPlainWrites(store, (ids) => aside.set(ids))
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
    takeUnreadable: () => aside.takeMet(),
    unreadable: async () => unreadable(ask, schema),
    discardUnreadable: (ids) => aside.discard(ids),
    repair: async () => repair(settings, store),
  }
}

const readsOf = (
  ask: Ask,
  schema: string,
  aside: Aside,
): Required<
  Pick<StorePort, 'read' | 'firstQueued' | 'earlierCheckpoints' | 'find' | 'findIds' | 'ended' | 'terms'>
> => ({
  read: (wanted, into) => aside.reading(() => load(ask, schema, wanted, into)),
  firstQueued: (types) => firstQueued(ask, schema, types),
  earlierCheckpoints: (id) => earlierCheckpoints(ask, schema, id),
  find: (query) => aside.reading(() => find(ask, schema, query)),
  findIds: (query) => findIds(ask, schema, query),
  ended: (query) => findEnded(ask, schema, query),
  terms: (query) => findTerms(ask, schema, query),
})

/** Made with the schema: see `0002-transactions.ts`. */
async function storeIdOf(connection: Connection, schema: string): Promise<string> {
  const [row] = await connection.query(`SELECT value FROM ${schema}.meta WHERE name = 'store'`)
  return row?.[0] as string
}

/** Counts in a transaction of the user, of a database where all else waits for its end. */
const countsOf = ({ within }: Settings, figures: () => FigureReader): Pick<TransactionStore, 'counts'> =>
  within === undefined ? {} : { counts: async (tx) => allCountsOf((await figures().read(within(tx))).byType) }
