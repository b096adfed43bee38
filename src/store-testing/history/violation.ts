/** What a check finds: broken promises by name, with what proves each. */

/** The promises, by the names under which violations are reported. */
export const invariants = {
  I1: 'what was acknowledged exists, what was refused does not',
  I2: 'transitions follow the chart; one end, never left but by RETRY',
  I3: 'attempts strictly increase, starts ≤ maxAttempts',
  I4: 'accepted writes carry the current token, and it is not refused',
  I5: 'attempts overlap only if the earlier lease had run out',
  I6: 'everything has drained',
  I7: 'after an acknowledged cancel no new attempt, and no start',
  I8: 'one live job per key, no key without a holder',
  I10: 'no claim, and no start, after an acknowledged pause',
  I11: 'a machine goes on from its last checkpoint, and reads each message once and in order',
  I12: 'counts and log agree with the records',
  I13: 'retention bounds hold',
  late: 'a lease that has run out is taken back in time',
  steps: 'a step that is stored is not done again, and none begins without a lease',
  hooks: 'each death of a job that has a hook inserts the hook once, and nothing else does',
  caps: 'concurrency, perKey and rate are never exceeded',
} as const

export type Invariant = keyof typeof invariants

export interface Violation {
  readonly invariant: Invariant
  /** What is wrong, in a sentence. */
  readonly message: string
  /** What proves it: the transitions of the job, the calls that contradict each other. */
  readonly evidence: readonly string[]
}

/** Of one invariant this many are kept in full. */
const keptMax = 20
const evidenceMax = 60

/** Violations as they are found. */
export class Findings {
  readonly violations: Violation[] = []
  /** How many of each, kept or not. */
  readonly counts: Partial<Record<Invariant, number>> = {}

  add(invariant: Invariant, message: string, evidence: readonly string[] = []): void {
    const count = (this.counts[invariant] = (this.counts[invariant] ?? 0) + 1)
    if (count <= keptMax) this.violations.push({ invariant, message, evidence: evidence.slice(-evidenceMax) })
  }
}
