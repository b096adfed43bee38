/** The charts that are measured as jobs. */
import { assign, enqueueActions, fromPromise, setup, type AnyActorLogic, type DoneActorEvent } from 'xstate'

/** Five states, four of them with an actor that has nothing to do. */
export function fiveStates() {
  return setup({
    types: {
      context: {} as { readonly i: number },
      input: {} as { readonly i: number },
      output: {} as { readonly i: number },
    },
    actors: { work: fromPromise(async () => {}) },
  }).createMachine({
    id: 'five',
    context: ({ input }) => input,
    initial: 'first',
    states: {
      first: { invoke: { src: 'work', onDone: 'second' } },
      second: { invoke: { src: 'work', onDone: 'third' } },
      third: { invoke: { src: 'work', onDone: 'fourth' } },
      fourth: { invoke: { src: 'work', onDone: 'fifth' } },
      fifth: { type: 'final' },
    },
    output: ({ context }) => context,
  })
}

/** Waits until `at`, ms since the epoch, and then calls `woken`. */
export function sleeper(woken: (at: number) => void) {
  return setup({
    types: { context: {} as { readonly at: number }, input: {} as { readonly at: number } },
    actions: { woken: ({ context }) => woken(context.at) },
    delays: { untilThen: ({ context }) => context.at - Date.now() },
  }).createMachine({
    id: 'sleeper',
    context: ({ input }) => input,
    initial: 'asleep',
    states: { asleep: { after: { untilThen: 'awake' } }, awake: { entry: 'woken', type: 'final' } },
  })
}

/** Starts `count` child jobs at once, each with its number as input, and adds up what they give. */
export function gathering(child: AnyActorLogic) {
  return setup({
    types: {
      context: {} as { readonly count: number; readonly open: number; readonly sum: number },
      input: {} as { readonly count: number },
      output: {} as { readonly sum: number },
      events: {} as DoneActorEvent<number, `child.${number}`>,
    },
    actors: { child },
    actions: {
      startAll: enqueueActions(({ context: { count }, enqueue }) => {
        for (let i = 0; i < count; i++) enqueue.spawnChild('child', { id: `child.${i}`, input: { i } })
      }),
      add: assign(({ context, event }) => ({ open: context.open - 1, sum: context.sum + event.output })),
    },
    guards: { hasAll: ({ context }) => context.open === 0 },
  }).createMachine({
    id: 'gathering',
    context: ({ input: { count } }) => ({ count, open: count, sum: 0 }),
    initial: 'open',
    states: {
      open: {
        entry: 'startAll',
        on: { 'xstate.done.actor.child.*': { actions: 'add' } },
        always: { guard: 'hasAll', target: 'over' },
      },
      over: { type: 'final' },
    },
    output: ({ context: { sum } }) => ({ sum }),
  })
}
