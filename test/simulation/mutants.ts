/**
 * Mistakes that the engine could make, some of which it has made, as faults that are injected into it: a life must
 * notice each.
 */
import { takeWhile } from 'rxjs'
import type { ErrorCode } from 'jobchart'
import { inConstructor, inFunction, inMethod, together, type Injection } from '../support/faults.ts'

const attempt = () => import('../../src/worker/attempt.ts')
const claims = () => import('../../src/worker/claims.ts')
const connection = () => import('../../src/client/connection.ts')
const heartbeat = () => import('../../src/worker/heartbeat.ts')
const lanes = () => import('../../src/worker/lanes.ts')
const leaseClock = () => import('../../src/worker/lease-clock.ts')
const permits = () => import('../../src/worker/permits.ts')
const results = () => import('../../src/client/results.ts')
const selector = () => import('../../src/worker/selector.ts')
const shutdown = () => import('../../src/worker/shutdown.ts')
const steps = () => import('../../src/core/steps.ts')
const sweep = () => import('../../src/worker/sweep.ts')
const worker = () => import('../../src/worker/worker.ts')

export interface Mutant {
  readonly name: string
  readonly fault: Injection
  /** A life in which it was noticed: the short form begins with it. */
  readonly seed: number
}

const mutant = (name: string, seed: number, fault: Injection): Mutant => ({ name, seed, fault })

/** A run that must not start does, if that is the reason. */
const startsAnyway = (matches: (code: ErrorCode, message: string) => boolean): Injection =>
  inMethod(attempt, 'Run', 'skip', (skip, run) => (reason, onEnd) => {
    if (matches(reason.code, reason.message)) run.start(onEnd)
    else skip(reason, onEnd)
  })

/** A run that was asked to end for that reason is waited for as long as it takes. */
const neverAbandoned = (code: ErrorCode): Injection =>
  inMethod(attempt, 'Run', 'abandonAfter', (abandonAfter, run) => (graceMs) => {
    if (run.abortReason?.code !== code) abandonAfter(graceMs)
  })

const ofSlots = (message: string): boolean => / slots? now$/.test(message)

/** Each call puts off when the handler is abandoned. */
function abandonedLater(): Injection {
  const latest = new WeakMap<object, number>()
  return inMethod(attempt, 'Run', 'abandonAfter', (abandonAfter, run) => (graceMs) => {
    const { timers } = run.services
    latest.set(run, timers.clock.monotonic() + graceMs)
    timers.after(graceMs, () => {
      if (timers.clock.monotonic() >= (latest.get(run) ?? Infinity)) abandonAfter(0)
    })
  })
}

/** A tick promotes nothing: `whenHandled` is the first that it calls, `promote` comes in the same turn. */
function dueByTimerAlone(): Injection {
  let inTick = false
  return together(
    inConstructor(sweep, 'Sweeper', (options) => ({
      ...options,
      whenHandled(apply) {
        inTick = true
        queueMicrotask(() => (inTick = false))
        options.whenHandled(apply)
      },
    })),
    inMethod(
      sweep,
      'Sweeper',
      'promote',
      (promote) => () => (inTick ? Promise.resolve({ count: 0, nextAt: null, complete: true }) : promote()),
    ),
  )
}

/** Permits that are taken for a claim and not used are not given back. */
function claimsKeepPermits(): Injection {
  const taken = new WeakMap<object, number>()
  return together(
    inMethod(permits, 'Permits', 'take', (take, self) => (count) => {
      taken.set(self, count)
      take(count)
    }),
    inMethod(permits, 'Permits', 'give', (give, self) => (count) => {
      if (count !== taken.get(self)) give(count)
    }),
  )
}

/** A claim that has failed counts as one that has found nothing. */
const failedClaimsFindNothing = inMethod(selector, 'Selector', 'applyClaim', (applyClaim) => (picks, answer) => {
  const shortfalls = picks.demand.map(({ type }) => ({ type, reason: 'empty' as const }))
  applyClaim(picks, answer ?? { jobs: [], shortfalls })
})

