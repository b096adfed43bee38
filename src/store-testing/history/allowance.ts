/**
 * How many attempts a job may spend: what it was asked for with, or what the last claim has allowed, and those more that led its
 * machine to a checkpoint.
 */
import type { JobFacts, Step } from './facts.ts'

export class Allowance {
  private readonly job: JobFacts
  private readonly allowed: ReadonlyMap<string, ReadonlySet<number>>
  /** null: nobody knows. */
  private asked: number | null
  /** Attempts that led to a checkpoint. null: some checkpoints may have been written or not, and the log does not tell. */
  private spared: number | null
  private readonly isPinned: boolean
  private readonly checkpoints: readonly { readonly seq: number; readonly attempt: number }[]
  private next = 0

  /** @param allowed by type: every number of attempts that a claim has allowed */
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
    this.spared = isMachine && steps[0]?.logged !== true ? null : 0
  }

  /** null: nobody knows. */
  get max(): number | null {
    return this.asked === null || this.spared === null ? null : this.asked + this.spared
  }

  /** Takes the checkpoints that came before a step. */
  before({ seq }: Pick<Step, 'seq'>): void {
    for (let entry = this.checkpoints[this.next]; entry !== undefined && entry.seq < seq;) {
      if (this.spared !== null) this.spared = entry.attempt - 1
      entry = this.checkpoints[++this.next]
    }
  }

  /** A claim may allow another number. Where attempts start over, those that led to a checkpoint are forgotten with the others. */
  after({ event, to, seq }: Step): void {
    if (event === 'CLAIM' && !this.isPinned) this.claimed(seq)
    if (this.spared !== null && (event === 'RETRY' || to === 'waiting')) this.spared = 0
  }

  private claimed(seq: number): void {
    const attempt = [...this.job.attempts.values()].find((each) => each.seq === seq)
    if (attempt !== undefined) {
      this.asked = attempt.allowed ?? this.asked
      return
    }
    // Of a claim that was not answered nobody knows what it has allowed, unless all have allowed the same.
    const type = this.job.record?.type ?? this.job.inserts[0]?.asked.type ?? ''
    const [allowed, ...others] = this.allowed.get(type) ?? []
    if (allowed !== undefined) this.asked = others.length === 0 ? allowed : null
  }

  /** Can it not be otherwise than that they differ? */
  differsFrom(maxAttempts: number): boolean {
    return this.max !== null && this.max !== maxAttempts
  }
}
