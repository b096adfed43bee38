/**
 * A process of a deployment: `member.ts worker|web <version> <store>`. A web process enqueues orders, and sends them
 * events, as it is told; a worker runs them. Both end by SIGTERM.
 */
import { createClient, createRuntime } from 'jobchart'
import { jobs as first } from './jobs-1.ts'
import { jobs as second } from './jobs-2.ts'

/** What a web process is told. */
export type Told =
  | { readonly act: 'enqueue'; readonly ids: readonly string[] }
  | { readonly act: 'send'; readonly ids: readonly string[]; readonly type: string }

const [role, version = '1', store = ''] = process.argv.slice(2)
const jobs = version === '1' ? first : second
const say = (word: string): void => void process.send?.(word)

if (role === 'worker') {
  const runtime = createRuntime({ jobs, store, name: `worker-${version}`, logger: {} })
  await runtime.start()
  runtime.stopOn('SIGTERM', { timeout: '10s' })
  runtime.state$.subscribe({ complete: () => process.disconnect() })
  say('ready')
} else {
  const client = createClient({ jobs, store, logger: {} })
  const [order] = jobs
  const carryOut = async (told: Told): Promise<void> => {
    for (const id of told.ids) {
      if (told.act === 'enqueue') await client.enqueue(order as (typeof first)[0], null, { id })
      else await client.send(id, { type: told.type }, { accept: 'later' })
    }
    say('done')
  }
  process.on('message', (told: Told) => void carryOut(told))
  process.on('SIGTERM', () => void client.close().then(() => process.disconnect()))
  say('ready')
}
