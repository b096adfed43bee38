/**
 * Runtimes in virtual time that a test need not stop: after the test each is stopped, and then nothing of it may be
 * left, no timer, no permit, no lease, and no error may have been logged that the test did not expect.
 */
import { createRuntime, memoryStore, type Logger, type Runtime, type RuntimeOptions, type Store } from 'jobchart'
import { seededRandom, VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished } from 'vitest'

export interface Logged {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Record<string, unknown> | undefined
}

export interface WorldOptions {
  /** Default: a memory store that lives as long as the world. */
  readonly store?: Store
  readonly seed?: number
  readonly start?: number
}

export interface World {
  readonly clock: VirtualClock
  readonly store: Store
  /** What its runtimes have logged. */
  readonly logged: Logged[]
  readonly logger: Logger
  /** Takes what was logged at a level so far: it was expected. */
  readonly expectLogged: (level: keyof Logger) => string[]
  /** A started runtime on the world's clock and store. */
  readonly runtime: (options: Omit<RuntimeOptions, 'clock'>) => Promise<Runtime>
  /** One that is not started yet. */
  readonly idle: (options: Omit<RuntimeOptions, 'clock'>) => Runtime
}

/** A clock, a store and the runtimes of one test. */
export function world({ store = memoryStore(), seed = 1, ...options }: WorldOptions = {}): World {
  const clock = new VirtualClock(options)
  const logged: Logged[] = []
  const log =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void =>
      void logged.push({ level, message, fields })
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
  const runtimes: Runtime[] = []
  const made: World = {
    clock,
    store,
    logged,
    logger,
    expectLogged(level) {
      const taken = logged.filter((line) => line.level === level)
      for (const line of taken) logged.splice(logged.indexOf(line), 1)
      return taken.map(({ message }) => message)
    },
    async runtime(given) {
      const runtime = made.idle(given)
      await runtime.start()
      return runtime
    },
    idle(given) {
      const runtime = createRuntime({ store, logger, random: seededRandom(seed), ...given, clock })
      runtimes.push(runtime)
      return runtime
    },
  }
  onTestFinished(async () => {
    for (const runtime of runtimes.toReversed()) await stopInTime(runtime, clock)
    await expectNothingLeft(made, runtimes)
  })
  return made
}

/** Stops a runtime in virtual time, abandoning what does not end. */
export async function stopInTime(runtime: Runtime, clock: VirtualClock): Promise<void> {
  const stopping = runtime.stop({ mode: 'abort', timeout: '10s', grace: '1s' })
  await clock.advance('12s')
  await stopping
}

async function expectNothingLeft({ clock, store, logged }: World, runtimes: readonly Runtime[]): Promise<void> {
  for (const runtime of runtimes) {
    const { taken, running } = await runtime.stats()
    expect({ taken, running }, 'permits taken and runs kept after the stop').toEqual({ taken: 0, running: 0 })
  }
  const { running, cancelling } = await store.counts()
  expect({ running, cancelling }, 'jobs left in their leases').toEqual({ running: 0, cancelling: 0 })
  expect(clock.pending, 'timers left').toBe(0)
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
}
