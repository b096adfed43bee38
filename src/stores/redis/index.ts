/** The Redis store: jobs on a server, shared by the processes of many hosts. */
import { checkInteger, checkKeys, checkText } from '../../core/checks.ts'
import { caps } from '../../core/caps.ts'
import { invalidOption, JobchartError } from '../../core/errors.ts'
import type { Store } from '../../store.ts'
import type { RedisClient } from './connection.ts'
import { fromIoredis, ioredisAt } from './ioredis.ts'
import { namespaceOf } from './keys.ts'
import { fromNodeRedis, nodeRedisAt } from './node-redis.ts'
import { redisStoreOf } from './store.ts'

export interface RedisStoreOptions {
  /**
   * Where the server is: `redis://user:password@host:6379/0`, or `rediss://…` for TLS. The driver is `@redis/client` if it is
   * installed, else `ioredis`. One of `url` and `client` must be given.
   */
  readonly url?: string
  /** A client of `redis`, `@redis/client` or `ioredis`. It is left as it is: the store connects by clients of the same settings. */
  readonly client?: object
  /**
   * What the names of all keys begin with, default `jobchart`: stores of different prefixes know nothing of each other. All
   * keys of a prefix have one hash tag, which is the prefix, or the `{tag}` in it.
   */
  readonly prefix?: string
  /** Entries of the transition log that are kept at least, default 10,000; up to 200 more may be. */
  readonly transitionsMax?: number
}

/**
 * A store on a Redis server, version 7 or later, or Valkey. Nothing is sent before it is opened by a client or a runtime.
 * @throws JobchartError INVALID_OPTION; its `open` rejects with STORE_UNAVAILABLE, or UNSUPPORTED (an older server, one that
 * removes keys when its memory is full, or no driver is installed)
 * @example
 * const runtime = createRuntime({ jobs, store: redisStore({ url: 'redis://localhost:6379' }) })
 */
export function redisStore(options: RedisStoreOptions): Store {
  checkKeys(
    'options of redisStore',
    options,
    ['url', 'client', 'prefix', 'transitionsMax'],
    "Pass where the server is: redisStore({ url: 'redis://localhost:6379' }).",
  )
  const { url, client, prefix = 'jobchart', transitionsMax = caps.transitions } = options
  checkInteger('transitionsMax', transitionsMax, 1, 1_000_000_000)
  const namespace = namespaceOf(prefix)
  const { makeClient, where } = client === undefined ? atUrl(url) : ofClient(client, url)
  return redisStoreOf({ makeClient, where, namespace, transitionsMax })
}

interface Target {
  readonly makeClient: () => Promise<RedisClient>
  readonly where: string
}

function atUrl(url: string | undefined): Target {
  if (url === undefined) throw invalidOption('url', 'the address of a server, or a `client`', url)
  checkText('url', url, 2_000)
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol)) {
    throw invalidOption('url', 'redis://… or rediss://…', url)
  }
  const { host } = new URL(url)
  return { where: host === '' ? 'localhost' : host, makeClient: () => installed(url) }
}

function ofClient(client: object, url: string | undefined): Target {
  if (url !== undefined) throw invalidOption('url', 'nothing beside `client`', url)
  const has = (method: string): boolean =>
    typeof client === 'object' && client !== null && typeof (client as Record<string, unknown>)[method] === 'function'
  const where = 'the server of the client'
  if (has('call') && has('duplicate')) return { where, makeClient: async () => fromIoredis(client) }
  if (has('sendCommand') && has('duplicate')) return { where, makeClient: async () => fromNodeRedis(client) }
  throw invalidOption('client', 'a client of redis, @redis/client or ioredis', client)
}

async function installed(url: string): Promise<RedisClient> {
  for (const connect of [nodeRedisAt, ioredisAt]) {
    try {
      return await connect(url)
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    }
  }
  throw new JobchartError('UNSUPPORTED', 'redisStore needs a driver', {
    hint: 'npm install @redis/client, or ioredis.',
  })
}
