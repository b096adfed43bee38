/** Notices that the server removes keys when its memory is full, also if it is told so while the store is open. */
import { JobchartError } from '../../core/errors.ts'
import type { Hint } from '../../store.ts'
import type { Redis } from './connection.ts'
import { serverInfoOf, type RedisServerInfo } from './inspect.ts'

/** Heartbeats ask the server so often, ms. */
const askEveryMs = 60_000

/**
 * Keys without an expiry, as all of ours are, are only removed by the policies that begin so. Null: no key is removed.
 */
export function evictionOf({ maxBytes, maxmemoryPolicy }: RedisServerInfo, where: string): JobchartError | null {
  if (maxBytes === 0 || !maxmemoryPolicy.startsWith('allkeys')) return null
  const message = `Redis at ${where} removes keys when its memory is full (${maxmemoryPolicy})`
  return new JobchartError('UNSUPPORTED', message, {
    hint: 'Set maxmemory-policy to noeviction: jobs must not vanish.',
  })
}

export class EvictionWatch {
  private readonly redis: Redis
  private readonly where: string
  private readonly monotonic: () => number
  private askedAt: number
  /** What was told last; null while no key is removed, as when the store was opened. */
  private told: string | null = null

  constructor(redis: Redis, where: string, monotonic: () => number) {
    this.redis = redis
    this.where = where
    this.monotonic = monotonic
    this.askedAt = monotonic()
  }

  /** Asks the server if it was not asked for a minute. @returns what is to be told: once per change */
  async news(): Promise<Hint[]> {
    if (this.monotonic() - this.askedAt < askEveryMs) return []
    this.askedAt = this.monotonic()
    const error = evictionOf(serverInfoOf(String(await this.redis.send(['INFO', 'memory']))), this.where)
    const before = this.told
    this.told = error?.message ?? null
    return error === null || error.message === before ? [] : [{ kind: 'unsafe', error }]
  }
}
