/** The benchmarks of the SQLite store. */
import { join } from 'node:path'
import { screens } from '../across/screens.ts'
import { diskLine, withFolder } from '../harness/disk.ts'
import type { WithStores } from '../harness/stores.ts'
import { fileSize } from '../sqlite/file-size.ts'
import { growthBacklog } from '../sqlite/growth-backlog.ts'
import { idle } from '../sqlite/idle.ts'
import { latency } from '../sqlite/latency.ts'
import { restart } from '../sqlite/restart.ts'
import { stalls } from '../sqlite/stalls.ts'
import { enqueue, features, processing, waiting } from '../sqlite/work.ts'
import { dashboards } from '../dashboards/section.ts'
import { children } from '../machine/children.ts'
import { herd } from '../machine/herd.ts'
import { machineThroughput, parked } from '../machine/sections.ts'
import type { Suite } from '../suite.ts'

const inFolder: WithStores = (use) => withFolder((folder) => use((name) => ({ path: join(folder, `${name}.db`) })))

export const suite: Suite = {
  store: 'sqlite',
  main: ['enqueue', 'process', 'machines'],
  place: diskLine,
  sections: [
    enqueue,
    processing,
    features,
    waiting,
    growthBacklog,
    latency,
    stalls,
    restart,
    fileSize,
    idle,
    screens(inFolder),
    machineThroughput(true),
    parked(true),
    children(inFolder, { atMost: 0.3 }),
    herd(true),
    dashboards(true),
  ],
}
