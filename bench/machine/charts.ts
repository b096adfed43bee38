/** The charts that are measured as jobs. */
import { fromPromise, setup } from 'xstate'

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
