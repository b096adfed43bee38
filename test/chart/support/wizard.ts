/** A form of many steps, each of which leads on, back and out; `more` describes the state that it is left to. */
export const wizardOf = (steps: number, more: object = {}) => ({
  id: 'wizard',
  initial: 's0',
  states: Object.fromEntries([
    ...Array.from({ length: steps }, (_, at) => [
      `s${at}`,
      { on: { NEXT: at + 1 < steps ? `s${at + 1}` : 'done', BACK: `s${Math.max(0, at - 1)}`, CANCEL: 'cancelled' } },
    ]),
    ['done', { type: 'final' }],
    ['cancelled', { type: 'final', ...more }],
  ]),
})
