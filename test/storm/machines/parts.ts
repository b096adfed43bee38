/** What the charts of a storm have in common: what they remember of what befell them, and what they do. */
import { fromJob } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'
import { sleep } from '../../harness/sleep.ts'
import type { Ledger } from './ledger.ts'
import { leg, waitingLeg, type LegInput } from './legs.ts'

/** A timer that has fired, with when it was set. */
export interface Fired {
  readonly name: string
  readonly setAt: number
  readonly delayMs: number
  readonly at: number
}

/** What an actor gave back: its output, or that it failed. */
export interface Result {
  readonly from: string
  readonly output?: unknown
  readonly error?: string
}

export interface MachineInput {
  /** Of its timers. */
  readonly delays: readonly [first: number, second: number]
  readonly legs: readonly LegInput[]
}

/** All is appended: what is lost, doubled or out of order shows. */
export interface Memory extends MachineInput {
  readonly told: readonly number[]
  readonly cheers: readonly number[]
  readonly ended: boolean
  readonly set: Readonly<Record<string, number>>
  readonly fired: readonly Fired[]
  readonly ticks: number
  readonly results: readonly Result[]
  readonly checkins: number
  readonly compensated: boolean
}

export type StormEvent =
  | { readonly type: 'NUM'; readonly n: number }
  | { readonly type: 'CHEER'; readonly from: number }
  | { readonly type: 'END' }
  | { readonly type: 'TICK' }
  | { readonly type: 'job.cancel'; readonly reason?: string | null }

export const memoryOf = (input: MachineInput): Memory => ({
  ...input,
  told: [],
  cheers: [],
  ended: false,
  set: {},
  fired: [],
  ticks: 0,
  results: [],
  checkins: 0,
  compensated: false,
})

export const tickMs = 150
export const ticksMax = 3

/** Chance that a piece of work fails, where it does now and then. */
const failure = 0.25

/** A machine within a machine: told what its parent is told, it has a timer of its own. */
const inner = setup({
  types: {
    context: {} as Memory,
    input: {} as MachineInput,
    events: {} as StormEvent,
    output: {} as Pick<Memory, 'told' | 'fired'>,
  },
  delays: { first: ({ context }) => context.delays[0] },
}).createMachine({
  id: 'inner',
  context: ({ input }) => memoryOf(input),
  type: 'parallel',
  on: { NUM: { actions: assign({ told: ({ context, event }) => [...context.told, event.n] }) } },
  states: {
    hears: { initial: 'open', states: { open: { on: { END: 'closed' } }, closed: { type: 'final' } } },
    waits: {
      initial: 'waiting',
      states: {
        waiting: {
          entry: assign(({ context }) => started(context, 'inner')),
          after: { first: { target: 'over', actions: assign(({ context }) => over(context, 'inner', 0)) } },
        },
        over: { type: 'final' },
      },
    },
  },
  output: ({ context: { told, fired } }) => ({ told, fired }),
})

/** A timer is set: entered with the state that sets it. */
const started = ({ set }: Memory, name: string): Pick<Memory, 'set'> => ({ set: { ...set, [name]: Date.now() } })

/** It has fired. */
const over = ({ set, fired, delays }: Memory, name: string, delay: 0 | 1): Pick<Memory, 'fired'> => ({
  fired: [...fired, { name, setAt: set[name] ?? 0, delayMs: delays[delay], at: Date.now() }],
})

export function legOf({ legs }: MachineInput, number: number): LegInput {
  const found = legs[number]
  if (found === undefined) throw new TypeError(`there is no leg ${number}`)
  return found
}

/** Everything that charts name. */
export const partsFor = (ledger: Ledger) =>
  setup({
    types: { context: {} as Memory, input: {} as MachineInput, events: {} as StormEvent, output: {} as Memory },
    actors: {
      leg: fromJob(leg),
      waitingLeg: fromJob(waitingLeg),
      inner,
      /** Gives its own name back: a repeat after a crash has the same. */
      work: fromPromise<string, string>(async ({ input, self, signal }) => {
        ledger('begin', self.sessionId, input)
        await sleep(Math.random() * 60, signal)
        if (input.endsWith('?') && Math.random() < failure) throw new Error('now and then')
        ledger('end', self.sessionId, input)
        return self.sessionId
      }),
      /** Takes its process with it. */
      poison: fromPromise(() => {
        process.kill(process.pid, 'SIGKILL')
        // A signal to oneself may take a moment.
        return new Promise(() => {})
      }),
    },
    actions: {
      note: ({ self, event }) => ledger('note', self.sessionId, event.type),
      hear: assign({
        told: ({ context, event }) => (event.type === 'NUM' ? [...context.told, event.n] : context.told),
      }),
      cheer: assign({
        cheers: ({ context, event }) => (event.type === 'CHEER' ? [...context.cheers, event.from] : context.cheers),
      }),
      end: assign({ ended: true }),
      tick: assign({ ticks: ({ context }) => context.ticks + 1 }),
      checkin: assign({ checkins: ({ context }) => context.checkins + 1 }),
      compensate: assign({ compensated: true }),
      keep: assign({ results: ({ context }, result: Result) => [...context.results, result] }),
      set: assign(({ context }, { name }: { readonly name: string }) => started(context, name)),
      fire: assign(({ context }, { name, delay }: { readonly name: string; readonly delay: 0 | 1 }) =>
        over(context, name, delay),
      ),
    },
    guards: {
      hasEnded: ({ context }) => context.ended,
      isLastTick: ({ context }) => context.ticks + 1 >= ticksMax,
    },
    delays: {
      first: ({ context }) => context.delays[0],
      second: ({ context }) => context.delays[1],
      tick: tickMs,
    },
  })

export type Parts = ReturnType<typeof partsFor>
