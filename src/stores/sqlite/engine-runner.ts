/** Where the engine runs: in this thread, or in one of its own, so that the event loop never waits for the disk. */
import type { Clock } from '../../core/clock.ts'
import type { Hint, Lease, Standing } from '../../store.ts'
import { ChangePoller, type LookResult } from './change-poller.ts'
import { Engine, type EngineOptions, type Outcome } from './engine.ts'
import type { Call } from './operations.ts'

export interface EngineRunner {
  /** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE, STORE_CORRUPT */
  open(): Promise<void>
  /** @param waitedMs how long the calls have waited for other processes: the transaction may last as much longer */
  run(calls: readonly Call[], now: number, waitedMs: number): Promise<Outcome>
  /** Runs a call that only reads, before the queued ones. Absent if the engine is in another thread. */
  readNow?(call: Call, now: number): Outcome
  /** The state of a claimed job within a transaction of the user. Absent if the engine is in another thread. */
  standingWithin?(lease: Lease, now: number): Standing
  /** Starts or stops polling for writes of other processes. */
  look(on: boolean): void
  close(): Promise<void>
}

/**
 * Calls are added to a transaction until it has lasted this long, ms; longer if they had to wait for other processes.
 */
const transactionMs = { here: 1, thread: 50 }
/**
 * On a slow disk calls are added for as long as the end of the last transaction took, its sync above all, but no longer
 * than this, ms: two commits in one turn would keep the event loop longer than one.
 */
const endMsMax = 8

/** Decides when a transaction ends. @param leastMs how long it may last in any case */
export function stopwatch(
  clock: Clock,
  where: keyof typeof transactionMs,
  waitedMs: number,
  leastMs = 0,
): () => boolean {
  const lastsMs = Math.max(transactionMs[where], Math.min(waitedMs, transactionMs.thread), leastMs)
  const end = clock.monotonic() + lastsMs
  return () => clock.monotonic() >= end
}

/** Polls for writes of other processes to the file of an engine. */
export function pollerOf(
  engine: Engine,
  path: string,
  clock: Clock,
  hinted: (hints: readonly Hint[]) => void,
): ChangePoller {
  const look = (): LookResult => {
    const hints = engine.poll(Math.floor(clock.now()))
    if (hints === null) return 'unchanged'
    if (hints.length === 0) return 'changed'
    hinted(hints)
    return 'news'
  }
  return new ChangePoller({ clock, log: `${path}-wal`, look })
}

/** Have jobs changed state? A heartbeat, or a sweep that finds nothing, is no reason to poll more often. */
export const hasMoved = (outcome: Outcome): boolean => outcome.kind === 'done' && outcome.hints.length > 0

/** The engine in this thread. */
export function engineHere(
  options: EngineOptions,
  clock: Clock,
  hinted: (hints: readonly Hint[]) => void,
): EngineRunner {
  const engine = new Engine(options)
  const poller = pollerOf(engine, options.path, clock, hinted)
  let endMs = 0
  return {
    async open() {
      engine.open()
    },
    async run(calls, now, waitedMs) {
      const isOver = stopwatch(clock, 'here', waitedMs, Math.min(endMs, endMsMax))
      let ends = clock.monotonic()
      const outcome = engine.run(calls, now, () => {
        ends = clock.monotonic()
        return isOver()
      })
      endMs = clock.monotonic() - ends
      if (outcome.kind === 'done') poller.looked()
      if (hasMoved(outcome)) poller.soon()
      return outcome
    },
    readNow(call, now) {
      const outcome = engine.readNow(call, now)
      if (hasMoved(outcome)) poller.soon()
      return outcome
    },
    standingWithin: (lease, now) => engine.standingWithin(lease, now),
    look: (on) => poller.set(on),
    async close() {
      poller.set(false)
      engine.close()
    },
  }
}
