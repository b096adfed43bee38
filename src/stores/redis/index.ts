/** The Redis store: jobs on a server, shared by the processes of many hosts. */
import '../../core/node-version.ts'
import { byDefault, given, integer, table, type RulesOf } from '../../core/checks.ts'
import { caps } from '../../core/caps.ts'
import type { Store } from '../../store.ts'
import { namespaceOf } from './keys.ts'
import { redisStoreOf } from './store.ts'
import { targetOf } from './target.ts'

export { inspectRedisServer, type RedisServerInfo } from './inspect.ts'

export interface RedisStoreOptions {
  /**
   * Where the server is: `redis://user:password@host:6379/0`, or `rediss://…` for TLS. The driver is `@redis/client` if
   * it is installed, else `ioredis`. One of `url` and `client` must be given.
   */
  readonly url?: string
  /**
   * A client of `redis`, `@redis/client` or `ioredis`. It is left as it is: the store connects by clients of the same
   * settings.
   */
  readonly client?: object
  /**
   * What the names of all keys begin with, default `jobchart`: stores of different prefixes know nothing of each other.
   * All keys of a prefix have one hash tag, which is the prefix, or the `{tag}` in it.
   */
  readonly prefix?: string
  /** Entries of the transition log that are kept at least, default 10,000; up to 1,000 more may be. */
  readonly transitionsMax?: number
}

const redisOptions = table(
  {
    // One of them is the target.
    url: given,
    client: given,
    prefix: byDefault('jobchart', namespaceOf),
    transitionsMax: byDefault(caps.transitions, integer(1, 1_000_000_000)),
  } satisfies RulesOf<RedisStoreOptions>,
  { hint: "Pass where the server is: redisStore({ url: 'redis://localhost:6379' })." },
)

/**
 * A store on a Redis server, version 7 or later, or Valkey. Nothing is sent before it is opened by a client or a
 * runtime.
 * @throws JobchartError INVALID_OPTION; its `open` rejects with STORE_UNAVAILABLE, or UNSUPPORTED (an older server, one
 * that removes keys when its memory is full, or no driver is installed)
 * @example
 * const runtime = createRuntime({ jobs, store: redisStore({ url: 'redis://localhost:6379' }) })
 */
export function redisStore(options: RedisStoreOptions): Store {
  const { prefix, transitionsMax } = redisOptions(options, 'options of redisStore')
  return redisStoreOf({ ...targetOf(options), namespace: prefix, transitionsMax })
}
