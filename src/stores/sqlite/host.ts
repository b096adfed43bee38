/** Where the engine runs: in this thread, or in one of its own, so that the event loop never waits for the disk. */
import type { Clock } from '../../clock.ts'
import type { Hint } from '../../store.ts'
import { Engine, type EngineOptions, type Outcome } from './engine.ts'
import { Looks } from './looks.ts'
import type { Call } from './work.ts'

export interface Host {
  /** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE, STORE_CORRUPT */
  open(): Promise<void>
  /** @param waitedMs how long the calls have waited for other processes: so much more is done at once */
  run(calls: readonly Call[], now: number, waitedMs: number): Promise<Outcome>
  /** Looks for what other processes do, from now on or no longer. */
  look(on: boolean): void
  close(): Promise<void>
}

/** Calls are taken into a transaction until it has lasted this long, ms; longer if they had to wait for their turn. */
const transactionMs = { here: 1, thread: 50 }

/** Ends a transaction in good time. */
export function stopwatch(clock: Clock, where: keyof typeof transactionMs, waitedMs: number): () => boolean {
  const end = clock.monotonic() + Math.max(transactionMs[where], Math.min(waitedMs, transactionMs.thread))
  return () => clock.monotonic() >= end
}

/** The engine in this thread. */
export function hostedHere(options: EngineOptions, clock: Clock, hinted: (hints: readonly Hint[]) => void): Host {
  const engine = new Engine(options)
  const looks = new Looks(clock, () => {
    const hints = engine.poll(Math.floor(clock.now()))
    if (hints.length > 0) hinted(hints)
    return hints.length > 0
  })
  return {
    async open() {
      engine.open()
    },
    async run(calls, now, waitedMs) {
      looks.soon()
      return engine.run(calls, now, stopwatch(clock, 'here', waitedMs))
    },
    look: (on) => looks.set(on),
    async close() {
      looks.set(false)
      engine.close()
    },
  }
}
