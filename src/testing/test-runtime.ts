/** A runtime in virtual time with seeded randomness and ids: a test runs in milliseconds, and repeats exactly. */
import { isOptions } from '../core/checks.ts'
import { seededRandom } from '../core/clock.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { seededIds } from '../core/ids.ts'
import { consoleLogger, guarded } from '../core/logger.ts'
import { createRuntime, type Middleware, type Runtime, type RuntimeOptions } from '../index.ts'
import { RealWork, seesRealWork } from './real-work.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'clock' | 'random'> {
  /** Seed of jitter, random selection and ids. Default 1. */
  readonly seed?: number
  /**
   * How long the clock waits, in real time, for a handler that reads a file, asks a server or sets a real timer, before
   * virtual time passes. A handler that takes longer is named in a warning, and not waited for again. Default 1 s; 0 =
   * not at all, as in a browser, where it cannot be seen what a handler waits for.
   */
  readonly realWait?: Duration
  /** Default: a new one. */
  readonly clock?: VirtualClock
}

export interface TestRuntime {
  readonly runtime: Runtime
  readonly clock: VirtualClock
}

const passOn: Middleware = (_context, next) => next()

/**
 * The middleware, the outermost of which runs as real work: an error that counts or names them tells what the caller
 * gave. What is no list of functions is left for `createRuntime` to refuse.
 */
function tracked(work: RealWork, middleware: readonly Middleware[]): readonly Middleware[] {
  if (!Array.isArray(middleware)) return middleware
  const [outermost = passOn, ...inner] = middleware
  if (typeof outermost !== 'function') return middleware
  const tracking: Middleware = (context, next) => {
    const { id, type, attempt } = context
    return work.run(`job ${id} (${type}), attempt ${attempt}`, async () => outermost(context, next))
  }
  return [Object.defineProperty(tracking, 'name', { value: outermost.name }), ...inner]
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
  if (!isOptions(options)) throw invalidOption('options of createTestRuntime', 'an object', options)
  const { seed = 1, clock = new VirtualClock(), realWait = seesRealWork ? '1s' : 0, middleware = [], ...rest } = options
  const realWaitMs = durationMs(realWait, 'realWait')
  const logger = rest.logger?.warn === undefined ? consoleLogger : guarded(rest.logger)
  const work = realWaitMs === 0 ? null : new RealWork(realWaitMs, logger)
  const runtime = createRuntime({
    newId: seededIds(clock, seededRandom(seed)),
    ...rest,
    middleware: work === null ? middleware : tracked(work, middleware),
    clock,
    random: seededRandom(seed),
  })
  if (work !== null) {
    const endSettling = clock.alsoSettle(() => work.settle())
    runtime.actor.subscribe({
      complete: () => {
        endSettling()
        work.end()
      },
    })
  }
  await runtime.start()
  return { runtime, clock }
}
