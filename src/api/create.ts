/** Makes clients and runtimes. Their classes stay inside; users hold the interfaces. */
import type { ClosableClient } from './client.ts'
import { clientSettings, runtimeSettings, type ClientOptions, type RuntimeOptions } from './options.ts'
import type { Runtime } from './runtime.ts'
import { PlainClient } from './store-client.ts'
import { WorkerRuntime } from './worker-runtime.ts'

/**
 * Creates a client: a runtime without `start`, slots and runs, for processes that only enqueue, query and administer.
 * @throws JobchartError INVALID_OPTION
 * @example const client = createClient({ store, jobs: [sendEmail] })
 */
export function createClient(options: ClientOptions): ClosableClient {
  const { store, ...settings } = clientSettings(options)
  return new PlainClient(store, settings)
}

/**
 * Creates a runtime. It accepts jobs at once and runs them after `start()`.
 * @throws JobchartError INVALID_OPTION
 * @example const runtime = createRuntime({ jobs: [sendEmail], concurrency: 20 })
 */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { store, ...settings } = runtimeSettings(options)
  return new WorkerRuntime(store, settings)
}
