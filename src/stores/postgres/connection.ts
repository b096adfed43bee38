/** A connection to a server, which connects again by itself: the errors of this library, and calls that always end. */
import { systemClock, systemRandom, type Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import { closedMeanwhile } from '../remote/closed.ts'

/** Parameters of a statement. */
export type Param = string | number | boolean | null | readonly (string | number | boolean | null)[]

export type ResultRow = readonly unknown[]

/**
 * Carries out a statement on a connection, or in a transaction on it. Those that are asked often have a name, under
 * which the server keeps them. Without values there may be several statements.
 */
export type Ask = (text: string, values?: readonly Param[], name?: string) => Promise<readonly ResultRow[]>

/** A connected client of a driver: it ends with its connection. */
export interface Link {
  query: Ask
  /** What to look at if it does not answer. */
  readonly ifSilent: string
  /** Is there a pooler before the server? Then its connections may change from one transaction to the next. */
  readonly isPooled: boolean
  /** Which run of the server, and which database of this name, it is connected to. */
  readonly epoch: string
  /** Carries out `work` as one transaction. @param settings the statement that it begins with */
  transaction<T>(settings: string, work: (ask: Ask) => Promise<T>): Promise<T>
  /** Calls `told` with the payload of each notification of the channel. */
  listen(channel: string, told: (payload: string) => void): Promise<void>
  /** Calls the listener when the connection has ended, whoever has ended it. */
  onEnd(listener: () => void): void
  /** Ends it at once. */
  close(): void
}

/** A server, and how links on it are made; where it is, for messages. */
export interface Target {
  /** @param signal aborted by a close: it is given up */
  readonly connect: (signal?: AbortSignal) => Promise<Link>
  readonly where: string
  /** Does it survive the end of the process? Default: yes. */
  readonly isDurable?: boolean
  /** How to read in a transaction of the user, if all else waits for its end. */
  readonly within?: (tx: object) => Ask
}

/** The time of the server, ms since the epoch. */
export const clockColumn = 'extract(epoch FROM clock_timestamp())::float8 * 1000'

/** Which table of this name it is: another one, if somebody has dropped it and made it anew. */
export const madeColumn = (schema: string): string => `'${schema.replaceAll("'", "''")}.jobs'::regclass::bigint::float8`

/** What the answers to writes begin with. */
export const headColumns = (schema: string): string => `${clockColumn}, ${madeColumn(schema)}`

/**
 * A call that is under way is looked at so often, ms, and given up after so many looks. A process that was stopped, or
 * has blocked its event loop, reads the answers that have come meanwhile before the next look.
 */
const lookMs = 1_000
const looksMax = 15

/** So long a connection may take, ms. */
export const connectMsMax = 10_000

/** Answers after which the same statement may succeed: nothing of it was carried out. */
const passing = new Set(['40P01', '40001', '55P03'])
const triesMax = 5

/** The code of an answer of the server; undefined if there was none. */
export const codeOf = (error: unknown): string | undefined => {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Was the connection lost, or does the server write no more? Then the next call connects anew. */
const isLost = (error: unknown): boolean => {
  const code = codeOf(error)
  return code === undefined || /^(57P0[1-5]|08...|25006|3D000|53300)$/.test(code)
}

export class Connection {
  private readonly connect: Target['connect']
  readonly where: string
  private link: Promise<Link> | null = null
  /** Ends when the transaction that is under way has ended. */
  private transaction: Promise<unknown> | null = null
  private readonly closing = new AbortController()

  /** @param connect makes a connected client */
  constructor(connect: Target['connect'], where: string) {
    this.connect = connect
    this.where = where
  }

  /** One of its own, to the same server. */
  another(): Connection {
    return new Connection(this.connect, this.where)
  }

  /**
   * Carries out one statement, which is a transaction of its own.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  query(...statement: Parameters<Ask>): Promise<readonly ResultRow[]> {
    return this.run((link) => link.query(...statement))
  }

  /**
   * Listens on the connection that it has now. @returns it
   * @throws JobchartError STORE_UNAVAILABLE
   */
  listen(channel: string, told: (payload: string) => void): Promise<Link> {
    return this.run(async (link) => {
      await link.listen(channel, told)
      return link
    })
  }

  /**
   * Carries out several statements, which are one transaction. Other calls wait for its end.
   * @param settings the first of them
   */
  inTransaction<T>(settings: string, work: (ask: Ask) => Promise<T>): Promise<T> {
    const before = this.transaction
    const own = (async (): Promise<T> => {
      await before
      return this.attempt((link) => link.transaction(settings, work))
    })()
    const ended = own.then(ignore, ignore)
    this.transaction = ended
    void ended.then(() => {
      if (this.transaction === ended) this.transaction = null
    })
    return own
  }

  private async run<T>(work: (link: Link) => Promise<T>): Promise<T> {
    while (this.transaction !== null) await this.transaction
    return this.attempt(work)
  }

  /** Does it again from the start if others were in the way. */
  private async attempt<T>(work: (link: Link) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const link = await this.current()
      try {
        return await limited(work(link), () => silent(this.where, link.ifSilent))
      } catch (error) {
        if (this.isClosed) throw closedMeanwhile(`PostgreSQL at ${this.where}`, error)
        if (isLost(error)) this.drop(link)
        if (!passing.has(codeOf(error) ?? '') || tries === triesMax) throw failed(this.where, error)
        await pause(systemRandom() * 20 * tries)
      }
    }
  }

  /** The connected client: a new one, if the last was lost. */
  async current(): Promise<Link> {
    if (this.isClosed) throw closed(this.where)
    const connecting = (this.link ??= this.connectAnew())
    try {
      const link = await connecting
      if (!this.isClosed) return link
      link.close()
    } catch (error) {
      if (this.link === connecting) this.link = null
      throw failed(this.where, error)
    }
    throw closed(this.where)
  }

  private async connectAnew(): Promise<Link> {
    const { signal } = this.closing
    const { promise: closedNow, reject } = Promise.withResolvers<never>()
    const giveUp = (): void => reject(closed(this.where))
    signal.addEventListener('abort', giveUp, { once: true })
    // The driver tells nothing of a connection that is ended while it is made.
    const link = await Promise.race([this.connect(signal), closedNow]).finally(() =>
      signal.removeEventListener('abort', giveUp),
    )
    const connecting = this.link
    link.onEnd(() => {
      if (this.link === connecting) this.link = null
    })
    return link
  }

  private drop(link: Link): void {
    this.link = null
    link.close()
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted
  }

  close(): void {
    this.closing.abort()
    void this.link?.then((link) => link.close()).catch(ignore)
    this.link = null
  }
}

const ignore = (): void => {}

async function limited<T>(call: Promise<T>, tooLong: () => Error): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>()
  let looks = 0
  // An open connection keeps the process alive by itself.
  const lookLater = (): Timer => systemClock.timer(look, lookMs, { keepAlive: false })
  const look = (): void => {
    if (++looks < looksMax) timer = lookLater()
    else reject(tooLong())
  }
  let timer = lookLater()
  try {
    return await Promise.race([call, silence])
  } finally {
    timer.cancel()
    // What comes of it later is of no use any more.
    call.catch(ignore)
  }
}

