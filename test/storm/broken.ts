/** A promise that a storm found broken, with its evidence. */
export interface Broken {
  readonly promise: string
  readonly message: string
  readonly evidence: readonly string[]
}
