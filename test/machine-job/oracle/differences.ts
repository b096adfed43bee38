/** Where a job is known to differ from a live actor, and why. A difference that vanishes fails its case. */
export const differences = {
  oneTimerPerId: 'a delayed event replaces another of the same id, where XState delivers both',
} as const

export type Difference = keyof typeof differences
