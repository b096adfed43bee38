/** Marble tests of the worker's stages: values in virtual frames, and the parts of a worker that hold state. */
import { defineJob, type JobDefinition } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { TestScheduler, type RunHelpers } from 'rxjs/testing'
import { expect, vi } from 'vitest'
import { RepeatedCalls } from '../../src/core/repeated-calls.ts'
import { Timers } from '../../src/client/timers.ts'
import { Waits } from '../../src/client/waits.ts'
import type { ClaimedJob, SettleAnswer } from '../../src/store.ts'
import { Run, type RunServices } from '../../src/worker/attempt.ts'
import { Batches } from '../../src/worker/batches.ts'
import { Claims } from '../../src/worker/claims.ts'
import { Lanes } from '../../src/worker/lanes.ts'
import { Permits } from '../../src/worker/permits.ts'
import { Selector } from '../../src/worker/selector.ts'
import { StoreCalls } from '../../src/worker/store-calls.ts'
import { Threads } from '../../src/worker/threads.ts'
import { Workload } from '../../src/worker/workload.ts'

interface Marbles extends RunHelpers {
  /** They end their turns in the same frame, after all that it brings. */
  readonly lanes: Lanes
  /** Is the time of the turn used up? Then the lanes go on in the next frame. */
  readonly budget: { spent: boolean }
}

export function marbles(run: (helpers: Marbles) => void): void {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
  const budget = {
    spent: false,
    nextTurn: (drain: () => void) =>
      void scheduler.schedule(() => {
        budget.spent = false
        drain()
      }, 1),
  }
  const lanes = new Lanes({ budget, atTurnEnd: (drain) => void scheduler.schedule(drain) })
  scheduler.run((helpers) => run({ ...helpers, lanes, budget }))
}

export const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export function claimedJob(id: string, type = 'mail'): ClaimedJob {
  return {
    id,
    type,
    input: undefined,
    priority: 0,
    concurrencyKey: null,
    attempt: 1,
    maxAttempts: 3,
    generation: 1,
    token: 'token',
    startedAt: 0,
    seq: 1,
    steps: null,
    checkpoint: null,
    inbox: [],
    version: null,
    pins: null,
    meta: null,
    record: () => {
      throw new Error('not asked for here')
    },
  }
}

/** The answer to a settlement that was written. */
export const settled: SettleAnswer = {
  outcome: 'settled',
  seq: 2,
  at: 7,
  from: 'running',
  to: 'done',
  attempt: 1,
  dueAt: null,
}

/** The parts of a worker that hold state, in virtual time. */
export function workerParts({
  slots = 10,
  isDivided = false,
  jobs = [defineJob({ type: 'mail', run: () => {} })],
}: { readonly slots?: number; readonly isDivided?: boolean; readonly jobs?: readonly JobDefinition[] } = {}) {
  const clock = new VirtualClock()
  const timers = new Timers(clock)
  const logger = { ...quiet, error: vi.fn(), warn: vi.fn() }
  const permits = new Permits(slots)
  const changed = vi.fn()
  const workload = new Workload(changed)
  const nudge = vi.fn()
  const selector = new Selector({ jobs, selection: 'weighted', random: () => 0.5, now: () => 0, logger })
  const claims = new Claims({ selector, permits, workload, timers, lanes: { nudge }, isDivided })
  const storeCalls = new StoreCalls({ max: () => claims.callsMax, timers })
  const services: RunServices = {
    middleware: [],
    telemetry: null,
    timers,
    threads: new Threads({ slots: () => slots, timers, logger }),
    batches: new Batches({
      slots: () => slots,
      timers,
      telemetry: null,
      startsAtOnce: () => false,
      outside: (work) => work(),
    }),
    logger,
    waits: new Waits(),
    machineContext: notHere,
    confirm() {},
    abandoned() {},
    refusal: () => null,
    saveStep: notHere,
    checkin() {},
    log() {},
    complete: () => Promise.resolve(),
    fail: () => Promise.resolve(),
    snooze: () => Promise.resolve(),
    within: notHere,
    enqueue: notHere,
    enqueueNow: notHere,
  }
  const runOf = (id: string, job = jobs[0] as JobDefinition): Run =>
    new Run(claimedJob(id, job.type), job, services, { confirmedAt: 0, fenceAt: 100 })
  const repeated = new RepeatedCalls(logger)
  const parts = { permits, workload, selector, claims, storeCalls, repeated, services, jobs }
  return { ...parts, clock, timers, logger, changed, nudge, runOf }
}

function notHere(): never {
  throw new Error('not asked for here')
}
