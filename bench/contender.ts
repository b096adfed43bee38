/** What is measured: jobchart, or one of its peers. All are given the same work, and none sees how it is counted. */

export interface Input {
  readonly i: number
}

export type Handler = (input: Input) => Promise<void>

export interface Work {
  readonly jobs: number
  /** What to do with a job, by its type: job `i` is of type `i % handlers.length`. */
  readonly handlers: readonly Handler[]
  /** Jobs at once. */
  readonly slots: number
}

/** A contender that is ready to run; the preparation is not measured. */
export interface Prepared {
  /**
   * Enqueues every job and resolves when every job has ended. Where an enqueue gives a promise, it is kept and awaited.
   */
  run(): Promise<void>
  /** Verifies the work by its own figures, and frees what it holds. */
  end?(): Promise<void>
}

export interface Contender<Options = undefined> {
  readonly prepare: (work: Work, options: Options) => Prepared | Promise<Prepared>
}
