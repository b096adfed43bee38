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
  addressText(url, 'url')
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
