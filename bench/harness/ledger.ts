/** The ledger: every job is marked when it runs, and a figure counts only if each was marked exactly once. */
import type { Handler } from '../contender.ts'

export class NotVerified extends Error {
  override readonly name = 'NotVerified'
}

export class Ledger {
  private readonly marks: Uint8Array
  private markedAgain = 0
  private unknown = 0
  /** Marks so far. */
  count = 0

  constructor(jobs: number) {
    this.marks = new Uint8Array(jobs)
  }

  /** How many there are to run. */
  get jobs(): number {
    return this.marks.length
  }

  /** Job `i` has run. */
  mark(i: number): void {
    this.count++
    if (this.marks[i] === 0) this.marks[i] = 1
    else if (this.marks[i] === 1) this.markedAgain++
    else this.unknown++
  }

  /** A handler for each of so many types, which marks its jobs. */
  handlers(types: number): Handler[] {
    return Array.from(
      { length: types },
      () =>
        async ({ i }) =>
          this.mark(i),
    )
  }

  /**
   * What is wrong with the work, in words; null if each job has run once.
   * @param mayWait jobs that need not have run
   */
  problem(mayWait = 0): string | null {
    const { length } = this.marks
    const missing = this.marks.reduce((sum, mark) => sum + (1 - mark), 0)
    const problems = [
      missing > mayWait && `${missing} of ${length} never ran, the first is job ${this.marks.indexOf(0)}`,
      this.markedAgain > 0 && `${this.markedAgain} ran more than once`,
      this.unknown > 0 && `${this.unknown} ran that nobody enqueued`,
    ].filter((each) => each !== false)
    return problems.length === 0 ? null : `of the jobs, ${problems.join('; ')}`
  }

  /** @throws NotVerified */
  verify(mayWait = 0): void {
    const problem = this.problem(mayWait)
    if (problem !== null) throw new NotVerified(problem)
  }
}

/** @throws NotVerified unless both are the same */
export function verifyEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new NotVerified(`${what}: ${String(actual)}, expected ${String(expected)}`)
}

/** @throws NotVerified if it is more */
export function verifyAtMost(what: string, actual: number, max: number): void {
  if (actual > max) throw new NotVerified(`${what}: ${actual}, ${max} at most`)
}
