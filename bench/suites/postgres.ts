/** The benchmarks of the PostgreSQL store. */
import { growthBacklog } from '../across/growth-backlog.ts'
import { latency } from '../across/latency.ts'
import { screens } from '../across/screens.ts'
import { withPostgres } from '../harness/postgres.ts'
import type { WithStores } from '../harness/stores.ts'
import { children } from '../machine/children.ts'
import { idle } from '../postgres/idle.ts'
import { pinned } from '../postgres/pinned.ts'
import { enqueue, features, processing, waiting } from '../postgres/work.ts'
import type { Suite } from '../suite.ts'

const inDatabase: WithStores = (use) => withPostgres((url) => use((schema) => ({ url, schema })))

export const suite: Suite = {
  store: 'postgres',
  main: ['enqueue', 'process'],
  place: () => 'A PostgreSQL server of its own per section, on this machine, which keeps what it commits',
  sections: [
    enqueue,
    processing,
    features,
    waiting,
    growthBacklog(inDatabase),
    children(inDatabase, null),
    screens(inDatabase),
    pinned,
    latency(inDatabase, { p50: { atMost: 5 } }),
    idle,
  ],
}
