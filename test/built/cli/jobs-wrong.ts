/** Definitions that `check` must refuse: a delay without an implementation, and an action without one. */
import { createMachine } from 'xstate'

export const machine = createMachine({
  id: 'wrong',
  initial: 'a',
  states: { a: { entry: 'tellAda', after: { soon: 'b' } }, b: { type: 'final' } },
})
