/** The benchmarks of the Redis store. */
import { herd } from '../machine/herd.ts'
import { growthBacklog } from '../redis/growth-backlog.ts'
import { latency } from '../redis/latency.ts'
import { scripts } from '../redis/scripts.ts'
import { fleet } from '../redis/fleet.ts'
import { appending, enqueue, features, processing } from '../redis/work.ts'
import type { Suite } from '../suite.ts'

export const suite: Suite = {
  store: 'redis',
  main: ['enqueue', 'process'],
  place: () => 'A redis-server of its own per section, on this machine, without persistence',
  sections: [enqueue, processing, features, appending, fleet, growthBacklog, latency, herd(false), scripts],
}
