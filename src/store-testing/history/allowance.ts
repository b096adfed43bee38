/** How many attempts a job may spend: what it was asked for with, and those more that led its machine to a checkpoint. */
import type { JobFacts, Step } from './facts.ts'

export class Allowance {
  /** null: some checkpoints may have been written or not, and the log does not tell. */
  max: number | null
  private readonly asked: number
  private readonly checkpoints: readonly { readonly seq: number; readonly attempt: number }[]
  private next = 0

  constructor(job: JobFacts) {
    const { machine, record, steps, inserts } = job
    const written = machine !== null && machine.checkpoints.some(({ outcome }) => outcome !== 'lost')
    const isMachine = written || (machine !== null && machine.logged.length > 0)
    const birth = inserts.find(({ outcome }) => outcome === 'inserted') ?? inserts[0]
    const [first, second] = [record?.maxAttempts, birth?.asked.maxAttempts]
    this.asked = (isMachine ? (second ?? first) : (first ?? second)) ?? Infinity
    this.checkpoints = (machine?.logged ?? []).toSorted((a, b) => a.seq - b.seq)
    this.max = isMachine && steps[0]?.logged !== true ? null : this.asked
  }

  /** Takes the checkpoints that came before a step. */
  before({ seq }: Pick<Step, 'seq'>): void {
    for (let entry = this.checkpoints[this.next]; entry !== undefined && entry.seq < seq;) {
      if (this.max !== null) this.max = this.asked + entry.attempt - 1
      entry = this.checkpoints[++this.next]
    }
  }

  /** Where attempts start over, those that led to a checkpoint are forgotten with the others. */
  after({ event, to }: Step): void {
    if (this.max !== null && (event === 'RETRY' || to === 'waiting')) this.max = this.asked
  }

  /** Can it not be otherwise than that they differ? */
  differsFrom(maxAttempts: number): boolean {
    return this.max !== null && this.max !== maxAttempts
  }
}
