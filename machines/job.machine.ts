/**
 * The life a job can have. This chart is the only place where arrows are written: the runtime's table, the stores'
 * statements, the docs and the pictures are derived from it.
 *
 * It is flat and pure on purpose: no clock, no `after`, no invoke. Time is data (`dueAt` and the event DUE), because a
 * timer dies with its process and a job must not.
 */
import { assign, setup } from 'xstate'

/** What the chart counts. Everything else a job carries is of no interest to its life. */
export interface JobCounters {
  /** Attempts spent in this generation; raised by CLAIM, before any user code runs. */
  readonly attempt: number
  /** Attempts a generation may spend. */
  readonly maxAttempts: number
  /** How often an admin has sent the job through its life again; the first is 1. */
  readonly generation: number
}

export type JobMachineEvent =
  | { readonly type: 'DUE' }
  | { readonly type: 'CLAIM' }
  | { readonly type: 'COMPLETE' }
  | { readonly type: 'FAIL'; readonly fatal?: boolean }
  | { readonly type: 'SNOOZE' }
  | { readonly type: 'RELEASE' }
  | { readonly type: 'EXPIRE' }
  | { readonly type: 'PARK' }
  | { readonly type: 'WAKE' }
  | { readonly type: 'CANCEL' }
  | { readonly type: 'RETRY' }

/** The guards by name, plain functions so that the compiled table asks the very same ones as XState. */
export const jobGuards = {
  attemptsLeft: (job: JobCounters): boolean => job.attempt < job.maxAttempts,
  mayRetry: (job: JobCounters, event: JobMachineEvent): boolean =>
    !(event.type === 'FAIL' && event.fatal === true) && job.attempt < job.maxAttempts,
}

/** What an arrow does to the counters, by name; shared with the compiled table like the guards. */
export const jobCounting = {
  spendAttempt: (job: JobCounters): JobCounters => counters(job, job.attempt + 1, job.generation),
  giveAttemptBack: (job: JobCounters): JobCounters => counters(job, job.attempt - 1, job.generation),
  forgetAttempts: (job: JobCounters): JobCounters => counters(job, 0, job.generation),
  openGeneration: (job: JobCounters): JobCounters => counters(job, 0, job.generation + 1),
}

const counters = (job: JobCounters, attempt: number, generation: number): JobCounters => ({
  attempt,
  maxAttempts: job.maxAttempts,
  generation,
})

export const jobMachine = setup({
  types: {
    context: {} as JobCounters,
    events: {} as JobMachineEvent,
    input: {} as Partial<JobCounters> | undefined,
    // birth: an enqueue may put a job here · live: not ended yet, keeps its unique key · backlog: counts against the
    // capacity · timed: may have a due time · held: a worker has a lease on it · ended: kept for retention only
    tags: {} as 'birth' | 'live' | 'backlog' | 'timed' | 'leased' | 'ended',
  },
  guards: {
    attemptsLeft: ({ context }) => jobGuards.attemptsLeft(context),
    mayRetry: ({ context, event }) => jobGuards.mayRetry(context, event),
  },
  actions: {
    spendAttempt: assign(({ context }) => jobCounting.spendAttempt(context)),
    giveAttemptBack: assign(({ context }) => jobCounting.giveAttemptBack(context)),
    forgetAttempts: assign(({ context }) => jobCounting.forgetAttempts(context)),
    openGeneration: assign(({ context }) => jobCounting.openGeneration(context)),
  },
}).createMachine({
  id: 'job',
  description: 'The life of a job',
  context: ({ input }) => ({ attempt: 0, maxAttempts: 3, generation: 1, ...input }),
  initial: 'queued',
  states: {
    scheduled: {
      tags: ['birth', 'live', 'backlog', 'timed'],
      description: 'waits for its time, or for the end of the job before it under its unique key',
      on: { DUE: 'queued', CANCEL: 'cancelled' },
    },
    queued: {
      tags: ['birth', 'live', 'backlog'],
      description: 'ready to be picked',
      on: { CLAIM: { target: 'running', actions: 'spendAttempt' }, CANCEL: 'cancelled' },
    },
    running: {
      tags: ['live', 'leased'],
      description: 'a worker holds its lease',
      on: {
        COMPLETE: 'done',
        FAIL: [{ guard: 'mayRetry', target: 'retrying' }, { target: 'dead' }],
        EXPIRE: [{ guard: 'attemptsLeft', target: 'queued' }, { target: 'dead' }],
        SNOOZE: { target: 'scheduled', actions: 'giveAttemptBack' },
        RELEASE: { target: 'queued', actions: 'giveAttemptBack' },
        // A machine that parks has made progress: its attempts count from its last checkpoint.
        PARK: { target: 'waiting', actions: 'forgetAttempts' },
        CANCEL: 'cancelling',
      },
    },
    retrying: {
      tags: ['live', 'backlog', 'timed'],
      description: 'failed, waits for its next attempt',
      on: { DUE: 'queued', CANCEL: 'cancelled' },
    },
    waiting: {
      tags: ['live', 'timed'],
      description: 'parked until an event or a timer wakes it',
      on: { WAKE: 'queued', CANCEL: 'cancelled' },
    },
    cancelling: {
      tags: ['live', 'leased'],
      description: 'asked to stop, has not ended yet',
      on: {
        COMPLETE: 'cancelled',
        FAIL: 'cancelled',
        EXPIRE: 'cancelled',
        SNOOZE: 'cancelled',
        RELEASE: 'cancelled',
        PARK: 'cancelled',
      },
    },
    done: { tags: ['ended'], description: 'succeeded', type: 'final' },
    dead: {
      tags: ['ended'],
      description: 'failed for good, kept for a person to look at',
      on: { RETRY: { target: 'queued', actions: 'openGeneration' } },
    },
    cancelled: {
      tags: ['ended'],
      description: 'ended by a cancel',
      on: { RETRY: { target: 'queued', actions: 'openGeneration' } },
    },
  },
})
