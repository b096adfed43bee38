/** A runtime in virtual time with seeded randomness: a test runs in milliseconds, and repeats exactly. */
import { seededRandom } from '../core/clock.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '../index.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'clock' | 'random'> {
  /** Seed of jitter and random selection. Default 1. */
  readonly seed?: number
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
  const { seed = 1, clock = new VirtualClock(), ...rest } = options
  const runtime = createRuntime({ ...rest, clock, random: seededRandom(seed) })
  await runtime.start()
  return { runtime, clock }
}
