/**
 * A runtime and a producer in one process, on a disk that somebody else fills and frees: `path`. It tells its history
 * line by line, and is told when to begin (`go`) and when there is room again (`freed`).
 */
import { once } from 'node:events'
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { finalState, recordingStore, recordRuns, type HistoryLine } from 'jobchart/store-testing'

export type Told =
  | { readonly kind: 'ready' }
  | { readonly kind: 'line'; readonly line: HistoryLine }
  | {
      readonly kind: 'full'
      readonly acknowledged: readonly string[]
      readonly refusals: readonly { readonly code: string; readonly message: string; readonly hint: string }[]
      readonly trouble: string
      readonly logged: readonly string[]
    }
  | { readonly kind: 'over'; readonly final: Awaited<ReturnType<typeof finalState>> }

const tell = (told: Told): void => void process.send?.(told)
const told = async (): Promise<unknown> => once(process, 'message')
// A limit on the size of files is told by a signal too, which would end the process.
process.on('SIGXFSZ', () => {})

const sink = (line: HistoryLine): void => tell({ kind: 'line', line })
const store = recordingStore(sqliteStore({ path: process.argv[2] ?? '' }), sink)
const logged: string[] = []
const log = (message: string): void => void logged.push(message)

let isFull = false
let starts = 0
const work = defineJob<string, number>({
  type: 'work',
  // A few end while there is room. The next ones hold all slots until there is none, so that others wait.
  async run(text) {
    if (++starts > 6) await until(() => isFull)
    return text.length
  },
})
const runtime = createRuntime({
  jobs: [work],
  store,
  concurrency: 4,
  middleware: [recordRuns(sink)],
  logger: { info: log, warn: log, error: log },
})

/** Enqueues until there is no room even for a small job. */
async function fill(): Promise<Omit<Told & { kind: 'full' }, 'kind' | 'trouble' | 'logged'>> {
  const acknowledged: string[] = []
  const refusals: { code: string; message: string; hint: string }[] = []
  for (let n = 0, size = 40_000, inARow = 0; inARow < 5; n++) {
    const id = `job-${n}`
    try {
      await runtime.enqueue(work, 'x'.repeat(size), { id })
      acknowledged.push(id)
      inARow = 0
    } catch (error) {
      const { code, message, hint = '' } = error as JobchartError
      refusals.push({ code, message, hint })
      size = Math.ceil(size / 8)
      inARow++
    }
  }
  return { acknowledged, refusals }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

await runtime.start()
tell({ kind: 'ready' })
await told()
const filled = await fill()
isFull = true
// A read that succeeds meanwhile ends the trouble until the next write.
let trouble = ''
await until(() => {
  trouble = runtime.storeError?.message ?? ''
  return trouble !== '' && logged.some((message) => message.includes('a claim failed'))
})
tell({ kind: 'full', ...filled, trouble, logged: [...logged] })
await told()
await until(async () => {
  const { queued, running } = await store.counts()
  return queued + running === 0
})
await runtime.enqueue(work, 'and on it goes', { id: 'last' })
await until(async () => (await store.counts()).done > filled.acknowledged.length)
const final = await finalState(store)
await runtime.stop()
// It takes a while to be told.
process.send?.({ kind: 'over', final } satisfies Told, () => process.disconnect())
