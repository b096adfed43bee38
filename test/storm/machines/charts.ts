/** The charts of a storm. All are told numbers and an END, and none ends without it. */
import { legOf, memoryOf, type MachineInput, type Memory, type Parts, type Result } from './parts.ts'

const heard = { NUM: { actions: 'hear' }, CHEER: { actions: 'cheer' } } as const

/** A region that is over when it is told so. */
const hears = {
  initial: 'open',
  states: { open: { on: { END: { target: 'closed', actions: 'note' } } }, closed: { type: 'final' } },
} as const

const result = (from: string) =>
  ({
    type: 'keep',
    params: ({ event }: { readonly event: { readonly output: unknown } }): Result => ({ from, output: event.output }),
  }) as const

const failed = (from: string) =>
  ({
    type: 'keep',
    params: ({ event: { error } }: { readonly event: { readonly error: unknown } }): Result => {
      return { from, error: error instanceof Error ? error.message : String(error) }
    },
  }) as const

function begin({ input }: { readonly input: MachineInput }): Memory {
  return memoryOf(input)
}

function remembered({ context }: { readonly context: Memory }): Memory {
  return context
}

/** Regions: one hears, one has timers one after the other, one sends itself delayed events. */
export const regions = (parts: Parts) =>
  parts.createMachine({
    id: 'regions',
    context: begin,
    type: 'parallel',
    on: heard,
    states: {
      hears,
      waits: {
        initial: 'one',
        states: {
          one: {
            entry: { type: 'set', params: { name: 'one' } },
            after: { first: { target: 'two', actions: { type: 'fire', params: { name: 'one', delay: 0 } } } },
          },
          two: {
            entry: { type: 'set', params: { name: 'two' } },
            after: { second: { target: 'over', actions: { type: 'fire', params: { name: 'two', delay: 1 } } } },
          },
          over: { type: 'final' },
        },
      },
      ticks: {
        initial: 'ticking',
        states: {
          ticking: {
            entry: parts.raise({ type: 'TICK' }, { delay: 'tick' }),
            on: {
              TICK: [
                { guard: 'isLastTick', target: 'over', actions: 'tick' },
                { target: 'ticking', reenter: true, actions: 'tick' },
              ],
            },
          },
          over: { type: 'final' },
        },
      },
    },
    output: remembered,
  })

/** A machine within it, which is told what it is told; then a piece of work. */
export const nested = (parts: Parts) =>
  parts.createMachine({
    id: 'nested',
    context: begin,
    initial: 'outer',
    states: {
      outer: {
        invoke: {
          src: 'inner',
          id: 'inner',
          input: ({ context: { delays, legs } }) => ({ delays, legs }),
          onDone: { target: 'packs', actions: result('inner') },
        },
        on: {
          ...heard,
          NUM: { actions: ['hear', parts.sendTo('inner', ({ event }) => event)] },
          END: { actions: ['note', parts.sendTo('inner', ({ event }) => event)] },
        },
      },
      packs: { invoke: { src: 'work', input: 'packs', onDone: { target: 'over', actions: result('packs') } } },
      over: { type: 'final' },
    },
    output: remembered,
  })

const legStates = <Src extends 'leg' | 'waitingLeg'>(number: number, src: Src) =>
  ({
    initial: 'out',
    states: {
      out: {
        invoke: {
          src,
          id: `leg-${number}`,
          input: ({ context }: { readonly context: Memory }) => legOf(context, number),
          onDone: { target: 'home', actions: result(`leg-${number}`) },
          onError: { target: 'home', actions: failed(`leg-${number}`) },
          onSnapshot: { actions: 'checkin' },
        },
      },
      home: { type: 'final' },
    },
  }) as const

/** Invokes two jobs. */
export const fanOfTwo = (parts: Parts) =>
  parts.createMachine({
    id: 'fan-2',
    context: begin,
    type: 'parallel',
    on: heard,
    states: { hears, leg0: legStates(0, 'leg'), leg1: legStates(1, 'waitingLeg') },
    output: remembered,
  })

/** Invokes three jobs. */
export const fanOfThree = (parts: Parts) =>
  parts.createMachine({
    id: 'fan-3',
    context: begin,
    type: 'parallel',
    on: heard,
    states: {
      hears,
      leg0: legStates(0, 'leg'),
      leg1: legStates(1, 'waitingLeg'),
      leg2: legStates(2, 'leg'),
    },
    output: remembered,
  })

/** Invokes a job, and leaves it alone if it takes too long. */
export const impatient = (parts: Parts) =>
  parts.createMachine({
    id: 'impatient',
    context: begin,
    initial: 'waits',
    on: { ...heard, END: { actions: ['note', 'end'] } },
    states: {
      waits: {
        entry: { type: 'set', params: { name: 'patience' } },
        invoke: {
          src: 'leg',
          id: 'leg-0',
          input: ({ context }) => legOf(context, 0),
          onDone: { target: 'idle', actions: result('leg-0') },
          onError: { target: 'idle', actions: failed('leg-0') },
        },
        after: { first: { target: 'idle', actions: { type: 'fire', params: { name: 'patience', delay: 0 } } } },
      },
      idle: { always: { guard: 'hasEnded', target: 'over' } },
      over: { type: 'final' },
    },
    output: remembered,
  })

/** Three pieces of work that fail now and then: it goes on where it stood. */
export const flaky = (parts: Parts) =>
  parts.createMachine({
    id: 'flaky',
    context: begin,
    initial: 'a',
    on: { ...heard, END: { actions: ['note', 'end'] } },
    states: {
      a: { invoke: { src: 'work', input: 'a?', onDone: { target: 'b', actions: result('a') } } },
      b: { invoke: { src: 'work', input: 'b?', onDone: { target: 'c', actions: result('b') } } },
      c: { invoke: { src: 'work', input: 'c?', onDone: { target: 'idle', actions: result('c') } } },
      idle: { always: { guard: 'hasEnded', target: 'over' } },
      over: { type: 'final' },
    },
    output: remembered,
  })

/** Undoes what it has done if its job is cancelled. */
export const compensating = (parts: Parts) =>
  parts.createMachine({
    id: 'compensating',
    context: begin,
    initial: 'works',
    on: { ...heard, END: { actions: ['note', 'end'] } },
    states: {
      works: {
        initial: 'reserves',
        on: { 'job.cancel': { target: 'undoes', actions: 'note' } },
        states: {
          reserves: {
            invoke: { src: 'work', input: 'reserves', onDone: { target: 'idle', actions: result('reserves') } },
          },
          idle: { always: { guard: 'hasEnded', target: '#compensating.over' } },
        },
      },
      undoes: {
        invoke: {
          src: 'work',
          input: 'undoes',
          onDone: { target: 'undone', actions: 'compensate' },
        },
      },
      undone: { type: 'final' },
      over: { type: 'final' },
    },
    output: remembered,
  })

/** Does some work, and then takes its process with it, each time. */
export const poisonous = (parts: Parts) =>
  parts.createMachine({
    id: 'poisonous',
    context: begin,
    initial: 'a',
    on: { ...heard, END: { actions: ['note', 'end'] } },
    states: {
      a: { invoke: { src: 'work', input: 'a', onDone: { target: 'b', actions: result('a') } } },
      b: { invoke: { src: 'poison', onDone: 'over' } },
      over: { type: 'final' },
    },
    output: remembered,
  })
