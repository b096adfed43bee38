/** Us: a runtime with default options on a store, and the whole life of a job. */
import {
  createRuntime,
  defineJob,
  type EnqueueOptions,
  type JobDefinition,
  type JobOptions,
  type Runtime,
  type RuntimeOptions,
} from '../../src/index.ts'
import { addEach, chunks, type EnqueueMode, type Feature, type OpenQueue, type QueueOptions } from '../open-queue.ts'
import type { Store } from '../../src/store.ts'
import type { Input } from '../contender.ts'

type Work = JobDefinition<Input, void>

/** More than jobs of a type that run at once: what is measured is what a limit costs, not what it holds back. */
const loose = 1_000_000
const keys = 1_000
const priorities = 10

/** What the definitions say of jobs with a feature. */
const definitions: Readonly<Partial<Record<Feature, Partial<JobOptions<Input, Input, void>>>>> = {
  cap: { concurrency: loose },
  keys: { concurrencyKey: ({ i }: Input) => `key-${i % keys}`, perKey: 10 },
  rate: { rateLimit: { limit: loose, per: '1s' } },
  unique: { unique: true },
}

/** What an enqueue says of them; a call for many says it of all. */
const enqueues: Readonly<Partial<Record<Feature, (i: number) => Omit<EnqueueOptions, 'id'>>>> = {
  tags: () => ({ tags: ['customer-7', 'import'] }),
  priorities: (i) => ({ priority: i % priorities }),
}

export class JobchartQueue implements OpenQueue {
  private readonly runtime: Runtime
  private readonly types: readonly Work[]
  private readonly slots: number
  private readonly optionsOf: (i: number) => Omit<EnqueueOptions, 'id'> | undefined

  private constructor(runtime: Runtime, types: readonly Work[], { slots, feature }: QueueOptions) {
    this.runtime = runtime
    this.types = types
    this.slots = slots
    this.optionsOf = (feature && enqueues[feature]) ?? (() => undefined)
  }

  static async open(
    store: Store,
    queue: QueueOptions,
    options?: Pick<RuntimeOptions, 'retention'>,
  ): Promise<JobchartQueue> {
    const { handlers, feature } = queue
    const own = feature && definitions[feature]
    const types = handlers.map((run, i) => defineJob<Input, void>({ type: `type-${i}`, run, ...own }))
    // Without slots nothing runs: what is enqueued waits until it is asked for.
    const runtime = createRuntime({ jobs: types, store, concurrency: 0, ...options })
    await runtime.start()
    return new JobchartQueue(runtime, types, queue)
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { runtime, types, optionsOf } = this
    const typeOf = (i: number): Work => types[i % types.length] as Work
    if (mode.by !== 'batch') return addEach(count, mode, (i) => runtime.enqueue(typeOf(i), { i }, optionsOf(i)))
    for (const { type, first, end } of chunks(count, mode, types.length)) {
      const inputs = Array.from({ length: end - first }, (_, i) => ({ i: first + i }))
      await runtime.enqueueMany(typeOf(type), inputs, optionsOf(first))
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
