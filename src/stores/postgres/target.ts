/** The server that options name, by an address or by a pool of the driver: links are made of either. */
import { Socket } from 'node:net'
import { text } from '../../core/checks.ts'
import { systemClock } from '../../core/clock.ts'
import { invalidOption, JobchartError } from '../../core/errors.ts'
import type { Client, ClientConfig, Notification } from 'pg'
import {
  codeOf,
  connectMsMax,
  lookAtServer,
  type Ask,
  type Link,
  type Param,
  type ResultRow,
  type Target,
} from './connection.ts'
import { importPg } from './peer.ts'
import { pgliteTarget } from './pglite.ts'

const addressText = text(4_000)
const portMax = 65_535

type ClientClass = new (config: ClientConfig) => Client

/** A pool of `pg`. */
interface PoolLike {
  readonly options: ClientConfig
  readonly Client: ClientClass
}

/** The options that name a database, of which one is given. */
export interface TargetOptions {
  readonly url?: string
  readonly pool?: object
  readonly pglite?: object
}

/** @throws JobchartError INVALID_OPTION */
export function targetOf({ url, pool, pglite }: TargetOptions): Target {
  const [first, second] = Object.entries({ pglite, pool, url }).filter(([, value]) => value !== undefined)
  if (first !== undefined && second !== undefined)
    throw invalidOption(second[0], `nothing beside \`${first[0]}\``, second[1])
  if (pglite !== undefined) return pgliteTarget(pglite)
  if (pool !== undefined) return ofPool(pool)
  if (url === undefined) throw invalidOption('url', 'the address of a server, or a `pool`, or a `pglite`', url)
  addressText(url, 'url')
  const [, scheme, authority = '', rest = ''] = /^(postgres|postgresql):\/\/([^/?]*)([^]*)$/.exec(url) ?? []
  if (scheme === undefined) throw invalidOption('url', 'postgres://…', `${url.split(':')[0] ?? ''}:…`)
  const at = authority.lastIndexOf('@')
  const hosts = authority.slice(at + 1).split(',')
  const beyond = hosts.find((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) > portMax)
  if (beyond !== undefined) throw invalidOption('url', `a port up to ${portMax}`, beyond)
  const urls = hosts.map((host) => `${scheme}://${authority.slice(0, at + 1)}${host}${rest}`)
  return {
    where: hosts.every((host) => host === '') ? 'localhost' : hosts.join(','),
    connect: async (signal) =>
      writable(
        urls.map((connectionString) => ({ connectionString })),
        await installed(),
        signal,
      ),
  }
}

function ofPool(pool: object): Target {
  const { options, Client: given } = pool as Partial<PoolLike>
  if (typeof options !== 'object' || typeof given !== 'function') throw invalidOption('pool', 'a Pool of pg', pool)
  return { where: 'the server of the pool', connect: (signal) => writable([options], given, signal) }
}

/** @throws JobchartError UNSUPPORTED */
async function installed(): Promise<ClientClass> {
  try {
    return (await importPg('pg')).default.Client
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new JobchartError('UNSUPPORTED', 'postgresStore needs a driver', { hint: 'npm install pg' })
  }
}

/** A link on the first of the servers that takes writes. */
async function writable(configs: readonly ClientConfig[], pg: ClientClass, signal?: AbortSignal): Promise<Link> {
  let failure: unknown
  for (const config of configs) {
    const link = new PgLink(config, pg)
    const giveUp = (): void => link.close()
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      signal?.throwIfAborted()
      await link.open()
      return link
    } catch (error) {
      failure ??= error
      link.close()
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }
  throw failure
}

/** A setting of the user or the database looks the same. */
const noWrites = 'the server takes no writes (a standby, or default_transaction_read_only)'

/** Calls are judged by what was committed before them; numbers are answered whole, and a null of an array is one. */
const isAsNeeded = `current_setting('transaction_isolation') = 'read committed'
  AND current_setting('extra_float_digits')::int > 0 AND current_setting('array_nulls')::bool`
const greeting =
  "SET default_transaction_isolation = 'read committed'; SET extra_float_digits = 1; SET array_nulls = on"

class PgLink implements Link {
  readonly ifSilent = lookAtServer
  isPooled = true
  epoch = ''
  private readonly client: Client
  private readonly socket = new Socket()

  constructor(config: ClientConfig, pg: ClientClass) {
    this.client = new pg({
      ...config,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      // What is asked for at once is sent at once; of older drivers each call waits for the answer before it.
      pipeline: true,
      stream: () => this.socket,
      application_name: config.application_name ?? 'jobchart',
    })
    // Without a listener an error of the connection would end the process; calls tell of it.
    this.client.on('error', () => {})
  }

  async open(): Promise<void> {
    await this.client.connect()
    const [row = []] = await this.query(
      `SELECT current_setting('transaction_read_only'), ${isAsNeeded}, pg_backend_pid(),
        concat(extract(epoch FROM pg_postmaster_start_time()), ' ',
          (SELECT oid FROM pg_database WHERE datname = current_database()))`,
    )
    const [readOnly, hasSettings, pid, started] = row
    // What a server answers to a write that it does not take.
    if (readOnly === 'on') throw Object.assign(new Error(noWrites), { code: '25006' })
    this.epoch = started as string
    // A pooler gives each connection a number of its own.
    this.isPooled = pid !== (this.client as { readonly processID?: unknown }).processID
    if (hasSettings !== true) await this.query(greeting)
  }

  async query(statement: string, values: readonly Param[] = [], name?: string): Promise<readonly ResultRow[]> {
    const { rows } = await this.client.query<unknown[]>({
      text: statement,
      rowMode: 'array',
      // Behind a pooler another connection of the server may have another statement of this name.
      ...(name !== undefined && !this.isPooled && { name }),
      ...(values.length > 0 && { values: [...values] }),
    })
    return rows
  }

  async transaction<T>(settings: string, work: (ask: Ask) => Promise<T>): Promise<T> {
    await this.query(`BEGIN; ${settings}`)
    try {
      const result = await work((...statement) => this.query(...statement))
      await this.query('COMMIT')
      return result
    } catch (error) {
      // A connection that was lost has ended it.
      if (codeOf(error) !== undefined) await this.query('ROLLBACK').catch(() => {})
      throw error
    }
  }

  async listen(channel: string, told: (payload: string) => void): Promise<void> {
    // Behind a pooler, those of others may arrive, too.
    const heard = ({ channel: of, payload }: Notification): unknown => of === channel && told(payload ?? '')
    this.client.removeAllListeners('notification').on('notification', heard)
    await this.query(`LISTEN ${channel}`)
  }

  onEnd(listener: () => void): void {
    this.client.on('end', listener)
  }

  close(): void {
    // A server that is silent would let it wait: what is under way is of no use any more.
    void this.client.end().catch(() => {})
    systemClock.nextTurn(() => this.socket.destroy())
  }
}
