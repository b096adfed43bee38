/** A machine that stood at a checkpoint of the first format, which `first-format.json` holds: with a child machine, its timer, and references. */
import { assign, fromPromise, sendParent, setup, type AnyActorRef } from 'xstate'

/** @param begun is told the key of each start of a worker */
export function firstFormatMachine(begun: (key: string) => void) {
  const kid = setup({
    actors: {
      work: fromPromise(async ({ self, signal }) => {
        begun(self.sessionId)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      }),
    },
  }).createMachine({
    id: 'kid',
    initial: 'waiting',
    states: {
      waiting: {
        invoke: { src: 'work' },
        after: { 60_000: { target: 'told', actions: sendParent({ type: 'TOLD' }) } },
      },
      told: {},
    },
  })
  return setup({
    types: { context: {} as { kid: AnyActorRef | null; turns: number } },
    actors: { kid },
  }).createMachine({
    id: 'old',
    context: { kid: null, turns: 0 },
    entry: assign({ kid: ({ spawn }) => spawn('kid', { id: 'a/b' }) }),
    initial: 'open',
    states: {
      open: {
        invoke: { src: 'kid', id: 'again' },
        on: { TOLD: 'end' },
        always: {
          guard: ({ context }) => context.turns < 2,
          target: 'open',
          reenter: true,
          actions: assign({ turns: ({ context }) => context.turns + 1 }),
        },
      },
      end: { type: 'final' },
    },
    output: ({ context }) => [context.kid?.id, context.kid?.sessionId, context.turns],
  })
}
