/**
 * The lifecycle of a job. This chart is the only definition of its arrows: the runtime's table, the stores' statements,
 * the docs and the pictures are derived from it.
 *
 * The chart is flat and pure: no clock, no `after`, no invoke. Time is data (`dueAt` and the event DUE), because a job
 * must survive the end of its process, and a timer does not.
 */
import { assign, setup } from 'xstate'

/** The counters of the chart. Nothing else of a job influences its transitions. */
export interface JobCounters {
  /** Attempts spent in this generation; raised by CLAIM, before any user code runs. */
  readonly attempt: number
  /** Attempts allowed in a generation. */
  readonly maxAttempts: number
  /** 1 at first; each retry of the ended job adds 1. */
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

/** The guards by name: plain functions, because the compiled table and XState call the same ones. */
export const jobGuards = {
  attemptsLeft: (job: JobCounters): boolean => job.attempt < job.maxAttempts,
  mayRetry: (job: JobCounters, event: JobMachineEvent): boolean =>
    !(event.type === 'FAIL' && event.fatal === true) && job.attempt < job.maxAttempts,
}

/** The effects of arrows on the counters, by name; shared with the compiled table like the guards. */
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
    // birth: initial state of an enqueue · live: not ended · backlog: counts towards the capacity · timed: may have a
    // due time · leased: a worker holds a lease · ended: removed by retention
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
  description: 'The lifecycle of a job',
  context: ({ input }) => ({ attempt: 0, maxAttempts: 3, generation: 1, ...input }),
  initial: 'queued',
  states: {
    scheduled: {
      tags: ['birth', 'live', 'backlog', 'timed'],
      description: 'waits for its due time, or for the end of an earlier job with its unique key',
      on: { DUE: 'queued', CANCEL: 'cancelled' },
    },
    queued: {
      tags: ['birth', 'live', 'backlog'],
      description: 'ready to be claimed',
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
      description: 'failed, waits for the backoff before its next attempt',
      on: { DUE: 'queued', CANCEL: 'cancelled' },
    },
    waiting: {
      tags: ['live', 'timed'],
      description: 'its machine is parked until a message or a timer',
      on: { WAKE: 'queued', CANCEL: 'cancelled' },
    },
    cancelling: {
      tags: ['live', 'leased'],
      description: 'cancelled while it runs: its run was asked to stop',
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
      description: 'failed without attempts left, or fatally',
      on: { RETRY: { target: 'queued', actions: 'openGeneration' } },
    },
    cancelled: {
      tags: ['ended'],
      description: 'ended by a cancel',
      on: { RETRY: { target: 'queued', actions: 'openGeneration' } },
    },
  },
})
