/** Mistakes that the engine could have made, some of which it has made: the simulation must notice each. */

export interface Mutant {
  readonly name: string
  readonly file: string
  /** What stands there, exactly once. */
  readonly right: string
  readonly wrong: string
  /** A life in which it is noticed. After a change of the simulation: `npm run simulate -- --mutants` finds others. */
  readonly seed: number
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a lease that has run out is not noticed',
    file: 'src/flow/heartbeat.ts',
    right: 'if (now >= run.fenceAt) this.options.lost(run)',
    wrong: 'if (now < 0) this.options.lost(run)',
    seed: 5,
  },
  {
    name: 'leases are looked at between beats no more often than every third of one',
    file: 'src/flow/heartbeat.ts',
    right: 'const looksPerBeat = 8',
    wrong: 'const looksPerBeat = 1',
    seed: 284,
  },
  {
    name: 'a job is started although the answer of its claim came too late',
    file: 'src/flow/claim.ts',
    right: '(now >= run.fenceAt ? leaseLost(run) : null)',
    wrong: '(now < 0 ? leaseLost(run) : null)',
    seed: 5,
  },
  {
    name: 'a job is started although it was cancelled after its claim',
    file: 'src/flow/claim.ts',
    right: 'run.abortReason = canceller.beforeStart(claimed.id)',
    wrong: 'run.abortReason = null',
    seed: 36,
  },
  {
    name: 'a job is started although the runtime was halted after its claim',
    file: 'src/flow/claim.ts',
    right: 'run.abortReason ?? this.options.halted() ?? this.slotTaken()',
    wrong: 'run.abortReason ?? this.slotTaken()',
    seed: 165,
  },
  {
    name: 'a claim that failed gives no permits back',
    file: 'src/flow/claim.ts',
    right: 'permits.give(this.asked)\n',
    wrong: '\n',
    seed: 2,
  },
  {
    name: 'a run that has ended gives no permit back',
    file: 'src/flow/worker.ts',
    right: 'this.permits.give(1)\n',
    wrong: '\n',
    seed: 1,
  },
  {
    name: 'what was asked for is started although the slots were made fewer',
    file: 'src/flow/claim.ts',
    right: 'this.slotTaken() ?? tooLate(run, now)',
    wrong: 'tooLate(run, now)',
    seed: 2,
  },
  {
    name: 'jobs that a failed claim asked for are forgotten',
    file: 'src/flow/select.ts',
    right: 'queue.estimate += missed',
    wrong: 'queue.estimate = Math.max(queue.estimate, missed)',
    seed: 1572,
  },
  {
    name: 'work is found by hints alone',
    file: 'src/flow/sweep.ts',
    right: 'if (this.options.store.capabilities.shared) this.options.look()',
    wrong: '',
    seed: 1,
  },
  {
    name: 'what is due is found by its timer alone',
    file: 'src/flow/sweep.ts',
    right: 'void this.promote()\n    if',
    wrong: 'if',
    seed: 8,
  },
  {
    name: 'what crashed workers have left is left',
    file: 'src/flow/sweep.ts',
    right: 'void this.rescue()\n    void',
    wrong: 'void',
    seed: 2,
  },
  {
    name: 'a step that was kept is run again',
    file: 'src/flow/steps.ts',
    right: 'if (stored !== null && Object.hasOwn(stored, name))',
    wrong: 'if (stored !== null && name === "")',
    seed: 1,
  },
  {
    name: 'a drain goes on picking when its time is up',
    file: 'src/flow/stopping.ts',
    right: 'this.options.halt()\n',
    wrong: '\n',
    seed: 14,
  },
  {
    name: 'a stop that cannot say goodbye closes nothing',
    file: 'src/flow/stopping.ts',
    right: 'await leave.wait(store.worker(id, null)).catch(failed)',
    wrong: 'await leave.wait(store.worker(id, null))',
    seed: 11,
  },
  {
    name: 'a pause never hears that the runtime has stopped',
    file: 'src/flow/worker.ts',
    right: 'this.claimer.close()\n',
    wrong: '\n',
    seed: 237,
  },
  {
    name: 'a handler that waits to keep a step is not told that its runtime has stopped',
    file: 'src/flow/heartbeat.ts',
    right: "run.signal.addEventListener('abort', () => resolve(), { once: true })",
    wrong: '',
    seed: 395,
  },
  {
    name: 'a machine that slept does not know how long',
    file: 'src/flow/lease-clock.ts',
    right: 'Math.max(byMonotonic, byWall)',
    wrong: 'byMonotonic',
    seed: 221,
  },
  {
    name: 'a lease is counted from the answer of its claim',
    file: 'src/flow/claim.ts',
    right: 'fenceAt: fenceAt(sentAt, leaseMs)',
    wrong: 'fenceAt: fenceAt(time.read(), leaseMs)',
    seed: 5,
  },
  {
    name: 'a lease is counted from the answer of its beat',
    file: 'src/flow/heartbeat.ts',
    right: 'fenceAt(sentAt, leaseMs))',
    wrong: 'fenceAt(time.read(), leaseMs))',
    seed: 1266,
  },
  {
    name: 'nothing beats',
    file: 'src/flow/heartbeat.ts',
    right: 'if (++this.looks >= looksPerBeat && !this.beating)',
    wrong: 'if (this.looks < 0)',
    seed: 1,
  },
  {
    name: 'a job is started while a cancel is under way',
    file: 'src/flow/claim.ts',
    right: 'if (canceller.inFlight) return\n',
    wrong: '\n',
    seed: 48,
  },
  {
    name: 'what a cancel has held back is not started after it',
    file: 'src/flow/worker.ts',
    right: 'this.claimer.resume()\n',
    wrong: '\n',
    seed: 5,
  },
  {
    name: 'a run that is cancelled and does not end is not abandoned',
    file: 'src/flow/cancel.ts',
    right: 'run.abandonAfter(graceMs ?? this.options.graceMs)',
    wrong: '',
    seed: 2,
  },
  {
    name: 'a run that has lost its lease and does not end is not abandoned',
    file: 'src/flow/worker.ts',
    right: 'run.abandonAfter(this.options.settings.graceMs)',
    wrong: '',
    seed: 42,
  },
  {
    name: 'a run that is abandoned is abandoned later and later',
    file: 'src/flow/run.ts',
    right: 'if (at >= this.abandonAt) return\n',
    wrong: '\n',
    seed: 5,
  },
  {
    name: 'a run that takes too long is not abandoned',
    file: 'src/flow/run.ts',
    right: 'this.abandonAfter(stuckAfterMs)',
    wrong: '',
    seed: 1,
  },
  {
    name: 'a result is heard of by hints alone',
    file: 'src/flow/results.ts',
    right: 'if (this.options.store.capabilities.shared) this.askIn',
    wrong: 'if (this.timer === undefined) this.askIn',
    seed: 10,
  },
  {
    name: 'a runtime listens to its store when it has stopped',
    file: 'src/flow/connection.ts',
    right: 'this.unwatch()\n',
    wrong: '\n',
    seed: 1,
  },
  {
    name: 'a cancel is not told to the run',
    file: 'src/flow/heartbeat.ts',
    right: "else if (answer.outcome === 'cancelling') this.options.cancelling(run, answer)",
    wrong: '',
    seed: 1,
  },
]
