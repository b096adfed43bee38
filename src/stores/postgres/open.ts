/** The connections of a store that is open, and what this process knows of its schema by them. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { ServerClock } from '../remote/server-clock.ts'
import { Connection, type Ask, type ResultRow, type Target } from './connection.ts'
import { Epoch } from './epoch.ts'
import { FigureReader, lastOf } from './figures.ts'
import { Hints, ignoreUnavailable } from './hints.ts'
import { quotedName } from './texts.ts'

export interface Settings extends Target {
  readonly schema: string
  readonly transitionsMax: number
  /** Where a test holds the clock: it judges leases and due times instead of the server's. */
  readonly clock?: Clock
}

/** A schema, and how it is written to. */
export interface Schema {
  /** Its name, quoted. */
  readonly schema: string
  readonly transitionsMax: number
  readonly now: () => number
}

/** A schema of a store. */
export interface OpenSchema extends Schema {
  readonly where: string
  /** @throws JobchartError STORE_UNAVAILABLE if the store is not open */
  readonly opened: () => Open
}

export interface Open {
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

/** A process that stops in the middle holds up all others for no longer than this. */
const turnSettings = "SET LOCAL idle_in_transaction_session_timeout = '2s'"

/** Works in a transaction that has the turn. */
export const inTurn = <T>({ opened, schema }: OpenSchema, work: (ask: Ask) => Promise<T>): Promise<T> =>
  opened().lane.inTransaction(turnSettings, async (ask) => {
    await ask(`SELECT ${schema}.take_turn()`)
    return work(ask)
  })

/** @param renewed called when another run of the server has begun, which may lack what this process knows */
export function connectionsOf(settings: Settings, clock: Clock, renewed: () => void): Open {
  const connection = (): Connection =>
    new Connection(async (signal) => {
      const link = await settings.connect(signal)
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

export function closeAll({ lane, reads, hints }: Open): void {
  hints.close()
  reads.close()
  lane.close()
}
