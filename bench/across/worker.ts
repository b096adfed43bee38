/** The other process: runs jobs, and sends a message when each has started and when its signal was aborted. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { wallMs } from '../harness/wall.ts'

/** The first message, before any job, is `ready`. */
export type WorkerMessage = 'ready' | { readonly i: number; readonly at: number; readonly what: 'started' | 'aborted' }

const send = (message: WorkerMessage): void => void process.send?.(message)

// The process that has forked this one has ended.
process.on('disconnect', () => process.exit())
const [location] = process.argv.slice(2) as [string]
const probed = defineJob<Input, void>({
  type: 'probed',
  run: async ({ i }) => send({ i, at: wallMs(), what: 'started' }),
})
/** Runs until it is cancelled. */
const lasting = defineJob<Input, void>({
  type: 'lasting',
  run: ({ i }, { signal }) =>
    new Promise((resolve) => {
      const aborted = (): void => {
        send({ i, at: wallMs(), what: 'aborted' })
        resolve()
      }
      signal.addEventListener('abort', aborted)
      send({ i, at: wallMs(), what: 'started' })
    }),
})
const runtime = createRuntime({ jobs: [probed, lasting], store: await storeAt(JSON.parse(location) as StoreLocation) })
await runtime.start()
send('ready')
