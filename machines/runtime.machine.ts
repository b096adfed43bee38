/**
 * The life of a runtime: what it accepts and whether it picks follow from its state and are decided nowhere else.
 *
 * Tags: `accepts` new jobs · `picks` jobs to run · `settles` what is running (its timers and heartbeats are on).
 * A store that does not answer changes none of this: the runtime goes on trying, and its context says what the trouble is.
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
      /** Why it failed. */
      readonly error: unknown
      /** Why its store does not answer at present. */
      readonly trouble: unknown
    },
    events: {} as RuntimeMachineEvent,
    tags: {} as 'accepts' | 'picks' | 'settles',
  },
  guards: {
    isDrain: ({ event }) => event.type === 'STOP' && event.mode === 'drain',
  },
  actions: {
    keepError: assign(({ event }) => ({ error: event.type === 'FAILED' ? event.error : undefined })),
    keepTrouble: assign(({ event }) => ({ trouble: event.type === 'STORE_LOST' ? event.error : undefined })),
  },
}).createMachine({
  id: 'runtime',
  description: 'The life of a runtime',
  context: { error: undefined, trouble: undefined },
  initial: 'idle',
  on: { STORE_LOST: { actions: 'keepTrouble' }, STORE_BACK: { actions: 'keepTrouble' } },
  states: {
    idle: {
      tags: ['accepts'],
      description: 'made, takes jobs, runs none yet',
      on: { START: 'starting', STOP: 'stopping' },
    },
    starting: {
      tags: ['accepts'],
      description: 'opens its store',
      on: { STARTED: 'running', FAILED: { target: 'failed', actions: 'keepError' }, STOP: 'stopping' },
    },
    running: {
      tags: ['accepts', 'picks', 'settles'],
      description: 'picks and runs jobs',
      on: {
        PAUSE: 'paused',
        STOP: [{ guard: 'isDrain', target: 'draining' }, { target: 'stopping' }],
        FAILED: { target: 'failed', actions: 'keepError' },
      },
    },
    paused: {
      tags: ['accepts', 'settles'],
      description: 'picks nothing, what runs goes on',
      on: {
        RESUME: 'running',
        // A paused runtime that is asked to drain runs what is queued: the stop is the later wish.
        STOP: [{ guard: 'isDrain', target: 'draining' }, { target: 'stopping' }],
        FAILED: { target: 'failed', actions: 'keepError' },
      },
    },
    draining: {
      tags: ['picks', 'settles'],
      description: 'refuses new jobs, runs all that is queued',
      on: { STOP: [{ guard: 'isDrain' }, { target: 'stopping' }], STOPPED: 'stopped' },
    },
    stopping: {
      tags: ['settles'],
      description: 'picks nothing, waits for what runs',
      on: { STOPPED: 'stopped' },
    },
    stopped: { description: 'ended for good', type: 'final' },
    failed: {
      description: 'could not start or lost its store for good',
      on: { STOP: 'stopping' },
    },
  },
})
