/** A runtime in virtual time with seeded randomness and ids: a test runs in milliseconds, and repeats exactly. */
import { seededRandom } from '../core/clock.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { seededIds } from '../core/ids.ts'
import { consoleLogger, guarded } from '../core/logger.ts'
import { createRuntime, type Middleware, type Runtime, type RuntimeOptions } from '../index.ts'
import { RealWork } from './real-work.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'clock' | 'random'> {
  /** Seed of jitter, random selection and ids. Default 1. */
  readonly seed?: number
  /**
   * How long the clock waits, in real time, for a handler that reads a file, asks a server or sets a real timer, before
   * virtual time passes. A handler that takes longer is named in a warning, and not waited for again. Default 1 s; 0 =
   * not at all.
   */
  readonly realWait?: Duration
  /** Default: a new one. */
  readonly clock?: VirtualClock
}

export interface TestRuntime {
  readonly runtime: Runtime
  readonly clock: VirtualClock
}

/**
 * A started runtime on a virtual clock.
 * @throws as `createRuntime` and `start`
 * @example
 * const { runtime, clock } = await createTestRuntime({ jobs: [remind] })
 * const job = await runtime.enqueue(remind, { to }, { delay: '1h' })
 * await clock.advance('1h')
 * expect(await job.result()).toBe('sent')
 */
export async function createTestRuntime(options: TestRuntimeOptions): Promise<TestRuntime> {
  const { seed = 1, clock = new VirtualClock(), realWait = '1s', middleware = [], ...rest } = options
  const realWaitMs = durationMs(realWait, 'realWait')
  const work = new RealWork(realWaitMs, rest.logger?.warn === undefined ? consoleLogger : guarded(rest.logger))
  const tracked: Middleware = ({ id, type, attempt }, next) => work.run(`job ${id} (${type}), attempt ${attempt}`, next)
  const runtime = createRuntime({
    newId: seededIds(clock, seededRandom(seed)),
    ...rest,
    middleware: realWaitMs === 0 ? middleware : [tracked, ...middleware],
    clock,
    random: seededRandom(seed),
  })
  const endSettling = clock.alsoSettle(() => work.settle())
  runtime.actor.subscribe({
    complete: () => {
      endSettling()
      work.end()
    },
  })
  await runtime.start()
  return { runtime, clock }
}
