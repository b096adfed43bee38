/** The benchmarks of the memory store. */
import { cancelling } from '../memory/cancelling.ts'
import { footprint } from '../memory/footprint.ts'
import { garbage } from '../memory/garbage.ts'
import { growthBacklog } from '../memory/growth-backlog.ts'
import { growthSlots, growthSubscribers, growthTypes } from '../memory/growth.ts'
import { importCost } from '../memory/import-cost.ts'
import { latency } from '../memory/latency.ts'
import { selfTest } from '../memory/self-test.ts'
import { throughput } from '../memory/throughput.ts'
import { dashboards } from '../dashboards/section.ts'
import { children } from '../machine/children.ts'
import { machineThroughput, parked } from '../machine/sections.ts'
import type { Suite } from '../suite.ts'

export const suite: Suite = {
  store: 'memory',
  main: ['throughput', 'machines'],
  sections: [
    throughput,
    growthBacklog,
    growthTypes,
    growthSubscribers,
    growthSlots,
    latency,
    cancelling,
    footprint,
    garbage,
    machineThroughput(false),
    parked(false),
    children(null, { atMost: 0.3 }),
    dashboards(false),
    importCost,
    selfTest,
  ],
}
