/** Us: a runtime with default options on a store, and the whole life of a job. */
import { createRuntime, defineJob, type JobDefinition, type Runtime, type RuntimeOptions } from '../../src/index.ts'
import { addEach, chunks, type OpenQueue, type EnqueueMode } from '../open-queue.ts'
import type { Store } from '../../src/store.ts'
import type { Handler, Input } from '../contender.ts'

type Work = JobDefinition<Input, void>

export class JobchartQueue implements OpenQueue {
  private readonly runtime: Runtime
  private readonly types: readonly Work[]
  private readonly slots: number

  constructor(runtime: Runtime, types: readonly Work[], slots: number) {
    this.runtime = runtime
    this.types = types
    this.slots = slots
  }

  static async open(
    store: Store,
    { handlers, slots }: { readonly handlers: readonly Handler[]; readonly slots: number },
    options?: Pick<RuntimeOptions, 'retention'>,
  ): Promise<JobchartQueue> {
    const types = handlers.map((run, i) => defineJob<Input, void>({ type: `type-${i}`, run }))
    // Without slots nothing runs: what is enqueued waits until it is asked for.
    const runtime = createRuntime({ jobs: types, store, concurrency: 0, ...options })
    await runtime.start()
    return new JobchartQueue(runtime, types, slots)
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { runtime, types } = this
    const typeOf = (i: number): Work => types[i % types.length] as Work
    if (mode.by !== 'batch') return addEach(count, mode, (i) => runtime.enqueue(typeOf(i), { i }))
    for (const { type, first, end } of chunks(count, mode, types.length)) {
      const inputs = Array.from({ length: end - first }, (_, i) => ({ i: first + i }))
      await runtime.enqueueMany(typeOf(type), inputs)
    }
  }

  async process(): Promise<void> {
    this.runtime.concurrency = this.slots
    await this.runtime.drain()
  }

  async left(): Promise<number> {
    const { scheduled, queued, running, retrying, waiting, cancelling } = await this.runtime.counts()
    return scheduled + queued + running + retrying + waiting + cancelling
  }

  async close(): Promise<void> {
    await this.runtime.stop()
  }
}
