/**
 * Where a job is known to differ from a live actor, and why. A difference that vanishes fails its case; `docs/crash.md` has the
 * same list.
 */
export const differences = {
  stopsFirst:
    'An actor that is left is stopped as soon as that is decided, before the actions of the step are executed: those may take long.',
  startOrder:
    'Actors that do work start after the actions of their step have been executed, and that has been written. XState starts those of a machine that starts before its entry actions.',
  planFirst:
    'A step that throws while it is decided executes none of its actions. XState has executed those before it.',
  childrenEmit: 'What a child machine emits is an `EMIT` of the job. XState tells it to who listens to the child.',
  callbacksRestart:
    'After a kill a callback or an observable starts again: what it had sent before the kill may come again.',
  firstAttemptAgain:
    'After a kill the first attempt of a durable promise that was under way begins again, and `onSnapshot` tells of it again.',
  sentTogether:
    'When several events are sent at once, whether `send` accepts the later ones is judged without what the machine’s actors would answer to the earlier ones.',
  forgottenTimers:
    'Of two delayed events of one id XState cannot cancel the second any more once the first has come. A job can.',
  replacedActors:
    'A leaf that leads to itself through its history is entered again without having been left, and starts its actors a second time. XState lets the first ones go on, in no snapshot; a job forgets them when it parks.',
} as const

export type Difference = keyof typeof differences
