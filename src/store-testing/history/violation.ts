/** The result of a check: violations by invariant, with evidence. */

/** The invariants, by the names under which violations are reported. */
export const invariants = {
  I1: 'what was acknowledged exists, what was refused does not',
  I2: 'transitions follow the chart; an ended job changes only by RETRY',
  I3: 'attempts strictly increase, starts ≤ maxAttempts',
  I4: 'accepted writes carry the current token, and it is not refused',
  I5: 'attempts overlap only if the earlier lease had run out',
  I6: 'every job has ended',
  I7: 'after an acknowledged cancel no new attempt, and no start',
  I8: 'one live job per key, no key without a holder',
  I10: 'no claim, and no start, after an acknowledged pause',
  I11: 'a machine continues from its last checkpoint, and reads each message once and in order',
  I12: 'counts and log agree with the records',
  I13: 'retention bounds hold',
  late: 'a lease that has run out is rescued in time',
  steps: 'a stored step is not run again, and no step starts without a lease',
  hooks: 'each end as dead of a job with a hook inserts the hook once, and nothing else does',
  caps: 'concurrency, perKey and rate are never exceeded',
} as const

export type Invariant = keyof typeof invariants

export interface Violation {
  readonly invariant: Invariant
  /** The violation in a sentence. */
  readonly message: string
  /** Evidence: the transitions of the job, or the calls that contradict each other. */
  readonly evidence: readonly string[]
}

/** How many violations of each invariant are kept. */
const keptMax = 20
const evidenceMax = 60

/** Collects violations. */
export class Findings {
  readonly violations: Violation[] = []
  /** The number of violations of each invariant, kept or not. */
  readonly counts: Partial<Record<Invariant, number>> = {}

  add(invariant: Invariant, message: string, evidence: readonly string[] = []): void {
    const count = (this.counts[invariant] = (this.counts[invariant] ?? 0) + 1)
    if (count <= keptMax) this.violations.push({ invariant, message, evidence: evidence.slice(-evidenceMax) })
  }
}
