/** The other process of `latency-across.probe.ts`: runs jobs and tells when each has started. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { sqliteStoreAt } from '../harness/store-file.ts'
import { wallMs } from '../harness/wall.ts'

/** What it tells; the first time, before any job, that it is ready. */
export type Told = 'ready' | { readonly i: number; readonly at: number }

const tell = (told: Told): void => void process.send?.(told)

// Whoever has started it has ended.
process.on('disconnect', () => process.exit())
const [path] = process.argv.slice(2) as [string]
const probed = defineJob<Input, void>({
  type: 'probed',
  run: async ({ i }) => tell({ i, at: wallMs() }),
})
const runtime = createRuntime({ jobs: [probed], store: await sqliteStoreAt(path) })
await runtime.start()
tell('ready')
