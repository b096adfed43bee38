/**
 * How many attempts a job may spend: the value of its enqueue, or of the last claim, plus the attempts in which its
 * machine wrote a checkpoint.
 */
import type { JobFacts, Step } from './facts.ts'

export class Allowance {
  private readonly job: JobFacts
  private readonly allowed: ReadonlyMap<string, ReadonlySet<number>>
  /** null: not known. */
  private asked: number | null
  /** Attempts that led to a checkpoint; null if it is not known which checkpoints were written. */
  private checkpointedAttempts: number | null
  private readonly isPinned: boolean
  private readonly checkpoints: readonly { readonly seq: number; readonly attempt: number }[]
  private next = 0

  /** @param allowed by type: the values of `maxAttempts` in claims */
  constructor(job: JobFacts, allowed: ReadonlyMap<string, ReadonlySet<number>>) {
    const { machine, record, steps, inserts } = job
    this.job = job
    this.allowed = allowed
    const written = machine !== null && machine.checkpoints.some(({ outcome }) => outcome !== 'lost')
    const isMachine = written || (machine !== null && machine.logged.length > 0)
    const birth = inserts.find(({ outcome }) => outcome === 'inserted')?.asked
    const probable = birth ?? inserts[0]?.asked
    const [first, second] = [record?.maxAttempts, probable?.maxAttempts]
    this.asked = birth?.maxAttempts ?? (isMachine ? (second ?? first) : (first ?? second)) ?? Infinity
    this.isPinned = probable?.pinned === true
    this.checkpoints = (machine?.logged ?? []).toSorted((a, b) => a.seq - b.seq)
    this.checkpointedAttempts = isMachine && steps[0]?.logged !== true ? null : 0
  }

  /** null: not known. */
  get max(): number | null {
    return this.asked === null || this.checkpointedAttempts === null ? null : this.asked + this.checkpointedAttempts
  }

  /** Counts the checkpoints that precede a step. */
  before({ seq }: Pick<Step, 'seq'>): void {
    for (let entry = this.checkpoints[this.next]; entry !== undefined && entry.seq < seq;) {
      if (this.checkpointedAttempts !== null) this.checkpointedAttempts = entry.attempt - 1
      entry = this.checkpoints[++this.next]
    }
  }

  /**
   * A claim may set another value. Where attempts are counted from 0 again, those that led to a checkpoint are, too.
   */
  after({ event, to, seq }: Step): void {
    if (event === 'CLAIM' && !this.isPinned) this.claimed(seq)
    if (this.checkpointedAttempts !== null && (event === 'RETRY' || to === 'waiting')) this.checkpointedAttempts = 0
  }

  private claimed(seq: number): void {
    const attempt = [...this.job.attempts.values()].find((each) => each.seq === seq)
    if (attempt !== undefined) {
      this.asked = attempt.allowed ?? this.asked
      return
    }
    // The value of a claim without an answer is known only if all claims of the type have the same.
    const type = this.job.record?.type ?? this.job.inserts[0]?.asked.type ?? ''
    const [allowed, ...others] = this.allowed.get(type) ?? []
    if (allowed !== undefined) this.asked = others.length === 0 ? allowed : null
  }

  /** Do the values differ, whatever the unknown ones are? */
  differsFrom(maxAttempts: number): boolean {
    return this.max !== null && this.max !== maxAttempts
  }
}
