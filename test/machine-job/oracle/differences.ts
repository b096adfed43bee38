/**
 * Where a job is known to differ from a live actor, and why. A difference that vanishes fails its case; `docs/crash.md`
 * has the same list.
 */
export const differences = {
  stopsFirst:
    'An actor is stopped when the transition out of its state is planned, before the actions of the step are executed: those may take long.',
  startOrder:
    'Actors that do work start after the actions of their step are executed and a checkpoint says so. XState starts those of a starting machine before its entry actions.',
  planFirst:
    'If planning a step throws, none of its actions is executed. XState executes the actions before the throw.',
  childrenEmit:
    'An event emitted by a child machine is an `EMIT` of the job. XState delivers it to listeners of the child.',
  callbacksRestart:
    'After a kill a callback or an observable starts again: events that it sent before the kill may be repeated.',
  firstAttemptAgain:
    'After a kill during the first attempt of a durable promise, `onSnapshot` reports that attempt again.',
  sentTogether:
    'When several events are sent at once, `send` decides about the later ones without the answers of actors to the earlier ones.',
  replacedActors:
    'A leaf state that re-enters itself through its history is entered without an exit, and starts its actors again. In XState the first actors continue, in no snapshot; a job drops them when it parks.',
} as const

export type Difference = keyof typeof differences
