/**
 * How the concurrency keys of a queue share its claims by their weights: stride scheduling, in the form of self-clocked
 * fair queueing (Golestani, 1994), which needs to know nothing of a key that has no work.
 *
 * A queue has a virtual clock, which begins at 0. A key that has work has a start: what the clock showed when the key
 * got work (its first queued job) or was last claimed from. Its finish is its start plus 1 / weight of its first job.
 * The key with the least finish is claimed from; of equal ones the key whose first job goes first. The claim sets the
 * clock, and the start of the key, to that finish.
 *
 * Invariant: no start is later than the clock. So a key that runs out of work and gets some again begins where it would
 * have gone on, or later: it gains no credit meanwhile.
 *
 * A key that a cap or a rate has kept back may have a finish that the clock has passed. It is claimed from first, and
 * its start is that finish, although the clock stays: so it catches up, and has its share as soon as the cap does not
 * keep it back on average. A key that is kept back for good would gain credit without bound, and stop all others when
 * it no longer is: so its start is not earlier than `creditMax` of its claims before the clock.
 */

/** Of jobs whose enqueue has not given a weight. */
export const defaultKeyWeight = 1

/** The greatest weight of a key. */
export const keyWeightMax = 100_000

/**
 * How many claims a key that was kept back catches up at most. A cap that allows a share on average keeps its key back
 * for a while now and then, because jobs are not equally long: with 32 the key has at least 97 % of its share even if
 * their lengths vary tenfold.
 */
export const creditMax = 32

/** Where a key is in the order of the claims. */
export const finishOf = (start: number, weight: number): number => start + 1 / weight

/** The clock after a claim from a key. */
export const clockAfter = (clock: number, finish: number): number => Math.max(clock, finish)

/** The start of the key after the claim of a job of this weight. @param clock after the claim */
export const startAfter = (clock: number, finish: number, weight: number): number =>
  Math.max(finish, clock - creditMax / weight)