const silent = (where: string, hint: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `PostgreSQL at ${where}: no answer within ${looksMax * lookMs} ms`, { hint })

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(resolve, ms, { keepAlive: false }))

export const closed = (where: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `PostgreSQL at ${where}: the store is not open`, {
    hint: 'Open the store first; a stopped runtime closes it.',
  })

/** Of a server that cannot be reached. */
export const lookAtServer =
  'Is the server running and reachable? Calls succeed again as soon as it is; writes may be repeated.'

/** An error of the driver, or of the server, as one of this library. */
export function failed(where: string, cause: unknown): JobchartError {
  if (cause instanceof JobchartError) return cause
  const code = codeOf(cause)
  const message = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
  return new JobchartError('STORE_UNAVAILABLE', `PostgreSQL at ${where}: ${message}`, { hint: hintOf(code), cause })
}

function hintOf(code: string | undefined): string {
  if (code === '42501') return 'Grant the rights that docs/postgres.md lists.'
  if (code === '3D000') return 'Create the database, or correct its name in the url.'
  if (code?.startsWith('28') === true) return 'Look at the user and the password in the url.'
  if (code === '25006')
    return 'Name the primary, too, or look at default_transaction_read_only of the user and the database.'
  if (code === '57014')
    return 'The statement_timeout of the user or the database is too short, or somebody has cancelled the statement.'
  if (code === '53100') return 'The disk of the server is full: calls succeed again when it has room.'
  if (code === '53300') return 'The server has no free connection: a process takes three. Raise max_connections.'
  if (code === '55P03') return 'Somebody else holds a lock on a table of jobchart: end that transaction.'
  if (code === undefined || isLost({ code })) return lookAtServer
  return 'The call may be repeated. Was something in the schema changed by hand? `jobchart doctor` looks at it.'
}
