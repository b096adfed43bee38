/**
 * The lifecycle of a runtime. Its state alone decides whether the runtime accepts jobs and whether it picks jobs.
 *
 * Tags: `accepts` new jobs · `picks` jobs to run · `settles` running jobs (timers and heartbeats are active) ·
 * `pausable`: it may be paused and resumed · `drainable`: its queued jobs can still be run before it stops.
 * A store that does not answer does not change the state: the runtime repeats its calls, and the context holds the
 * error.
 */
import { assign, setup } from 'xstate'

export type StopMode = 'drain' | 'finish' | 'abort'

type RuntimeMachineEvent =
  | { readonly type: 'START' }
  | { readonly type: 'STARTED' }
  | { readonly type: 'PAUSE' }
  | { readonly type: 'RESUME' }
  | { readonly type: 'STOP'; readonly mode: StopMode }
  | { readonly type: 'STOPPED' }
  | { readonly type: 'FAILED'; readonly error: unknown }
  | { readonly type: 'STORE_LOST'; readonly error: unknown }
  | { readonly type: 'STORE_BACK' }

export const runtimeMachine = setup({
  types: {
    context: {} as {
      /** The error that made it fail. */
      readonly error: unknown
      /** The error while the store does not answer; otherwise null. */
      readonly storeError: unknown
    },
    events: {} as RuntimeMachineEvent,
    tags: {} as 'accepts' | 'picks' | 'settles' | 'pausable' | 'drainable',
  },
  guards: {
    isDrain: ({ event }) => event.type === 'STOP' && event.mode === 'drain',
  },
  actions: {
    keepError: assign(({ event }) => ({ error: event.type === 'FAILED' ? event.error : undefined })),
    keepStoreError: assign(({ event }) => ({ storeError: event.type === 'STORE_LOST' ? event.error : undefined })),
  },
}).createMachine({
  id: 'runtime',
  description: 'The lifecycle of a runtime',
  context: { error: undefined, storeError: undefined },
  initial: 'idle',
  on: { STORE_LOST: { actions: 'keepStoreError' }, STORE_BACK: { actions: 'keepStoreError' } },
  states: {
    idle: {
      tags: ['accepts'],
      description: 'created: accepts jobs, runs none',
      on: { START: 'starting', STOP: 'stopping' },
    },
    starting: {
      tags: ['accepts'],
      description: 'opens its store',
      on: { STARTED: 'running', FAILED: { target: 'failed', actions: 'keepError' }, STOP: 'stopping' },
    },
    running: {
      tags: ['accepts', 'picks', 'settles', 'pausable', 'drainable'],
      description: 'picks and runs jobs',
      on: {
        PAUSE: 'paused',
        STOP: [{ guard: 'isDrain', target: 'draining' }, { target: 'stopping' }],
        FAILED: { target: 'failed', actions: 'keepError' },
      },
    },
    paused: {
      tags: ['accepts', 'settles', 'pausable', 'drainable'],
      description: 'picks no jobs; running jobs continue',
      on: {
        RESUME: 'running',
        // The later call wins: a paused runtime that is stopped with mode `drain` runs its queued jobs.
        STOP: [{ guard: 'isDrain', target: 'draining' }, { target: 'stopping' }],
        FAILED: { target: 'failed', actions: 'keepError' },
      },
    },
    draining: {
      tags: ['picks', 'settles', 'drainable'],
      description: 'refuses new jobs, runs the queued ones',
      on: { STOP: [{ guard: 'isDrain' }, { target: 'stopping' }], STOPPED: 'stopped' },
    },
    stopping: {
      tags: ['settles'],
      description: 'picks no jobs, waits for running ones',
      on: { STOPPED: 'stopped' },
    },
    stopped: { description: 'stopped; it cannot be started again', type: 'final' },
    failed: {
      description: 'could not start, or its store has failed permanently',
      on: { STOP: 'stopping' },
    },
  },
})
