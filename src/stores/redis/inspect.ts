/** What a server says of itself, without a store on it. */
import { JobchartError } from '../../core/errors.ts'
import { Redis, unavailable } from './connection.ts'
import { targetOf } from './target.ts'

export interface RedisServerInfo {
  readonly version: string
  /** Memory in use, bytes. */
  readonly usedBytes: number
  /** Memory that it may use, bytes; 0 = all that there is. */
  readonly maxBytes: number
  /** The name of the policy for a full memory. */
  readonly maxmemoryPolicy: string
  /**
   * Is each write appended to a file? Without that a failure of the server loses what was written since its last
   * snapshot.
   */
  readonly appendOnly: boolean
}

/**
 * Looks at a server before a store is opened on it: for checks of a deployment. Nothing is written.
 * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE, UNSUPPORTED (no driver is installed)
 * @example
 * const { appendOnly } = await inspectRedisServer({ url: 'redis://localhost:6379' })
 */
export async function inspectRedisServer(options: {
  readonly url?: string
  readonly client?: object
}): Promise<RedisServerInfo> {
  const { makeClient, where } = targetOf(options)
  const redis = new Redis(await makeClient(), where)
  try {
    await redis.connect()
    return serverInfoOf(String(await redis.send(['INFO'])))
  } catch (error) {
    throw error instanceof JobchartError ? error : unavailable(where, error)
  } finally {
    redis.close()
  }
}

/** Reads the answer of `INFO`. */
export function serverInfoOf(info: string): RedisServerInfo {
  const value = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    version: value('redis_version'),
    usedBytes: Number(value('used_memory')),
    maxBytes: Number(value('maxmemory')),
    maxmemoryPolicy: value('maxmemory_policy'),
    appendOnly: value('aof_enabled') === '1',
  }
}
