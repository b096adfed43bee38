/** What a long proof is. A part tries something many times and names what went wrong; `main.ts` runs the parts. */

export interface ProofOptions {
  /** Decides everything that a part chooses; it is printed. */
  readonly seed: number
  /** A part tries this many times as much as by default. */
  readonly scale: number
}

export interface Proof {
  /** What `--only` calls it. */
  readonly name: string
  /** What is proved, as a sentence. */
  readonly claim: string
  run(options: ProofOptions): Promise<ProofResult>
}

export interface ProofResult {
  /** What was tried, and how often. */
  readonly summary: string
  /** Everything that broke the claim; none if it holds. */
  readonly failures: readonly string[]
}