export const mutants: readonly Mutant[] = [
  mutant(
    'a lease that has run out is not noticed',
    271,
    inConstructor(heartbeat, 'Heartbeat', (options) => ({
      ...options,
      lost(run) {
        if (options.time.read() < run.lease.fenceAt) options.lost(run)
      },
    })),
  ),
  mutant(
    'leases are looked at no more often than every third of one',
    287,
    inConstructor(heartbeat, 'Heartbeat', (options) => {
      const { timers, leaseMs } = options
      const after: typeof timers.after = (delayMs, ...others) => {
        return timers.after(delayMs < leaseMs / 20 ? leaseMs / 3 : delayMs, ...others)
      }
      return { ...options, timers: Object.assign(Object.create(timers) as typeof timers, { after }) }
    }),
  ),
  mutant(
    'a job is started although the answer of its claim came too late',
    30,
    startsAnyway((code) => code === 'LEASE_LOST'),
  ),
  mutant(
    'a job is started although it was cancelled after its claim',
    255,
    inMethod(claims, 'Claim', 'refuseJob', () => () => {}),
  ),
  mutant(
    'a job is started although the runtime was halted after its claim',
    385,
    startsAnyway((code, message) => code === 'STOPPED' && !ofSlots(message)),
  ),
  mutant(
    'a job is started although its queue was paused after its claim',
    1104,
    inMethod(worker, 'Worker', 'holdBack', (holdBack) => async (type, reason) => {
      if (type === null) await holdBack(type, reason)
    }),
  ),
  mutant('a claim that brings nothing gives no permits back', 2, claimsKeepPermits()),
  mutant(
    'a run that has ended gives no permit back',
    1,
    inMethod(permits, 'Permits', 'give', (give) => (count) => {
      if (count !== 1) give(count)
    }),
  ),
  mutant(
    'what was asked for is started although the slots were made fewer',
    467,
    startsAnyway((_code, message) => ofSlots(message)),
  ),
  mutant('jobs that a failed claim asked for are forgotten', 198, failedClaimsFindNothing),
  mutant(
    'work is found by hints alone',
    10,
    inConstructor(sweep, 'Sweeper', (options) => ({ ...options, findWork() {} })),
  ),
  mutant('what is due is found by its timer alone', 10, dueByTimerAlone()),
  mutant(
    'what crashed workers have left is left',
    6,
    inConstructor(sweep, 'Sweeper', (options) => ({ ...options, mayRescue: () => false })),
  ),
  mutant(
    'a step that was kept is run again',
    8,
    inMethod(steps, 'StepResults', 'find', () => () => undefined),
  ),
  mutant(
    'a drain goes on picking when its time is up',
    86,
    inConstructor(shutdown, 'Shutdown', (options) => ({ ...options, halt() {} })),
  ),
  mutant(
    'a stop that cannot say goodbye closes nothing',
    17,
    inFunction(shutdown, 'shutdown', (shutDown) => async (targets) => {
      if (targets.connection.opened) await targets.connection.store.worker(targets.id, null)
      return shutDown(targets)
    }),
  ),
  mutant(
    'a pause never hears that the runtime has stopped',
    630,
    inMethod(claims, 'Claims', 'close', () => () => {}),
  ),
  mutant(
    'a handler that waits to keep a step is not told that its runtime has stopped',
    16,
    inMethod(heartbeat, 'Heartbeat', 'writeUntilAnswered', (writeUntilAnswered) => (run, write) => {
      return writeUntilAnswered(run, () => write().catch(() => new Promise<never>(() => {})))
    }),
  ),
  mutant(
    'a machine that slept does not know how long',
    334,
    inConstructor(leaseClock, 'LeaseClock', (clock) => ({
      now: () => clock.monotonic(),
      monotonic: () => clock.monotonic(),
      timer: (run, delayMs, options) => clock.timer(run, delayMs, options),
      nextTurn: (run) => clock.nextTurn(run),
    })),
  ),
  mutant(
    'a lease is counted from a moment after its request',
    130,
    inFunction(leaseClock, 'fenceAt', (fenceAt) => (sentAt, leaseMs) => fenceAt(sentAt + leaseMs / 2, leaseMs)),
  ),
  mutant(
    'heartbeats are not sent',
    1,
    inConstructor(heartbeat, 'Heartbeat', (options) => ({
      ...options,
      store: { ...options.store, extend: async ({ heartbeats }) => heartbeats.map(() => ({ outcome: 'extended' })) },
    })),
  ),
  mutant(
    'a job is started while a cancel is under way',
    733,
    inMethod(lanes, 'Lanes', 'turns', (turns) => (urgency) => turns(urgency)),
  ),
  mutant(
    'what a cancel has held back is not started after it',
    20,
    inMethod(lanes, 'Lanes', 'turns', (turns) => (urgency, held) => {
      return turns(urgency, held?.pipe(takeWhile((isHeld) => !isHeld, true)))
    }),
  ),
  mutant('a run that is cancelled and does not end is not abandoned', 28, neverAbandoned('CANCELLED')),
  mutant('a run that has lost its lease and does not end is not abandoned', 207, neverAbandoned('LEASE_LOST')),
  mutant('a run that is abandoned is abandoned later and later', 207, abandonedLater()),
  mutant('a run that takes too long is not abandoned', 13, neverAbandoned('TIMEOUT')),
  mutant(
    'a result is heard of by hints alone',
    33,
    inConstructor(results, 'Results', (options) => {
      const capabilities = { ...options.store.capabilities, shared: false }
      return { ...options, store: { ...options.store, capabilities } }
    }),
  ),
  mutant(
    'a runtime listens to its store when it has stopped',
    1,
    inConstructor(connection, 'Connection', (store) => {
      const watch: typeof store.watch = (listener) => {
        store.watch(listener)
        return () => {}
      }
      return { ...store, watch }
    }),
  ),
  mutant(
    'a cancel is not told to the run',
    1,
    inConstructor(heartbeat, 'Heartbeat', (options) => ({ ...options, cancelling() {} })),
  ),
]
