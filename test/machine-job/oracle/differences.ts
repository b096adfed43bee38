/** Where a job is known to differ from a live actor, and why. A difference that vanishes fails its case. */
export const differences = {
  stopsFirst:
    'an actor that is left is stopped when that is decided, before the actions of the step are executed: they may take long',
  callbacksRestart: 'a kill makes a callback or an observable begin again: what it had sent before comes again',
  firstAnswersLast:
    'of several actors that one step begins, those after the first are forgotten if it answers at once and the state is left',
  startOrder: 'a machine that starts executes its entry actions first, XState begins its actors first',
  childrenEmit: 'what a child machine emits is an event of its job, too',
  planFirst: 'a step that throws while it is decided executes none of its actions: what is executed is written before',
} as const

export type Difference = keyof typeof differences
