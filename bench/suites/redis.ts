/** The benchmarks of the Redis store. */
import { growthBacklog } from '../redis/growth-backlog.ts'
import { latency } from '../redis/latency.ts'
import { enqueue, processing } from '../redis/work.ts'
import type { Suite } from '../suite.ts'

export const suite: Suite = {
  store: 'redis',
  place: () => 'A redis-server of its own per section, on this machine, without persistence',
  sections: [enqueue, processing, growthBacklog, latency],
}
