/** The server that options name, by an address or by a client of a driver. */
import { text } from '../../core/checks.ts'
import { invalidOption, JobchartError } from '../../core/errors.ts'
import type { RedisClient } from './connection.ts'
import { fromIoredis, ioredisAt } from './ioredis.ts'
import { fromNodeRedis, nodeRedisAt } from './node-redis.ts'

const addressText = text(2_000)

/** A server, and how clients of it are made. */
interface Target {
  readonly makeClient: () => Promise<RedisClient>
  readonly where: string
}

/** @throws JobchartError INVALID_OPTION */
export function targetOf({ url, client }: { readonly url?: string; readonly client?: object }): Target {
  return client === undefined ? atUrl(url) : ofClient(client, url)
}

function atUrl(url: string | undefined): Target {
  if (url === undefined) throw invalidOption('url', 'the address of a server, or a `client`', url)
  const host = hostOf(addressText(url, 'url'))
  if (host === null) {
    // It may have a password: it is not repeated.
    throw new JobchartError('INVALID_OPTION', 'url is not an address of a Redis server', {
      hint: 'The form is redis://user:password@host:6379/0, each part percent-encoded; rediss:// for TLS. Other settings: `prefix`, `client`.',
    })
  }
  return { where: host === '' ? 'localhost' : host, makeClient: () => installed(url) }
}

/** Null: no address, or one with parts that a driver leaves out, or throws for. */
function hostOf(url: string): string | null {
  try {
    const { protocol, username, password, host, pathname, search } = new URL(url)
    decodeURIComponent(username + password)
    return /^rediss?:$/.test(protocol) && /^(\/\d*)?$/.test(pathname) && search === '' ? host : null
  } catch {
    return null
  }
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
