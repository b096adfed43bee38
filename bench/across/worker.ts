/** The other process: runs jobs, and tells when each has started and when its signal was aborted. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { storeAt, type Place } from '../harness/store-file.ts'
import { wallMs } from '../harness/wall.ts'

/** What it tells; the first time, before any job, that it is ready. */
export type Told = 'ready' | { readonly i: number; readonly at: number; readonly what: 'started' | 'aborted' }

const tell = (told: Told): void => void process.send?.(told)

// Whoever has started it has ended.
process.on('disconnect', () => process.exit())
const [place] = process.argv.slice(2) as [string]
const probed = defineJob<Input, void>({
  type: 'probed',
  run: async ({ i }) => tell({ i, at: wallMs(), what: 'started' }),
})
/** Runs until it is cancelled. */
const lasting = defineJob<Input, void>({
  type: 'lasting',
  run: ({ i }, { signal }) =>
    new Promise((resolve) => {
      const aborted = (): void => {
        tell({ i, at: wallMs(), what: 'aborted' })
        resolve()
      }
      signal.addEventListener('abort', aborted)
      tell({ i, at: wallMs(), what: 'started' })
    }),
})
const runtime = createRuntime({ jobs: [probed, lasting], store: await storeAt(JSON.parse(place) as Place) })
await runtime.start()
tell('ready')
