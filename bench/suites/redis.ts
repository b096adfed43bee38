/** The benchmarks of the Redis store. */
import { growthBacklog } from '../across/growth-backlog.ts'
import { latency } from '../across/latency.ts'
import { screens } from '../across/screens.ts'
import { withServer } from '../harness/redis.ts'
import type { WithStores } from '../harness/stores.ts'
import { children } from '../machine/children.ts'
import { herd } from '../machine/herd.ts'
import { scripts } from '../redis/scripts.ts'
import { fleet } from '../redis/fleet.ts'
import { appending, enqueue, features, processing, waiting } from '../redis/work.ts'
import type { Suite } from '../suite.ts'

const onServer: WithStores = (use) => withServer((url) => use((prefix) => ({ url, prefix })))

export const suite: Suite = {
  store: 'redis',
  main: ['enqueue', 'process'],
  place: () => 'A redis-server of its own per section, on this machine, without persistence',
  sections: [
    enqueue,
    processing,
    features,
    waiting,
    appending,
    fleet,
    growthBacklog(onServer),
    // With a million jobs it takes more than seven minutes: lists by tag and by keys look through all jobs.
    { ...screens(onServer), onRequest: true },
    latency(onServer, { p50: { atMost: 2 }, p99: { atMost: 15 } }),
    herd(false),
    children(onServer, null),
    scripts,
  ],
}
